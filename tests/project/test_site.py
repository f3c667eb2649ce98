"""Tests of the Sphinx extensions in docs/_ext; `.ci/run` builds the site itself."""

import importlib.util
import re
from pathlib import Path

import pytest

import bagwise

ROOT = Path(__file__).parents[2]


def extension(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_listed_among_the_tutorials():
    tutorials = extension("tutorials")
    assert sorted(tutorials.ORDER) == sorted(path.stem for path in (ROOT / "examples").glob("plot_*.py"))
    with pytest.raises(ValueError, match=r"examples/plot_new\.py is not in ORDER"):
        tutorials.index_of("plot_new.py")


def test_every_package_with_public_names_has_a_chapter_of_the_reference():
    chapters = extension("reference_pages").CHAPTERS.values()
    listed = [package for packages in chapters for package in packages]
    assert sorted(listed) == sorted(bagwise._PUBLIC)


def test_the_decision_picture_leads_to_public_names_only():
    pytest.importorskip("docutils", reason="the extra docs is not installed")
    decision = extension("decision_picture")
    names = re.findall(r'href="reference/bagwise\.(\w+)\.html"', decision.draw("narrow"))
    assert (
        {"compare", "MILogisticRegressionCV", "BagEnsembleClassifier"} <= set(names) <= set(bagwise.__all__)
    )
    with pytest.raises(ValueError, match="links to NoSuchModel, which is not public"):
        decision._link("NoSuchModel")


def test_texts_of_the_narrow_decision_picture_end_inside_their_boxes():
    pytest.importorskip("docutils", reason="the extra docs is not installed")
    decision = extension("decision_picture")
    svg = decision.draw("narrow")
    texts = re.findall(r'<text(?: class="(\w+)")? x="([\d.]+)" y="[\d.]+">(.*?)</text>', svg)
    ends = {
        re.sub("<.*?>", "", text): float(x) + 7.5 * len(re.sub("<.*?>", "", text))  # 14 px, mean letter
        for kind, x, text in texts
        if kind in ("", "quiet")
    }
    assert len(ends) > 20 and {k: v for k, v in ends.items() if v > 380 - decision.MARGIN} == {}


def test_a_page_of_results_gives_its_title_source_and_first_picture():
    pytest.importorskip("docutils", reason="the extra docs is not installed")
    read_page = extension("page_gallery").read_page
    text = (
        "# some-fig1: costs of fits\n\nA. Smith (2001), figure 1.\n\nText.\n\n![cost](some-fig1-cost.png)\n"
    )
    assert read_page(text) == {
        "title": "Costs of fits",
        "source": "A. Smith (2001), figure 1.",
        "picture": "some-fig1-cost.png",
    }
    assert read_page("# some-table1: rows\n\nA. Smith.\n\nText.\n")["picture"] is None


@pytest.mark.parametrize(
    "text",
    [
        '<script async src="https://cdn.example.org/a.js"></script>',
        '<img alt="" src="//example.org/a.png">',
        '<link rel="stylesheet" type="text/css" href="http://fonts.example.org/a.css">',
        '<link href="http://fonts.example.org/a.css" rel="stylesheet">',
        "body { background: url(https://example.org/a.png) }",
        '@import "https://example.org/a.css";',
    ],
)
def test_loading_from_other_sites_is_reported(text):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    assert len(extension("no_network").loaded_from_elsewhere(text)) == 1


def test_links_to_follow_and_files_of_the_site_may_stand_in_a_page():
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    text = '<a href="https://example.org">x</a><img src="_images/a.png"><link rel="stylesheet" href="a.css">'
    text += '<svg xmlns="http://www.w3.org/2000/svg"><link rel="canonical" href="https://example.org/a.html">'
    assert extension("no_network").loaded_from_elsewhere(text) == []
