import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bagwise import (
    BagPipeline,
    Bags,
    BagStatistics,
    MILogisticRegression,
    OnInstances,
    make_bag_pipeline,
    make_noisy_or_bags,
)

INSTANCE_METHODS = [
    "predict_instances",
    "predict_proba_instances",
    "decision_function_instances",
    "posterior_instances",
]


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(40, size=(1, 6), random_state=0)


@pytest.fixture(scope="module")
def named(data):
    return Bags(
        data.bags.instances,
        data.bags.offsets,
        feature_names=["u", "v", "w"],
        bag_columns={"patient": np.arange(40)},
    )


def test_instances_are_transformed_as_one_matrix_and_bags_stay(data, named):
    out = OnInstances(StandardScaler()).fit_transform(named)
    assert np.array_equal(out.instances, StandardScaler().fit_transform(named.instances))
    assert np.array_equal(out.offsets, named.offsets)
    assert out.feature_names.tolist() == ["u", "v", "w"]
    assert out.bag_columns["patient"].tolist() == list(range(40))


def test_names_of_new_features_come_from_the_transformer(named, data):
    assert OnInstances(PCA(2)).fit_transform(named).feature_names.tolist() == ["pca0", "pca1"]
    chosen = OnInstances(SelectKBest(k=2)).fit(named, data.y)  # instances take the label of their bag
    assert set(chosen.get_feature_names_out()) < {"u", "v", "w"}
    assert OnInstances(PCA(2)).fit_transform(data.bags).feature_names is None


def test_a_matrix_stays_a_matrix(data):
    X = np.array(data.bags.instances)
    assert isinstance(OnInstances(StandardScaler()).fit_transform(X), np.ndarray)


def test_a_pipeline_has_the_instance_methods_of_its_last_step_and_no_others(data):
    latent = make_bag_pipeline(OnInstances(PCA(2)), MILogisticRegression(random_state=0))
    link = make_bag_pipeline(OnInstances(PCA(2)), MILogisticRegression("softmax", random_state=0))
    vectors = make_bag_pipeline(BagStatistics(), LogisticRegression())
    assert all(hasattr(latent, method) for method in INSTANCE_METHODS)
    assert [m for m in INSTANCE_METHODS if not hasattr(link, m)] == ["posterior_instances"]
    assert not any(hasattr(vectors, method) for method in INSTANCE_METHODS)
    with pytest.raises(AttributeError, match="predict_instances"):
        vectors.predict_instances(data.bags)


def test_instance_predictions_go_through_the_steps(data):
    pipeline = make_bag_pipeline(OnInstances(PCA(2)), MILogisticRegression(random_state=0))
    pipeline.fit(data.bags, data.y)
    reduced = pipeline[0].transform(data.bags)
    last = pipeline[-1]
    for method in INSTANCE_METHODS[:3]:
        assert np.array_equal(getattr(pipeline, method)(data.bags), getattr(last, method)(reduced))
    assert np.array_equal(
        pipeline.posterior_instances(data.bags, data.y), last.posterior_instances(reduced, data.y)
    )


def test_a_pipeline_of_one_step_works(data):
    pipeline = make_bag_pipeline(MILogisticRegression(random_state=0)).fit(data.bags, data.y)
    assert pipeline.predict_instances(data.bags).shape == (data.bags.n_instances,)


def test_labels_of_another_length_are_refused(data):
    with pytest.raises(ValueError, match="40 bags but y has 39 labels"):
        OnInstances(StandardScaler()).fit(data.bags, data.y[:-1])


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [("last", "passthrough")]])
def test_a_pipeline_without_a_last_estimator_has_no_instance_methods(steps):
    assert not hasattr(BagPipeline(steps), "predict_instances")


def test_steps_of_one_class_are_numbered():
    pipeline = make_bag_pipeline(OnInstances(PCA(2)), OnInstances(StandardScaler()), MILogisticRegression())
    assert list(pipeline.named_steps) == ["oninstances-1", "oninstances-2", "milogisticregression"]


def test_arpack_fails_with_a_sentence_if_all_values_are_zero(data):
    zeros = data.bags.with_instances(np.zeros((data.bags.n_instances, 5)))
    with pytest.raises(
        ValueError, match=r"TruncatedSVD cannot be fitted to these instances.*all values are 0"
    ):
        OnInstances(TruncatedSVD(2, algorithm="arpack")).fit(zeros)
