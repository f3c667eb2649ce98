"""Groups of instances in frames, explanations and heat maps: the slides of a patient."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from bagwise import (
    MISVC,
    Bags,
    MILogisticRegression,
    explain_bag,
    group_frame,
    make_noisy_or_bags,
    plot_heatmap,
)


@pytest.fixture(scope="module")
def patients():
    slides = make_noisy_or_bags(60, size=9, coef=[2.0, -2.0], intercept=-6.0, random_state=0)
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(3)), axis=-1).reshape(9, 2)
    bags = Bags(
        slides.bags.instances,
        slides.bags.offsets,
        ids=[f"s{i}" for i in range(60)],
        instance_columns={"coords": np.tile(grid, (60, 1))},
    )
    merged = bags.merge(np.array([f"p{i // 3}" for i in range(60)]), column="slide")
    y = np.asarray(slides.y).reshape(20, 3).max(axis=1)
    return merged, y


@pytest.fixture(scope="module")
def model(patients):
    return MILogisticRegression(alpha=0.5, n_init=1, random_state=0).fit(*patients)


def test_frame_has_a_row_for_every_slide(patients, model):
    bags, y = patients
    frame = group_frame(model, bags, y, by="slide", backend=dict)
    assert list(frame) == ["bag", "slide", "instances", "bag_probability", "group_probability", "posterior"]
    assert frame["slide"].tolist() == [f"s{i}" for i in range(60)]
    assert frame["bag"].tolist() == [f"p{i // 3}" for i in range(60)] and set(frame["instances"]) == {9}
    p = model.predict_proba_instances(bags)[:, 1].reshape(60, 9)
    np.testing.assert_allclose(frame["group_probability"], 1 - np.prod(1 - p, axis=1), rtol=1e-9)
    np.testing.assert_allclose(frame["posterior"], model.posterior_groups(bags, y, "slide"))
    assert (frame["posterior"][np.repeat(y, 3) == 0] == 0).all()


def test_frame_of_a_search_with_groups_as_an_array(patients):
    bags, y = patients
    search = GridSearchCV(MILogisticRegression(n_init=1, random_state=0), {"alpha": [0.1, 1.0]}, cv=2).fit(
        bags, y
    )
    frame = group_frame(search, bags, by=bags.instance_columns["slide"], backend="pandas")
    assert list(frame.columns) == ["bag", "group", "instances", "bag_probability", "group_probability"]


def test_models_without_latent_labels_are_refused(patients):
    bags, y = patients
    with pytest.raises(TypeError, match="MISVC does not predict probabilities for groups of instances"):
        group_frame(MISVC().fit(bags, y), bags, by="slide")


def test_explanation_lists_slides_most_probable_first(patients, model):
    bags, y = patients
    positive = int(np.flatnonzero(y)[0])
    explanation = explain_bag(model, bags, f"p{positive}", y=y, by="slide")
    posterior = model.posterior_groups(bags, y, "slide")[3 * positive : 3 * positive + 3]
    np.testing.assert_allclose(explanation.groups["posterior"], np.sort(posterior)[::-1])
    best = f"s{3 * positive + int(np.argmax(posterior))}"
    assert explanation.groups["slide"][0] == best and list(explanation.groups)[1] == "instances"
    assert best in str(explanation) and not explain_bag(model, bags, "p0").groups


def test_heat_map_shows_one_slide_of_a_patient(patients, model):
    bags, _ = patients
    ax = plot_heatmap(model, bags, "p1", group=("slide", "s4")).ax_
    colors = ax.collections[0].get_facecolor()
    assert len(colors) == 9
    p = model.predict_proba_groups(bags, "slide")[4, 1]
    assert ax.get_title(loc="left").endswith(f"slide s4: P(1) = {p:.3g}")
    values = model.predict_proba_instances(bags)[36:45, 1]
    order = np.argsort(values)
    darkness = -colors[:, :3].sum(axis=1)
    assert (np.diff(darkness[order]) >= -1e-9).all()
    with pytest.raises(
        ValueError, match="no instances with slide 's9'; expected one of \\['s3', 's4', 's5'\\]"
    ):
        plot_heatmap(model, bags, "p1", group=("slide", "s9"))
