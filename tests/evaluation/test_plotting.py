import io
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.style
import numpy as np
import pytest

import bagwise
from bagwise import Bags
from bagwise.evaluation.plotting import plot_bags

pytest.importorskip("matplotlib", reason="plots need matplotlib")


@pytest.fixture
def bags():
    return Bags(np.random.default_rng(0).random((9, 12)), [0, 3, 9])


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def pixels(display):
    figure = display.figure_
    buffer = io.BytesIO()
    figure.savefig(buffer, format="rgba", dpi=100)
    width, height = (figure.get_size_inches() * 100).astype(int)
    return np.frombuffer(buffer.getvalue(), np.uint8).reshape(height, width, 4)[..., :3].astype(float)


def drawn_images(display):
    return display.ax_.images


def test_every_instance_is_drawn_and_every_bag_labelled(bags):
    display = plot_bags(bags, np.zeros(9), image_shape=(3, 4), y=[1, 0], probability=[0.9, 0.2])
    assert len(drawn_images(display)) == 9
    assert [w for w in texts(display) if w.endswith("tive")] == ["positive", "negative"]
    assert {"P(+) = 0.90", "P(+) = 0.20"} <= set(texts(display))


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_an_image_stands_out_from_the_ground_the_more_the_larger_its_intensity(bags, style):
    with matplotlib.style.context(style):
        displays = [plot_bags(bags, np.full(9, level), image_shape=(3, 4)) for level in (0.0, 0.5, 1.0)]
        brightness = [pixels(display).mean() for display in displays]
    if style == "default":
        brightness = [255 - value for value in brightness]
    assert brightness[0] < brightness[1] < brightness[2]


def test_wrong_prediction_is_marked(bags):
    display = plot_bags(bags, np.zeros(9), image_shape=(3, 4), y=[True, False], probability=[0.1, 0.2])
    assert "P(+) = 0.10, wrong" in texts(display) and "P(+) = 0.20" in texts(display)


def test_a_dot_stands_below_every_truly_positive_instance_and_in_the_legend(bags):
    from matplotlib.patches import Circle

    truth = np.arange(9) % 4 == 0
    display = plot_bags(bags, np.zeros(9), image_shape=(3, 4), truth=truth, truth_label="the culprit")
    dots = [patch for patch in display.ax_.patches if isinstance(patch, Circle)]
    assert len(dots) == truth.sum() + 1
    assert "the culprit" in texts(display)


def test_of_a_large_bag_the_most_intense_images_are_drawn_in_their_order(bags):
    intensity = np.array([0, 0, 0, 0.1, 0.9, 0.2, 0.8, 0.3, 0.7])
    display = plot_bags(bags, intensity, image_shape=(3, 4), max_images=3)
    assert len(drawn_images(display)) == 6
    assert "+ 3" in texts(display)
    whole = plot_bags(bags, intensity, image_shape=(3, 4))
    # All three images of the first bag are drawn, and instances 4, 6 and 8 of the second bag.
    for position, i in enumerate([0, 1, 2, 4, 6, 8]):
        np.testing.assert_array_equal(
            drawn_images(display)[position].get_array(), drawn_images(whole)[i].get_array()
        )


def test_colour_images_keep_their_colours():
    red = np.tile([1.0, 0.0, 0.0], 4)[None]
    display = plot_bags(Bags(red, [0, 1]), [1.0], image_shape=(2, 2, 3))
    r, g, b = np.asarray(drawn_images(display)[0].get_array())[0, 0]
    assert r > 3 * g and r > 3 * b


def test_lists_of_arrays_sparse_instances_and_constant_images_are_drawn():
    import scipy.sparse as sp

    assert plot_bags([np.ones((2, 4)), np.ones((1, 4))], [0, 0.5, 1], image_shape=(2, 2))
    assert plot_bags(Bags(sp.csr_array(np.eye(4)), [0, 4]), np.ones(4), image_shape=(2, 2))


def test_a_dollar_sign_in_a_title_is_no_mathematics(bags):
    display = plot_bags(bags, np.zeros(9), image_shape=(3, 4), title=r"from $5 to \frac$")
    assert pixels(display).size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intensity": np.zeros(8)}, "intensity has shape .* but there are 9 instances"),
        ({"intensity": np.full(9, 1.5)}, "intensity must contain values between 0 and 1"),
        ({"intensity": np.full(9, np.nan)}, "intensity must contain values between 0 and 1"),
        ({"intensity": [np.zeros(3), np.zeros(6)]}, r"expected one array of 9 values.*np\.concatenate"),
        ({"y": [1, 0, 1]}, "y has shape .* but there are 2 bags"),
        ({"probability": [0.1, 2.0]}, "probability must contain values between 0 and 1"),
        ({"truth": [True]}, "truth has shape"),
        ({"image_shape": (8, 8)}, "needs 64 values per instance but the bags have 12"),
        ({"image_shape": (12,)}, "image_shape must be"),
        ({"image_shape": (3, 2, 2)}, "image_shape must be"),
        ({"max_images": 0}, "max_images must be at least 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(bags, arguments, message):
    options = {"intensity": np.zeros(9), "image_shape": (3, 4), **arguments}
    with pytest.raises(ValueError, match=message):
        plot_bags(bags, options.pop("intensity"), **options)


def test_without_matplotlib_the_error_says_how_to_install_it(bags, monkeypatch):
    for name in ("matplotlib", "matplotlib.colors", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'bagwise\[plot\]'"):
        plot_bags(bags, np.zeros(9), image_shape=(3, 4))


@pytest.mark.slow
def test_drawing_leaves_pyplot_and_the_backend_alone():
    code = """
import sys, io, numpy as np
from bagwise.evaluation.plotting import plot_bags
assert "matplotlib" not in sys.modules
plot_bags(np.zeros((1, 2, 4)), [0, 1], image_shape=(2, 2)).figure_.savefig(io.BytesIO())
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_figures_are_created_only_in_pictures():
    package = Path(bagwise.__file__).parent
    for path in package.rglob("*.py"):
        if path.name != "pictures.py":
            text = path.read_text()
            assert "matplotlib.figure import" not in text and "pyplot as" not in text, path
