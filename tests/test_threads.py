import threading

from threadpoolctl import threadpool_info

from bagwise.threads import blas_threads_for


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
