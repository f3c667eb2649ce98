"""Ctrl-C during a fit: it stops after the current step, keeps its result, and stops surrounding searches."""

import os
import signal
import threading
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from bagwise import (
    EMDD,
    MISVC,
    AttentionMILClassifier,
    DiscriminativeMixture,
    DiverseDensity,
    DSDDClassifier,
    DSDDClassifierCV,
    InstanceMISVC,
    MIGradientBoostingClassifier,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    MIMLLogisticRegression,
    MissSVC,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    PUMILClassifier,
    PUSetKernelClassifier,
    PUSetKernelClassifierCV,
    SetKernelSVC,
    SingleInstanceClassifier,
    SoftORLogisticRegression,
    SparseMISVC,
    forward_selection,
    make_mixture_bags,
    milr_path,
)
from bagwise._core.interrupt import interruptible
from bagwise.rules import Or
from bagwise.solvers import Control

# Too many starts or iterations to finish, and a tolerance that is not reached.
ENDLESS = {"n_init": 10**3, "tol": 1e-12, "random_state": 0}
FITS = {
    "mixture": MIMixture(n_init=5, max_iter=10**6, tol=1e-15, random_state=0),
    "mixture, rules compared": MIMixture(
        rule="threshold", n_init=3, max_iter=10**6, tol=1e-15, random_state=0
    ),
    "discriminative mixture": DiscriminativeMixture(**ENDLESS),
    "LASSO": MILogisticRegression(alpha=0.1, tol=1e-12, random_state=0),
    "ridge": MILogisticRegression(l1_ratio=0.0, **ENDLESS),
    "link": MILogisticRegression("softmax", l1_ratio=0.0, **ENDLESS),
    "learned rule": SoftORLogisticRegression(**ENDLESS),
    "rules compared": MILogisticRegression("threshold", l1_ratio=0.0, **ENDLESS),
    "diverse density": DiverseDensity(**ENDLESS),
    "EM-DD": EMDD(**ENDLESS),
    "boosting": MIGradientBoostingClassifier(n_estimators=10**6, random_state=0),
    "attention": AttentionMILClassifier(
        (4,), 2, max_epochs=10**6, n_iter_no_change=10**6, early_stopping=False, random_state=0
    ),
    "MIML": MIMLLogisticRegression(**ENDLESS),
    "MissSVM": MissSVC(n_init=10**3, tol=1e-12, random_state=0),
    "MI-SVM": MISVC(n_init=10**3, tol=1e-12, random_state=0),
    "mi-SVM": InstanceMISVC(n_init=10**3, tol=1e-12, random_state=0),
    "sbMIL": SparseMISVC(tol=1e-12),
    "PU-SKC, logistic": PUSetKernelClassifier(loss="logistic", class_prior=0.5, alpha=1e-9, tol=1e-15),
    "DSDD": DSDDClassifier(gamma=1.0, alpha=1e-6, tol=1e-12),
    "puMIL": PUMILClassifier(n_candidates=50, max_iter=10**3, random_state=0),
}
if find_spec("torch") is None:
    del FITS["attention"]
# These fits check the stop flag only once or twice.
QUICK = {
    "set kernel": SetKernelSVC(tol=1e-12),
    "PU-SKC, double hinge": PUSetKernelClassifier(class_prior=0.5, alpha=1e-9, tol=1e-12),
}


@pytest.fixture(scope="module")
def data():
    return make_mixture_bags(60, separation=0.5, random_state=0)


@pytest.fixture(autouse=True)
def keyboard():
    """Install Python's default handler of SIGINT; processes that run in the background ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def interrupt_at_check(monkeypatch, i_check):
    """Send SIGINT at the `i_check`-th check of the stop flag; return the list of the checks' threads."""
    checks = []

    def is_stopped(control):
        checks.append(threading.current_thread())
        if len(checks) == i_check:
            os.kill(os.getpid(), signal.SIGINT)  # Python handles it in the main thread
        return control.stop.is_set()

    monkeypatch.setattr(Control, "is_stopped", property(is_stopped))
    return checks


def check_partial_fit(model, data):
    check_is_fitted(model)
    assert model.converged_ is False
    assert np.isfinite(model.objective_)
    assert set(np.unique(model.predict(data.bags))) <= {0, 1}


@pytest.mark.parametrize(
    ("name", "i_check"),
    [*((name, i_check) for name in FITS for i_check in (1, 2, 15)), *((q, 1) for q in QUICK)],
)
def test_an_interrupted_fit_keeps_its_partial_result(name, i_check, data, monkeypatch):
    model = {**FITS, **QUICK}[name]
    checks = interrupt_at_check(monkeypatch, i_check)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.bags, data.y)
    monkeypatch.undo()
    assert len(checks) < i_check + 6, "the fit continued"
    check_partial_fit(model, data)


