"""Tests of a report in Chromium, if it is installed (Debian: chromium and chromium-driver)."""

import base64
import json
import shutil
import time

import numpy as np
import pytest
from tests.report.hostile import HOSTILE, LONG, hostile_bags

from bagwise import Bags, MILogisticRegression, compare, write_report

pytest.importorskip("jinja2", reason="pages need it")
pytest.importorskip("matplotlib", reason="pages need it")
webdriver = pytest.importorskip("selenium.webdriver", reason="browser tests need selenium")
DRIVER, CHROMIUM = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        DRIVER is None or CHROMIUM is None,
        reason="no browser is installed: apt-get install chromium chromium-driver",
    ),
    # Garbage collection closes the pipes to the browser.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Write the report of a model for bags with unusual names and instances with coordinates."""
    bags, y = hostile_bags()
    rng = np.random.default_rng(0)
    coordinates = {"x": rng.integers(0, 9, bags.n_instances), "y": rng.integers(0, 9, bags.n_instances)}
    bags = Bags(
        bags.instances,
        bags.offsets,
        ids=bags.ids,
        feature_names=bags.feature_names,
        bag_columns=dict(bags.bag_columns),
        instance_columns={**bags.instance_columns, **coordinates},
    )
    y = y == f"{LONG} no"
    model = MILogisticRegression(n_init=1, random_state=0).fit(bags, y)
    return write_report(model, tmp_path_factory.mktemp("page") / "report.html", bags, y, cv=2)


@pytest.fixture
def opened(browser, page):
    """Return a function that loads the page again with a given width and color scheme."""

    def open_page(width=1200, scheme="light"):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        browser.get(page.as_uri())
        return browser

    return open_page


def test_nothing_is_requested_and_nothing_complained_of(opened, page):
    browser = opened()
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    time.sleep(0.2)
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert page.as_uri() in requested
    assert {url for url in requested if not url.startswith("data:image/png")} == {page.as_uri()}
    assert browser.get_log("browser") == []


def test_the_policy_forbids_the_network_and_other_scripts(opened):
    browser = opened()
    tried = browser.execute_async_script(
        """
        const done = arguments[0], found = [];
        document.addEventListener("securitypolicyviolation", e => found.push(e.effectiveDirective));
        const image = new Image();
        image.src = "http://127.0.0.1:9/a.png";
        document.body.append(image);
        const script = document.createElement("script");
        script.textContent = "window.wasRun = true";
        document.body.append(script);
        const end = () => setTimeout(() => done([found, window.wasRun === true]), 100);
        fetch("http://127.0.0.1:9/").catch(end);
        """
    )
    assert set(tried[0]) == {"img-src", "script-src-elem", "connect-src"} and tried[1] is False
    browser.get_log("browser")  # clears the log, which contains these violations


def test_every_figure_is_there_and_legible(opened):
    for width in (1200, 360):
        browser = opened(width)
        browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
        figures = browser.execute_script(
            """
            return Array.from(document.querySelectorAll("figure svg"), svg => {
              const box = svg.getBoundingClientRect();
              const letters = Array.from(svg.querySelectorAll("text"), t => t.getBoundingClientRect())
                .map(r => Math.min(r.width, r.height)).filter(size => size > 0);
              return [svg.getAttribute("aria-label"), box.width, box.height, Math.max(0, ...letters)];
            })
            """
        )
        names = " ".join(name for name, *_ in figures)
        for title in ("sizes", "ROC", "Precision", "Calibration", "Feature effects", "coordinates"):
            assert title in names
        assert all(w > 200 and h > 60 for _, w, h, _ in figures)
        # The height of letters of at least eight pixels.
        assert all(letters > 8 for *_, letters in figures)


