import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bagwise import EMDD, DiverseDensity, MIMixture, make_noisy_or_bags
from bagwise._core.threads import blas_threads_for


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_work_is_done_by_one_blas_thread_and_the_setting_comes_back():
    before = blas_threads()
    with blas_threads_for(1000):
        assert blas_threads() == {1}
    assert blas_threads() == before
    with blas_threads_for(10**9):
        assert blas_threads() == before


def test_only_the_main_thread_changes_the_setting():
    before, seen = blas_threads(), []

    def work():
        with blas_threads_for(1000):
            seen.append(blas_threads())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize(
    ("model", "solver"),
    [(DiverseDensity(n_init=1), "_solve"), (EMDD(n_init=1), "_solve"), (MIMixture(n_init=1), "_search")],
    ids=lambda value: type(value).__name__,
)
def test_densities_of_few_instances_are_found_with_one_blas_thread(model, solver, monkeypatch):
    data = make_noisy_or_bags(20, coef=[3.0, -3.0], intercept=-3.0, random_state=0)
    seen, solve = [], getattr(type(model), solver)
    monkeypatch.setattr(type(model), solver, lambda *a: seen.append(blas_threads()) or solve(*a))
    with threadpool_limits(2, user_api="blas"):
        model.fit(data.bags, data.y)
    assert seen == [{1}]
