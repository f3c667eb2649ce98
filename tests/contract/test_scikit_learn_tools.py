"""scikit-learn's tools accept bags; each is tested on a small problem."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import resample, shuffle

from bagwise import (
    Bags,
    BagStatistics,
    ByIndex,
    MILogisticRegression,
    OnInstances,
    SingleInstanceClassifier,
    make_bag_pipeline,
    make_noisy_or_bags,
)


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(1, 6), coef=[3.0, -3.0, 0.0], intercept=-1.0, random_state=0)


def model(**parameters):
    return MILogisticRegression(n_init=1, random_state=0, **parameters)


def test_splitting_keeps_bags_whole(data):
    train, test, y_train, y_test = train_test_split(data.bags, data.y, random_state=0, stratify=data.y)
    assert isinstance(train, Bags) and len(train) + len(test) == 60
    for bags, y in ((train, y_train), (test, y_test)):
        assert np.array_equal(data.y[bags.ids], y)
        assert all(np.array_equal(bag, data.bags[i]) for bag, i in zip(bags, bags.ids, strict=True))
    assert len(resample(data.bags, n_samples=70, random_state=0)) == 70
    assert sorted(shuffle(data.bags, random_state=0).ids) == list(range(60))


@pytest.mark.parametrize("cv", [3, RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)])
def test_cross_validation(data, cv):
    assert cross_val_score(model(), data.bags, data.y, cv=cv, scoring="roc_auc").mean() > 0.7
    scores = cross_validate(
        model(), data.bags, data.y, cv=cv, scoring=["accuracy", "roc_auc"], return_estimator=True
    )
    assert scores["estimator"][0].n_features_in_ == 3
    if cv == 3:
        proba = cross_val_predict(model(), data.bags, data.y, cv=cv, method="predict_proba")
        assert proba.shape == (60, 2)


def test_leave_one_out_and_groups(data):
    assert len(cross_val_score(model(), data.bags[:12], data.y[:12], cv=LeaveOneOut())) == 12
    patients = np.arange(60) // 2
    for cv in (GroupKFold(3), StratifiedGroupKFold(3)):
        assert len(cross_val_score(model(), data.bags, data.y, cv=cv, groups=patients)) == 3


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_in_parallel(data, backend):
    with parallel_config(backend, n_jobs=2):
        search = GridSearchCV(model(), {"alpha": [0.1, 1.0], "rule": ["or", "mean"]}, cv=3)
        search.fit(data.bags, data.y)
    serial = GridSearchCV(model(), search.param_grid, cv=3).fit(data.bags, data.y)
    assert np.array_equal(search.cv_results_["mean_test_score"], serial.cv_results_["mean_test_score"])
    assert search.best_estimator_.predict_proba_instances(data.bags).shape == (data.bags.n_instances, 2)


def test_other_searches(data):
    for search in (
        RandomizedSearchCV(model(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=2, cv=3, random_state=0),
        HalvingGridSearchCV(model(), {"alpha": [0.1, 1.0]}, cv=3, random_state=0, min_resources=20),
    ):
        assert search.fit(data.bags, data.y).score(data.bags, data.y) > 0.5


def test_a_searched_bag_pipeline_gives_instance_predictions(data):
    pipeline = make_bag_pipeline(OnInstances(StandardScaler()), model())
    search = GridSearchCV(pipeline, {"milogisticregression__alpha": [0.1, 1.0]}, cv=3)
    best = search.fit(data.bags, data.y).best_estimator_
    instances = best.predict_proba_instances(data.bags)
    assert instances.shape == (data.bags.n_instances, 2)
    assert best.posterior_instances(data.bags, data.y).shape == (data.bags.n_instances,)


def test_pipelines_of_scikit_learn(data, tmp_path):
    for pipeline in (
        Pipeline([("scale", OnInstances(StandardScaler())), ("model", model())], memory=str(tmp_path)),
        make_pipeline(BagStatistics(("min", "max", "mean")), StandardScaler(), LogisticRegression()),
        make_pipeline(
            FeatureUnion([("a", BagStatistics(["min"])), ("b", BagStatistics(["max"]))]), LogisticRegression()
        ),
    ):
        assert cross_val_score(pipeline, data.bags, data.y, cv=3).mean() > 0.6


def test_curves_and_permutation_test(data):
    sizes, _, test = learning_curve(model(), data.bags, data.y, cv=3, train_sizes=[0.5, 1.0])
    assert test.shape == (2, 3) and sizes[-1] == 40
    validation_curve(model(), data.bags, data.y, param_name="alpha", param_range=[0.1, 1.0], cv=3)
    score, _, p = permutation_test_score(model(), data.bags, data.y, cv=3, n_permutations=15, random_state=0)
    assert score > 0.7 and p < 0.1


def test_meta_estimators(data):
    single = SingleInstanceClassifier()
    for meta in (
        CalibratedClassifierCV(model(), cv=3),
        CalibratedClassifierCV(model(), cv=3, ensemble=False),
        VotingClassifier([("a", model()), ("b", single)], voting="hard"),
        VotingClassifier([("a", model()), ("b", single)], voting="soft"),
        StackingClassifier([("a", model()), ("b", single)], cv=3),
        TunedThresholdClassifierCV(model(), cv=3),
        FixedThresholdClassifier(model(), threshold=0.4),
    ):
        assert meta.fit(data.bags, data.y).predict(data.bags).shape == (60,)


def test_one_vs_rest_takes_three_classes(data):
    y = data.y + (data.bags.sizes > 3)
    meta = OneVsRestClassifier(model()).fit(data.bags, y)
    assert set(meta.predict(data.bags)) <= {0, 1, 2}
    with pytest.raises(ValueError, match=r"OneVsRestClassifier or bagwise\.OneVsOneBagClassifier"):
        model().fit(data.bags, y)


def test_metadata_routing_hands_on_weights_of_bags(data):
    weight = np.linspace(0.5, 2.0, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(routed, {"alpha": [0.1, 1.0]}, cv=GroupKFold(3))
        search.fit(data.bags, data.y, sample_weight=weight, groups=np.arange(60) % 6)
    direct = clone(routed).set_params(**search.best_params_).fit(data.bags, data.y, sample_weight=weight)
    assert np.array_equal(search.best_estimator_.coef_, direct.coef_)


def test_missing_values_are_imputed_in_a_pipeline(data):
    X = np.array(data.bags.instances)
    X[::7, 1] = np.nan
    broken = data.bags.with_instances(X)
    with pytest.raises(ValueError, match=r"OnInstances\(SimpleImputer\(\)\)"):
        model().fit(broken, data.y)
    pipeline = make_bag_pipeline(OnInstances(SimpleImputer()), model()).fit(broken, data.y)
    assert pipeline.score(broken, data.y) > 0.5


def test_set_output_leaves_bags_alone_and_frames_vectors(data):
    scale = OnInstances(StandardScaler()).set_output(transform="pandas")
    assert isinstance(scale.fit_transform(data.bags), Bags)
    with sklearn.config_context(transform_output="pandas"):
        frame = make_pipeline(OnInstances(StandardScaler()), BagStatistics()).fit_transform(data.bags, data.y)
    assert list(frame.columns[:2]) == ["min_x0", "min_x1"]


def test_the_by_index_adapter_serves_tools_that_insist_on_a_matrix(data):
    adapter = ByIndex(model(), data.bags)
    assert clone(adapter).bags is data.bags
    y_some = data.y.copy()
    y_some[::5] = -1
    for meta, y in (
        (BaggingClassifier(adapter, n_estimators=3, random_state=0), data.y),
        (AdaBoostClassifier(adapter, n_estimators=3, random_state=0), data.y),
        (SelfTrainingClassifier(adapter, max_iter=2), y_some),
        (GridSearchCV(adapter, {"estimator__alpha": [0.1, 1.0]}, cv=3), data.y),
    ):
        meta.fit(adapter.index, y)
        assert (meta.predict(adapter.index) == data.y).mean() > 0.6
    with pytest.raises(ValueError, match="one column of bag indices"):
        adapter.fit(np.zeros((60, 2)), data.y)
