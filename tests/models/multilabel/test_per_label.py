"""One model per label, compared with separate fits and with scikit-learn's meta-estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from bagwise import (
    BagStatistics,
    MILogisticRegression,
    MissSVC,
    MultiLabelBagClassifier,
    make_bag_pipeline,
    make_noisy_or_bags,
)

BASE_MODEL = MILogisticRegression(alpha=0.5, n_init=1, random_state=0)


@pytest.fixture(scope="module")
def data():
    data = make_noisy_or_bags(60, size=(1, 6), coef=[3.0, -3.0, 0.0], intercept=-1.0, random_state=0)
    y = np.column_stack([data.y, data.bags.sizes > 3, data.y * (data.bags.sizes > 2)])
    return data.bags, y


def test_every_column_is_the_model_of_its_label(data):
    bags, y = data
    model = MultiLabelBagClassifier(BASE_MODEL).fit(bags, y)
    theirs = OneVsRestClassifier(BASE_MODEL).fit(bags, y)
    np.testing.assert_array_equal(model.predict(bags), theirs.predict(bags))
    np.testing.assert_array_equal(model.predict_proba(bags), theirs.predict_proba(bags))
    np.testing.assert_array_equal(model.decision_function(bags), theirs.decision_function(bags))
    posterior = model.posterior_instances(bags, y)
    for label in range(3):
        alone = clone(BASE_MODEL).fit(bags, y[:, label])
        proba = model.predict_proba_instances(bags)[:, label]
        np.testing.assert_array_equal(proba, alone.predict_proba_instances(bags)[:, 1])
        np.testing.assert_array_equal(model.predict_instances(bags)[:, label], alone.predict_instances(bags))
        np.testing.assert_array_equal(
            model.decision_function_instances(bags)[:, label], alone.decision_function_instances(bags)
        )
        np.testing.assert_array_equal(posterior[:, label], alone.posterior_instances(bags, y[:, label]))


def test_a_model_has_the_methods_of_the_wrapped_model(data):
    bags, y = data
    vectors = MultiLabelBagClassifier(make_bag_pipeline(BagStatistics(), SVC())).fit(bags, y)
    assert vectors.predict(bags).shape == (60, 3)
    for absent in ("predict_proba", "predict_instances", "posterior_instances"):
        assert not hasattr(vectors, absent)
    svm = MultiLabelBagClassifier(MissSVC())
    assert hasattr(svm, "decision_function_instances") and not hasattr(svm, "predict_proba")


def test_labels_that_all_training_bags_have_or_none(data):
    bags, y = data
    constant = np.column_stack([y[:, 0], np.zeros(60, int), np.ones(60, int)])
    with pytest.warns(UserWarning) as seen:
        model = MultiLabelBagClassifier(BASE_MODEL).fit(bags, constant)
    assert [str(warning.message).split(";")[0] for warning in seen] == [
        "no training bag has label 1",
        "every training bag has label 2",
    ]
    for rows in (model.predict(bags), model.predict_proba(bags), model.predict_instances(bags)):
        assert (rows[:, 1] == 0).all() and (rows[:, 2] == 1).all()
    assert (model.predict_proba_instances(bags)[:, 1] == 0).all()
    assert (np.sign(model.decision_function(bags)[:, 1:]) == [-1, 1]).all()
    assert (np.sign(model.decision_function_instances(bags)[:, 1:]) == [-1, 1]).all()
    assert (model.posterior_instances(bags, constant)[:, 1] == 0).all()


@pytest.mark.slow
def test_weights_searches_and_folds(data):
    bags, y = data
    weight = np.linspace(0.5, 2.0, 60)
    model = MultiLabelBagClassifier(BASE_MODEL, n_jobs=2).fit(bags, y, sample_weight=weight)
    alone = clone(BASE_MODEL).fit(bags, y[:, 1], sample_weight=weight)
    np.testing.assert_array_equal(model.estimators_[1].coef_, alone.coef_)
    search = GridSearchCV(MultiLabelBagClassifier(BASE_MODEL), {"estimator__alpha": [0.1, 1.0]}, cv=3)
    assert search.fit(bags, y).best_estimator_.predict_instances(bags).shape == (bags.n_instances, 3)
    predicted = cross_val_predict(MultiLabelBagClassifier(BASE_MODEL), bags, y, cv=3)
    assert predicted.shape == (60, 3) and np.mean(predicted == y) > 0.7


def test_a_matrix_without_indicators_is_refused(data):
    bags, y = data
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        MultiLabelBagClassifier(BASE_MODEL).fit(bags, y + 1)
    with pytest.raises(ValueError, match="all bags of the class 0 have weight zero"):
        MultiLabelBagClassifier(BASE_MODEL).fit(bags, y[:, 0], sample_weight=(y[:, 0] == 1).astype(float))
