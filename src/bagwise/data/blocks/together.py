"""Concurrent runs over the same bags that share their passes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from bagwise.data.blocks.base import Block, Blocks, Request, Sums
from bagwise.data.blocks.views import BlocksView

R = TypeVar("R")


def run_together(blocks: Blocks, jobs: Sequence[Callable[[Blocks], R]]) -> list[R]:
    """Run jobs that make passes over the same blocks, so that each block is read once for all jobs.

    Every job runs in a separate thread. A pass waits until all unfinished jobs have requested one. Then a
    single pass computes all requests. Therefore the number of passes is the maximum over the jobs instead of
    the sum. The results of a job do not depend on the other jobs.

    Returns
    -------
    list
        The result of every job. If a job raises an exception, the other jobs finish before it is raised.
    """
    if len(jobs) == 1:
        return [jobs[0](blocks)]
    meeting = _Meeting(len(jobs))
    results: list[Any] = [None] * len(jobs)
    errors: list[BaseException | None] = [None] * len(jobs)

    def run(job: int) -> None:
        try:
            results[job] = jobs[job](_Member(blocks, meeting, job))
        except BaseException as error:  # raised again below
            errors[job] = error
        finally:
            meeting.leave()

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in range(len(jobs))]
    for thread in threads:
        thread.start()
    # Passes run in the calling thread, because only the main thread can use several threads for a pass.
    while wanted := meeting.wait_for_all():
        calls = {job: request for job, request in wanted.items() if isinstance(request, _Call)}
        if calls:
            for job, request in calls.items():
                meeting.answer({job: _called(blocks, request)})
            continue
        try:
            sums = blocks.total(_all_of, list(wanted.values()))
        except BaseException as error:
            meeting.answer(dict.fromkeys(wanted, _Failed(error)))
            for thread in threads:
                thread.join()
            raise
        meeting.answer(dict(zip(wanted, sums, strict=True)))
    for thread in threads:
        thread.join()
    for failed in errors:
        if failed is not None:
            raise failed
    return results


class _Call(NamedTuple):
    """A function call during which all other runs are paused."""

    f: Callable[..., Any]
    args: tuple[Any, ...]


class _Failed(NamedTuple):
    error: BaseException


def _called(blocks: Blocks, request: _Call) -> Any:
    try:
        return blocks.exclusive(request.f, *request.args)
    except BaseException as error:  # the job raises the error again
        return _Failed(error)


def _all_of(block: Block, requests: list[Request]) -> Sums:
    return Sums(request.f(block, *request.args) for request in requests)


def _in_a_list(block: Block, f: Callable[..., Any], *args: Any) -> list[Any]:
    return [f(block, *args)]


class _Meeting:
    """Collector of the jobs' requests for the next pass; the jobs wait until the results are available."""

    def __init__(self, n_jobs: int):
        self._condition = threading.Condition()
        self._at_work = n_jobs
        self._wanted: dict[int, Request | _Call] = {}
        self._answers: dict[int, Any] = {}

    def ask(self, job: int, request: Request | _Call) -> Any:
        """Submit a request and wait for the result."""
        with self._condition:
            self._wanted[job] = request
            self._at_work -= 1
            self._condition.notify_all()
            self._condition.wait_for(lambda: job in self._answers)
            answer = self._answers.pop(job)
        if isinstance(answer, _Failed):
            raise answer.error
        return answer

    def leave(self) -> None:
        """Record that a job has ended."""
        with self._condition:
            self._at_work -= 1
            self._condition.notify_all()

    def wait_for_all(self) -> dict[int, Request | _Call]:
        """Wait until every job has submitted a request or ended; return the requests in job order."""
        with self._condition:
            self._condition.wait_for(lambda: self._at_work == 0)
            return dict(sorted(self._wanted.items()))

    def answer(self, answers: dict[int, Any]) -> None:
        """Store the results, so that the waiting jobs continue."""
        with self._condition:
            for job in answers:
                del self._wanted[job]
            self._answers.update(answers)
            self._at_work += len(answers)
            self._condition.notify_all()


class _Member(BlocksView):
    """The blocks for one of several jobs, whose passes are shared with the other jobs."""

    def __init__(self, blocks: Blocks, meeting: _Meeting, job: int):
        super().__init__(blocks)
        self._meeting = meeting
        self._job = job

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        return self._meeting.ask(self._job, Request(f, args))

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        return iter(self.total(_in_a_list, f, *args))

    def exclusive(self, f: Callable[..., Any], *args: Any) -> Any:
        return self._meeting.ask(self._job, _Call(f, args))
