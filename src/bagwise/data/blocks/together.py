"""Several runs that read the same bags: they share passes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from bagwise.data.blocks.base import Block, Blocks, Request, Sums
from bagwise.data.blocks.views import BlocksView

R = TypeVar("R")


def run_together(blocks: Blocks, jobs: Sequence[Callable[[Blocks], R]]) -> list[R]:
    """Run jobs that each make passes over the same blocks, so that a block is read once for all of them.

    Every job runs in a thread of its own and gets blocks whose passes wait until all jobs that have not
    ended want one; then there is one pass for all. What a job computes does not depend on the others. So the
    number of passes is that of the longest job instead of the sum.

    Returns
    -------
    list
        The result of every job. If one raises, the others go on, and then its exception is raised.
    """
    if len(jobs) == 1:
        return [jobs[0](blocks)]
    meeting = _Meeting(len(jobs))
    results: list[Any] = [None] * len(jobs)
    errors: list[BaseException | None] = [None] * len(jobs)

    def run(number: int) -> None:
        try:
            results[number] = jobs[number](_Member(blocks, meeting, number))
        except BaseException as error:  # raised again below
            errors[number] = error
        finally:
            meeting.leave()

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    # The pass itself runs here, where it may be shared out to threads.
    while wanted := meeting.wait_for_all():
        calls = {number: request for number, request in wanted.items() if isinstance(request, _Call)}
        if calls:
            for number, request in calls.items():
                meeting.answer({number: _called(blocks, request)})
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
    """What is to be called while no other run is at work."""

    f: Callable[..., Any]
    args: tuple[Any, ...]


class _Failed(NamedTuple):
    error: BaseException


def _called(blocks: Blocks, request: _Call) -> Any:
    try:
        return blocks.exclusive(request.f, *request.args)
    except BaseException as error:  # raised again in the job
        return _Failed(error)


def _all_of(block: Block, requests: list[Request]) -> Sums:
    return Sums(request.f(block, *request.args) for request in requests)


def _in_a_list(block: Block, f: Callable[..., Any], *args: Any) -> list[Any]:
    return [f(block, *args)]


class _Meeting:
    """Where jobs leave what they want of the next pass, and wait for it."""

    def __init__(self, n_jobs: int):
        self._condition = threading.Condition()
        self._at_work = n_jobs
        self._wanted: dict[int, Request | _Call] = {}
        self._answers: dict[int, Any] = {}

    def ask(self, number: int, request: Request | _Call) -> Any:
        """Leave a request, and wait for the answer."""
        with self._condition:
            self._wanted[number] = request
            self._at_work -= 1
            self._condition.notify_all()
            self._condition.wait_for(lambda: number in self._answers)
            answer = self._answers.pop(number)
        if isinstance(answer, _Failed):
            raise answer.error
        return answer

    def leave(self) -> None:
        """Say that a job has ended."""
        with self._condition:
            self._at_work -= 1
            self._condition.notify_all()

    def wait_for_all(self) -> dict[int, Request | _Call]:
        """Wait until every job has asked or ended; give the requests in the order of the jobs."""
        with self._condition:
            self._condition.wait_for(lambda: self._at_work == 0)
            return dict(sorted(self._wanted.items()))

    def answer(self, answers: dict[int, Any]) -> None:
        """Hand the answers out; those who get one are at work again."""
        with self._condition:
            for number in answers:
                del self._wanted[number]
            self._answers.update(answers)
            self._at_work += len(answers)
            self._condition.notify_all()


class _Member(BlocksView):
    """The blocks as one of several jobs sees them."""

    def __init__(self, blocks: Blocks, meeting: _Meeting, number: int):
        super().__init__(blocks)
        self._meeting = meeting
        self._number = number

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        return self._meeting.ask(self._number, Request(f, args))

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        return iter(self.total(_in_a_list, f, *args))

    def exclusive(self, f: Callable[..., Any], *args: Any) -> Any:
        return self._meeting.ask(self._number, _Call(f, args))
