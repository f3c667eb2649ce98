"""Tests of all plots: existing axes, light and dark styles, readable names."""

import re
from pathlib import Path

import matplotlib.style
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from reproduction.mimm_figures import plot_error_curves

from bagwise import (
    Bags,
    InstanceMISVC,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    MultiLabelBagClassifier,
    PUSetKernelClassifier,
    SingleInstanceClassifier,
    SoftORLogisticRegression,
    compare,
    diagnose_rule,
    explain_bag,
    make_count_bags,
    make_mixture_bags,
    make_noisy_or_bags,
    make_positive_unlabeled,
    milr_path,
    plot_bags,
    plot_calibration,
    plot_cv,
    plot_heatmap,
    plot_odds_ratios,
    plot_path,
    plot_prior_sensitivity,
    plot_sequence,
    save_npy,
    scan_bags,
)
from bagwise._display.pictures import DARK, LIGHT, palette_of
from bagwise.models.linear_model.plots import _ratio_ticks
from bagwise.models.mixture.plots import plot_components, plot_information_cost

NAMES = ["angle", "charge", "logP", "mass"]


def noisy():
    data = make_noisy_or_bags(60, n_features=4, coef=[2.0, -2.0, 1.0, 0.0], size=4, random_state=0)
    grid = np.array([[0, 0], [256, 0], [0, 256], [256, 256]])
    sides = {
        "coords": np.tile(grid, (60, 1)),
        "time": np.tile([3.0, 1.0, 2.0, 0.0], 60),
        "words": np.tile(["no pain", "a $ sign", "cough", "fever"], 60),
    }
    ids = [f"s{i}" for i in range(60)]
    bags = Bags(data.bags.instances, data.bags.offsets, ids=ids, feature_names=NAMES, instance_columns=sides)
    return bags, data.y


BAGS, Y = noisy()


