"""All estimators under ``sklearn.set_config(transform_output=...)``: the same predictions as with arrays."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from tests.studies import marked

from bagwise import (
    MISVC,
    BagEnsembleClassifier,
    Bags,
    BagStatistics,
    DissimilarityEmbedding,
    FisherEmbedding,
    MILogisticRegression,
    OnInstances,
    SingleInstanceClassifier,
    TreeEmbedding,
    make_bag_pipeline,
    make_noisy_or_bags,
    milr_path,
)
from bagwise.testing import all_estimators, example_of

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
    "predict_instances",
    "predict_proba_instances",
    "decision_function_instances",
)


def settings():
    """Return all estimators with every scaler, and estimators with transformers from the user."""
    estimators = []
    for cls in all_estimators():
        example = example_of(cls)
        estimators.append(example)
        if "scale" in inspect.signature(cls).parameters:
            others = {"standard", "minmax", "rank"} - {example.scale}
            scales = (*sorted(others), QuantileTransformer(n_quantiles=20))
            estimators += [clone(example).set_params(scale=scale) for scale in scales]
    logistic = MILogisticRegression(random_state=0)
    return [
        *estimators,
        BagEnsembleClassifier(cv=2, random_state=0),
        FisherEmbedding(pca=2, random_state=0),
        DissimilarityEmbedding(prototypes=5, random_state=0),
        TreeEmbedding(cross_fit=True, random_state=0),
        MISVC(kernel="linear", scale=None),
        SingleInstanceClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
        make_bag_pipeline(OnInstances(StandardScaler()), OnInstances(PCA(2)), logistic),
        make_bag_pipeline(OnInstances(make_pipeline(SimpleImputer(), StandardScaler())), logistic),
        make_bag_pipeline(BagStatistics(), StandardScaler(), LogisticRegression()),
    ]


@pytest.fixture(scope="module")
def data():
    data = make_noisy_or_bags(40, size=(2, 6), coef=[2.0, -2.0, 0.0], intercept=-1.0, random_state=3)
    X = data.bags.instances.copy()
    X[:, 2] = 3.0  # a constant
    return Bags(X, data.bags.offsets), data.y


def predictions(model, bags):
    values = {name: getattr(model, name)(bags) for name in METHODS if hasattr(model, name)}
    return {name: getattr(value, "instances", value) for name, value in values.items()}


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("estimator", marked(settings()))
def test_output_configuration_does_not_change_predictions(estimator, data):
    bags, y = data
    fits = hasattr(estimator, "fit_transform")
    expected = predictions(clone(estimator).fit(bags, y), bags)
    if fits:
        expected["fit_transform"] = clone(estimator).fit_transform(bags, y)
    for kind in ("pandas", "polars"):
        with sklearn.config_context(transform_output=kind):
            ours = predictions(clone(estimator).fit(bags, y), bags)
            if fits:
                ours["fit_transform"] = clone(estimator).fit_transform(bags, y)
        assert ours.keys() == expected.keys()
        for name, values in expected.items():
            mine, values = (getattr(each, "instances", each) for each in (ours[name], values))
            # scikit-learn's estimators can round columns of a data frame differently.
            np.testing.assert_allclose(np.asarray(mine), values, 1e-9, 1e-12, err_msg=f"{kind}: {name}")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_paths_and_inference_use_arrays_under_any_output_configuration(data, kind):
    bags, y = data
    with sklearn.config_context(transform_output=kind):
        path = milr_path(bags, y, alphas=3, scale="rank")
        assert path.log_odds(bags.instances).shape == (bags.n_instances, 3)
        model = MILogisticRegression(alpha=0.0, scale="rank", random_state=0).fit(bags, y)
        assert np.isfinite(model.inference().log_likelihood)