def test_a_search_among_many_rules_ends_where_it_is(monkeypatch):
    data = make_mixture_bags(40, size=40, positive_rate=0.02, random_state=0)
    checks = interrupt_at_check(monkeypatch, 2)
    model = FITS["rules compared"]
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.bags, data.y)
    monkeypatch.undo()
    assert len(checks) < 7, "the search continued"
    check_partial_fit(model, data)


# ---------------------------------------------------------------------- surrounding searches and estimators


MIXTURE = FITS["mixture"]


def one_vs_one(data):
    y = np.arange(len(data.bags)) % 3
    return OneVsOneBagClassifier(MIXTURE).fit(data.bags, y)


def many_labels(data):
    return MultiLabelBagClassifier(MIXTURE).fit(data.bags, np.column_stack([data.y, 1 - data.y]))


def many_classes(data):
    return FITS["MissSVM"].fit(data.bags, np.arange(len(data.bags)) % 3)


SURROUNDING = {
    "cross_val_score": lambda data: cross_val_score(MIXTURE, data.bags, data.y),
    "GridSearchCV": lambda data: GridSearchCV(MIXTURE, {"n_init": [3, 5]}, error_score=0).fit(
        data.bags, data.y
    ),
    "one-vs-one": one_vs_one,
    "one model per label": many_labels,
    "several classes": many_classes,
    "MILR, path": lambda data: milr_path(data.bags, data.y),
    "MILR, forward selection": lambda data: forward_selection(data.bags, data.y),
    "MILR, penalty search": lambda data: MILogisticRegressionCV(cv=3).fit(data.bags, data.y),
    "PU-SKC, penalty search": lambda data: PUSetKernelClassifierCV(class_prior=0.5).fit(data.bags, data.y),
    "DSDD, penalty search": lambda data: DSDDClassifierCV(random_state=0).fit(data.bags, data.y),
}


@pytest.mark.parametrize("name", SURROUNDING)
@pytest.mark.parametrize("i_check", [1, 4])
def test_an_interrupt_ends_the_surrounding_call_too(name, i_check, data, monkeypatch):
    checks = interrupt_at_check(monkeypatch, i_check)
    with pytest.raises(KeyboardInterrupt):
        SURROUNDING[name](data)
    assert len(checks) < i_check + 6, "the surrounding call continued"


class Sleeper(LogisticRegression):
    """An instance-level classifier of another library, which does not check the stop flag."""

    def fit(self, X, y, sample_weight=None):
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the fit continued")


def test_code_of_others_inside_a_fit_ends_at_once(data):
    model = SingleInstanceClassifier(Sleeper())
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.bags, data.y)


def test_a_prediction_in_a_search_is_never_taken_for_a_failed_one(data, monkeypatch):
    """scikit-learn would treat other errors in predictions as bad scores, and continue the search."""

    def broken(rule, *arguments):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise SystemError("a kernel returned a result with an exception set")

    monkeypatch.setattr(Or, "log_proba", broken)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(MIMixture(n_init=1, random_state=0), data.bags, data.y)


# ---------------------------------------------------------------------- threads


def many_starts(**options):
    return clone(MIXTURE).set_params(n_init=10**3, **options)


def test_starts_in_two_threads_end_together(data, monkeypatch):
    checks = interrupt_at_check(monkeypatch, 20)
    model = many_starts(n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.bags, data.y)
    monkeypatch.undo()
    assert len({*checks} - {threading.main_thread()}) == 2
    check_partial_fit(model, data)


def test_a_fit_in_a_worker_thread_ends_with_the_run_of_the_main_thread(data, monkeypatch):
    model, raised = many_starts(), []
    interrupt_at_check(monkeypatch, 20)

    def fit():
        try:
            model.fit(data.bags, data.y)
        except BaseException as error:
            raised.append(type(error))

    with pytest.raises(KeyboardInterrupt), interruptible():
        thread = threading.Thread(target=fit)
        thread.start()
        thread.join()
    monkeypatch.undo()
    assert raised == [KeyboardInterrupt]
    check_partial_fit(model, data)


def test_pairs_in_threads_end_although_the_main_thread_is_gone(data, monkeypatch):
    checks = interrupt_at_check(monkeypatch, 20)
    before = set(threading.enumerate())
    with parallel_config(backend="threading"), pytest.raises(KeyboardInterrupt):
        OneVsOneBagClassifier(many_starts(), n_jobs=2).fit(data.bags, np.arange(len(data.bags)) % 3)
    for thread in set(checks) - before:
        thread.join(60)
        assert not thread.is_alive()