def test_tables_sort_by_a_click(opened):
    browser = opened()
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    table = browser.find_element("css selector", "#bags-and-their-instances table.sortable")
    heads = table.find_elements("css selector", "th button")
    names = [head.text for head in heads]

    def column(name):
        script = "return Array.from(arguments[0].tBodies[0].rows, row => row.cells[arguments[1]].textContent)"
        return browser.execute_script(script, table, names.index(name))

    def click(name):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", heads[names.index(name)])
        heads[names.index(name)].click()
        return column(name)

    before = column("instance")
    assert len(before) >= 4 and before != sorted(before, key=int)
    assert click("instance") == sorted(before, key=int)
    assert click("instance") == sorted(before, key=int, reverse=True)
    falling = [float(cell) for cell in click("probability")]
    assert falling == sorted(falling, reverse=True) and len(set(falling)) > 1
    assert [float(cell) for cell in click("probability")] == falling[::-1]
    assert len(table.find_elements("css selector", "th[aria-sort]")) == 1


def test_a_bag_opens_and_shows_its_instances(opened):
    browser = opened()
    fold = browser.find_element("css selector", "#bags-and-their-instances details")
    table = fold.find_element("css selector", "table")
    assert not table.is_displayed()
    fold.find_element("css selector", "summary").click()
    assert table.is_displayed() and "contribution" in table.text


@pytest.mark.parametrize("width", [360, 1200])
def test_a_page_never_scrolls_sideways(opened, width):
    browser = opened(width)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    whole, seen = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert whole <= seen
    # Only elements within scrollable boxes may be wider than the page.
    out = browser.execute_script(
        """
        return Array.from(document.querySelectorAll("main *"))
          .filter(e => !e.closest(".scroll, pre") && e.getBoundingClientRect().right > innerWidth + 1)
          .map(e => e.outerHTML.slice(0, 200));
        """
    )
    assert out == []


def test_every_column_of_a_comparison_is_visible_on_a_laptop(browser, tmp_path):
    bags, y = hostile_bags()
    models = {
        name: MILogisticRegression(n_init=1, random_state=0)
        for name in ("single instances, random forest", "bag statistics, logistic regression")
    }
    comparison = compare(bags, y == f"{LONG} no", models, cv=2, verbose=0)
    path = write_report(comparison, tmp_path / "comparison.html")
    size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    whole, seen = browser.execute_script(
        """
        const head = Array.from(document.querySelectorAll("th")).find(e => e.textContent.includes("seconds"));
        const box = head.closest(".scroll");
        return [box.scrollWidth, box.clientWidth];
        """
    )
    assert whole <= seen


def test_dark_is_dark_and_its_figures_are_light(opened):
    def colors(scheme):
        return opened(scheme=scheme).execute_script(
            """
            const brightness = color => color.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 765;
            const text = document.querySelector("figure:not(.paper) svg text");
            return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
                    getComputedStyle(text).fill].map(brightness);
            """
        )

    ground, ink, drawn = colors("dark")
    assert ground < 0.15 and ink > 0.8 and drawn > 0.8
    ground, ink, drawn = colors("light")
    assert ground > 0.9 and ink < 0.25 and drawn < 0.1


def test_it_prints_with_all_bags_open(opened):
    browser = opened()
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 3
    # In print, all bags are open, the background is white, and nothing is cut off.
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    n_closed = "return document.querySelectorAll('details:not([open])').length"
    assert browser.execute_script(n_closed) == 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 700, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    whole, ground = browser.execute_script(
        "return [document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]"
    )
    assert whole <= 700 and ground == "rgb(255, 255, 255)"
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(n_closed) > 0


def test_hostile_names_are_shown_as_text(opened):
    browser = opened()
    assert browser.execute_script("return document.querySelectorAll('script').length") == 1
    text = browser.execute_script("return document.body.textContent")
    assert HOSTILE[:8] in text and "{{ 7" in text
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    heights = browser.execute_script(
        "return Array.from(document.querySelectorAll('summary'), s => s.getBoundingClientRect().height)"
    )
    assert max(heights) < 100