@pytest.fixture(scope="module")
def drawers():
    """Return all plots of the library, as functions of axes."""
    model = MILogisticRegression(n_init=1, random_state=0).fit(BAGS, Y)
    cv = MILogisticRegressionCV(alphas=4, cv=2, n_init=1, random_state=0).fit(BAGS, Y)
    path = milr_path(BAGS, Y, alphas=5)
    inference = MILogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(BAGS, Y).inference()
    counts = make_count_bags(80, size=5, labeler=2, coef=[4.0, -4.0], random_state=0)
    rule = SoftORLogisticRegression("threshold", n_init=1, random_state=0).fit(counts.bags, counts.y)
    diagnosis = diagnose_rule(counts.bags, counts.y, cv=None, random_state=0)
    full = make_noisy_or_bags(300, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    pu = make_positive_unlabeled(
        full.bags, full.y, n_positive=20, n_unlabeled=40, class_prior=0.3, random_state=0
    )
    mixed = make_mixture_bags(20, random_state=0)
    mixture = MIMixture(n_init=1, random_state=0).fit(mixed.bags, mixed.y)
    few = BAGS[:3]
    lit, of_bags = model.predict_proba_instances(few)[:, 1], [0.1, 0.9, 0.2]
    explanation = explain_bag(model, BAGS, "s3")
    copied = {"copied": SingleInstanceClassifier()}
    comparison = compare(BAGS, Y, copied, cv=2, random_state=0, verbose=0)
    return {
        "path": lambda ax: plot_path(path, ax=ax),
        "path at alpha": lambda ax: plot_path(path, alpha=path.alphas[2], ax=ax),
        "cv": lambda ax: plot_cv(cv, ax=ax),
        "odds": lambda ax: plot_odds_ratios(inference, ax=ax),
        "labeler": lambda ax: rule.labeler_.plot(ax=ax),
        "diagnosis": lambda ax: diagnosis.plot(ax=ax),
        "prior": lambda ax: plot_prior_sensitivity(
            PUSetKernelClassifier(), pu.bags, pu.y, class_priors=[0.2, 0.6], cv=2, estimate=0.66, ax=ax
        ),
        "calibration": lambda ax: plot_calibration(model, BAGS, Y, ax=ax),
        "cost": lambda ax: plot_information_cost([0.5], [1.0], ax=ax),
        "components": lambda ax: plot_components(mixture, mixed.bags, mixed.y, ax=ax),
        "heat map": lambda ax: plot_heatmap(model, BAGS, "s3", ax=ax),
        "time": lambda ax: plot_sequence(model, BAGS, "s3", time="time", ax=ax),
        "text": lambda ax: plot_sequence(model, BAGS, "s3", text="words", ax=ax),
        "images": lambda ax: plot_bags(few, lit, image_shape=(2, 2), y=Y[:3], probability=of_bags, ax=ax),
        "tables": lambda ax: plot_bags(few, lit, y=Y[:3], probability=of_bags, title="t", ax=ax),
        "explanation": lambda ax: explanation.plot(ax=ax),
        "comparison": lambda ax: comparison.plot(ax=ax),
    }  # fmt: skip


PICTURES = [
    "path", "path at alpha", "cv", "odds", "labeler", "diagnosis", "prior", "calibration", "cost",
    "components", "heat map", "time", "text", "images", "tables", "explanation", "comparison",
]  # fmt: skip


def brightness(color) -> float:
    return float(np.dot([0.2126, 0.7152, 0.0722], to_rgb(color)))


def written(display) -> list[Text]:
    """Return all visible text of a plot."""
    display.figure_.draw_without_rendering()
    return [
        text
        for text in display.figure_.findobj(Text)
        if text.get_text().strip() and text.get_visible() and text.get_window_extent().width > 0
    ]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_drawn_where_they_are_asked_to(drawers, name):
    figure = Figure(figsize=(6.6, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    display = drawers[name](right)
    assert display.figure_ is figure and display.ax_ is right
    assert not left.has_data() and right.has_data()
    figure.draw_without_rendering()


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_pictures_are_light_or_dark_as_the_style_says(drawers, name, style):
    with matplotlib.style.context(style):
        display = drawers[name](None)
        ground = brightness(display.figure_.get_facecolor()[:3])
        assert (ground > 0.9) == (style == "default")
        assert palette_of(display.ax_) is (LIGHT if style == "default" else DARK)
        texts = written(display)
    assert len(texts) > 3
    for text in texts:
        assert abs(brightness(text.get_color()) - ground) > 0.25, text
    assert display._repr_png_().startswith(b"\x89PNG")


def test_transparent_axes_stand_on_the_ground_of_their_figure():
    figure = Figure(facecolor="black")
    ax = figure.add_subplot(facecolor="none")
    assert palette_of(ax) is DARK


@pytest.mark.parametrize("name", ["path", "odds", "tables"])
def test_features_are_named(drawers, name):
    texts = {text.get_text() for text in written(drawers[name](None))}
    assert {"angle", "charge", "logP"} <= texts


def test_panels_of_errors_are_a_display():
    panel = {"n_bags": [10, 20], "bayes": 0.1, "errors": {"MIMM": [(0.3, 0.02), (0.2, 0.01)]}}
    display = plot_error_curves({"one": panel, "two": panel})
    assert display.ax_ is display.figure_.axes[0] and len(display.figure_.axes) == 2
    # With four panels in rows of three, the second and third are at the bottom of their columns.
    four = plot_error_curves({str(i): panel for i in range(4)}).figure_.axes[:4]
    shown = [any(label.get_visible() for label in ax.get_xticklabels()) for ax in four]
    assert shown == [False, True, True, True]


# ------------------------------------------------------------ regressions


def test_lines_of_a_path_can_be_told_apart(drawers):
    """Without alpha=, and later with it, all lines had the same color."""
    ax = drawers["path"](None).ax_
    strong = [line for line in ax.lines if line.get_linewidth() > 1]
    looks = {(line.get_color(), line.get_linestyle()) for line in strong}
    assert len(strong) >= 3 and len(looks) == len(strong)
    ax = drawers["path at alpha"](None).ax_
    strong = [line for line in ax.lines if line.get_linewidth() > 1 and len(line.get_xdata()) > 2]
    assert len({(line.get_color(), line.get_linestyle()) for line in strong}) == len(strong) >= 2
    many = milr_path(*[(d := make_noisy_or_bags(80, n_features=30, random_state=0)).bags, d.y], alphas=4)
    strong = [line for line in plot_path(many, n_names=25).ax_.lines if line.get_linewidth() > 1]
    assert len({(line.get_color(), line.get_linestyle()) for line in strong}) == len(strong) > 10


def test_a_path_keeps_the_names_of_features():
    path = milr_path(BAGS, Y, alphas=3)
    assert path.feature_names.tolist() == NAMES
    cv = MILogisticRegressionCV(alphas=3, criterion="bic", n_init=1).fit(BAGS, Y)
    assert cv.path_.feature_names.tolist() == NAMES
    assert milr_path(BAGS.instances[:40], Y[:40], alphas=3).feature_names is None


@pytest.mark.filterwarnings("error")
def test_odds_ratios_of_separated_bags_have_ticks_and_intervals():
    """With wide intervals, the axis had no ticks, and intervals were missing."""
    X = np.random.default_rng(0).normal(size=(120, 4))
    y = (X[:, 0].reshape(40, 3).max(1) > 0.9).astype(int)
    model = MILogisticRegression(alpha=0.0, random_state=0).fit(Bags(X, np.arange(0, 121, 3)), y)
    display = plot_odds_ratios(model.inference(intervals="profile"))
    display.figure_.draw_without_rendering()
    ax = display.ax_
    low, high = ax.get_xlim()
    shown = [t for t in ax.get_xticks() if low <= t <= high]
    assert len(shown) >= 3 and 0 in shown
    (intervals,) = (part for part in ax.collections if hasattr(part, "get_segments"))
    assert len(intervals.get_segments()) == 4
    assert all(np.isfinite(segment).all() for segment in intervals.get_segments())


@pytest.mark.parametrize("most", [3, 8])
@pytest.mark.parametrize(
    ("low", "high"), [(-0.02, 0.02), (-0.1, 0.3), (-1.2, 0.4), (-2, 3), (-6, 6), (0, 250), (-0.001, 0.0)]
)
def test_ratios_are_marked_whatever_their_range(low, high, most):
    ticks, texts = _ratio_ticks(low, high, most)
    assert 2 <= len(ticks) <= 2 * most and 0 in ticks.round(9)
    assert len(set(texts)) == len(texts) and texts[list(ticks.round(9)).index(0)] == "1"


def test_a_learned_rule_is_points_with_the_intervals_that_its_band_says():
    data = make_count_bags(150, size=5, labeler=2, coef=[3.0, -3.0], random_state=0)
    for rule in ("count_table", "threshold"):
        labeler = SoftORLogisticRegression(rule, n_init=1, random_state=0).fit(data.bags, data.y).labeler_
        ax = labeler.plot().ax_
        for line in ax.lines:
            assert line.get_linestyle() == "None", "lines would suggest fractional counts"
        (bars,) = (part for part in ax.collections if hasattr(part, "get_segments"))
        drawn = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(drawn, labeler.band()[: len(drawn)])


def test_a_rule_from_a_file_has_the_intervals_of_wald():
    import pickle

    data = make_count_bags(150, size=5, labeler=2, coef=[3.0, -3.0], random_state=0)
    model = SoftORLogisticRegression("count_logistic", n_init=1, random_state=0).fit(data.bags, data.y)
    labeler = pickle.loads(pickle.dumps(model)).labeler_
    (bars,) = (part for part in labeler.plot().ax_.collections if hasattr(part, "get_segments"))
    drawn = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(drawn, labeler.band(intervals="wald")[: len(drawn)])


def test_the_curves_of_priors_reach_the_estimate(drawers):
    ax = drawers["prior"](None).ax_
    assert ax.lines[0].get_xdata().tolist() == [0.2, 0.6, 0.66]
    low, high = ax.get_xlim()
    assert low < 0.66 < high


def test_axes_that_are_no_subplots_have_no_panel_below(drawers):
    figure = Figure()
    display = drawers["calibration"](figure.add_axes((0.1, 0.1, 0.8, 0.8)))
    assert display.figure_.axes == [display.ax_] and display.ax_.get_xlabel()


# ------------------------------------------------------------ heat maps and sequences


@pytest.fixture(scope="module")
def model():
    return MILogisticRegression(n_init=1, random_state=0).fit(BAGS, Y)


def squares(display) -> np.ndarray:
    return np.array([path.vertices[:4] for path in display.ax_.collections[0].get_paths()])


def test_patches_lie_at_their_coordinates_in_their_colours(model):
    display = plot_heatmap(model, BAGS, "s3")
    corners = squares(display)
    np.testing.assert_array_equal(corners[:, 0], BAGS.instance_columns["coords"][12:16])
    assert (np.ptp(corners, axis=1) == 256).all()
    bottom, top = display.ax_.get_ylim()
    assert bottom > top, "the y axis must point downwards"
    from matplotlib.colors import LinearSegmentedColormap

    probability = model.predict_proba_instances(BAGS[[3]])[:, 1]
    colors = LinearSegmentedColormap.from_list("heat", LIGHT.heat)(probability)
    np.testing.assert_allclose(display.ax_.collections[0].get_facecolors(), colors)
    assert display.ax_.get_title(loc="left") == f"bag s3: P(1) = {model.predict_proba(BAGS)[3, 1]:.3g}"


def test_the_size_of_patches_is_their_usual_distance(model):
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.arange(10), np.arange(8)), axis=-1).reshape(-1, 2) * 512
    distant = grid[:6] + np.array([37, 9000])
    coordinates = np.vstack([grid[rng.random(80) < 0.8], distant, [[20000, 20000]]])
    columns = {"x": coordinates[:, 0], "y": coordinates[:, 1]}
    bags = Bags(rng.normal(size=(len(coordinates), 4)), [0, len(coordinates)], instance_columns=columns)
    assert (np.ptp(squares(plot_heatmap(model, bags, 0)), axis=1) == 512).all()
    assert (np.ptp(squares(plot_heatmap(model, bags, 0, patch_size=64)), axis=1) == 64).all()
    alone = plot_heatmap(model, bags[[0]].with_instances(bags.instances), 0, coords=("y", "x"))
    np.testing.assert_array_equal(squares(alone)[:, 0], coordinates[:, ::-1])


def test_a_thumbnail_lies_below(model):
    image = np.zeros((40, 60, 3))
    display = plot_heatmap(model, BAGS, "s3", image=image, downsample=16)
    assert display.ax_.images[0].get_extent() == [0, 960, 640, 0]
    assert display.ax_.get_xlim() == (0, 960) and display.ax_.get_ylim() == (640, 0)
    alpha = display.ax_.collections[0].get_facecolors()[:, 3]
    probability = model.predict_proba_instances(BAGS[[3]])[:, 1]
    assert (np.argsort(alpha) == np.argsort(probability)).all() and alpha.max() < 1
    just = plot_heatmap(model, BAGS, "s3", image=np.zeros((32, 32)))
    assert just.ax_.images[0].get_extent() == [0, 512, 512, 0]


def test_bags_in_files_and_scores_and_labels_are_drawn(model, tmp_path):
    scan = scan_bags(save_npy(tmp_path / "slides", BAGS, Y))
    np.testing.assert_array_equal(
        squares(plot_heatmap(model, scan, "s3")), squares(plot_heatmap(model, BAGS, "s3"))
    )
    machine = InstanceMISVC().fit(BAGS, Y)
    assert "score for 1 = " in plot_heatmap(machine, BAGS, "s3").ax_.get_title(loc="left")
    several = MultiLabelBagClassifier(MILogisticRegression(n_init=1)).fit(BAGS, np.column_stack([Y, 1 - Y]))
    with pytest.raises(ValueError, match=r"several labels per bag; pass label=, one of \[0, 1\]"):
        plot_heatmap(several, BAGS, "s3")
    assert "P(1) = " in plot_heatmap(several, BAGS, "s3", label=1).ax_.get_title(loc="left")
    with pytest.raises(ValueError, match=r"label=7 is not a label of the model; expected one of \[0, 1\]"):
        plot_heatmap(several, BAGS, "s3", label=7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "s99"}, "there is no bag 's99'"),
        ({"coords": ("x", "z")}, r"no instance column 'x'; pass coords=.* columns \['coords', 'time', "),
        ({"coords": "time"}, "has 1 columns of type float64; expected two numeric"),
        ({"coords": ("time", "words")}, "expected two numeric columns"),
        ({"patch_size": 0}, "patch_size must be positive; got 0"),
        ({"image": np.zeros(3)}, r"image has shape \(3,\)"),
        ({"image": np.zeros((3, 3)), "downsample": 0}, "downsample must be positive"),
    ],
)
def test_heat_maps_that_cannot_be_drawn_are_refused(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_heatmap(model, BAGS, **{"id": "s3", **arguments})


def test_a_sequence_stands_in_the_order_of_time(model):
    ax = plot_sequence(model, BAGS, "s3", time="time").ax_
    points = ax.collections[-1].get_offsets()
    probability = model.predict_proba_instances(BAGS[[3]])[:, 1]
    np.testing.assert_array_equal(points[:, 0], [0, 1, 2, 3])
    np.testing.assert_allclose(points[:, 1], probability[[3, 1, 2, 0]])
    assert ax.get_xlabel() == "time" and ax.get_ylabel() == "P(instance is 1)"
    with pytest.raises(ValueError, match="time and text were both passed"):
        plot_sequence(model, BAGS, "s3", time="time", text="words")
    with pytest.raises(
        ValueError, match=r"no instance column 'hour'; available columns: \['coords', 'time', 'words'\]"
    ):
        plot_sequence(model, BAGS, "s3", time="hour")


def test_lines_of_text_are_as_long_as_they_are_probable(model):
    ax = plot_sequence(model, BAGS, "s3", text="words").ax_
    probability = model.predict_proba_instances(BAGS[[3]])[:, 1]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], probability)
    texts = [text.get_text() for text in ax.texts]
    assert [text for text in texts if not text[0].isdigit()] == ["no pain", "a $ sign", "cough", "fever"]


def test_of_a_long_text_the_most_probable_lines_are_shown(model):
    n = 100
    lines = np.array([f"line {i}" for i in range(n)])
    bags = Bags(np.random.default_rng(0).normal(size=(n, 4)), [0, n], instance_columns={"words": lines})
    ax = plot_sequence(model, bags, 0, text="words").ax_
    best = np.sort(np.argsort(-model.predict_proba_instances(bags)[:, 1])[:40])
    assert [t.get_text() for t in ax.texts if t.get_text().startswith("line")] == lines[best].tolist()
    assert "60 more not shown" in ax.get_xlabel()


# ------------------------------------------------------------ bags of numeric features


def test_tables_show_standardized_features_next_to_intensities():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(9, 3)) * [1, 10, 0] + 5, [0, 3, 9], feature_names=["a", "b", "c"])
    lit = np.linspace(0, 1, 9)
    display = plot_bags(bags, lit, max_images=4, truth=lit > 0.9)
    strips = [image.get_array() for image in display.ax_.images]
    assert [len(strip) for strip in strips] == [3, 3, 4, 4]
    assert [strip.shape[1] for strip in strips] == [1, 3, 1, 3]
    shown = np.r_[0:3, 5:9]
    X = bags.instances[shown]
    deviations = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    table = np.vstack([strips[1], strips[3]])
    redness = table[..., 0] - table[..., 2]
    for k in range(2):
        assert (np.argsort(redness[:, k]) == np.argsort(deviations[:, k])).all()
    assert np.ptp(redness[:, 2]) < 1e-9, "a constant feature must be neutral"
    assert "+ 2" in [text.get_text() for text in display.ax_.texts]
    with pytest.raises(ValueError, match="have 3000 features, but at most 2000 can be plotted"):
        plot_bags(Bags(np.zeros((2, 3000)), [0, 2]), [0, 1])


def test_the_page_of_pictures_runs_as_written():
    page = (Path(__file__).parents[2] / "docs/pictures.md").read_text()
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.S):
        exec(block, scope)
    assert scope["png"].startswith(b"\x89PNG") and len(scope["figure"].axes) == 3
