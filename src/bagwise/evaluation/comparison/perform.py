"""A comparison from beginning to end: read, refuse, tell, run, judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from bagwise._core.interrupt import interruptible
from bagwise.evaluation.comparison.assemble import assemble
from bagwise.evaluation.comparison.assumption import judge_assumption
from bagwise.evaluation.comparison.baselines import BASELINES
from bagwise.evaluation.comparison.comparison import Comparison
from bagwise.evaluation.comparison.estimate import estimate_seconds, in_words
from bagwise.evaluation.comparison.families import entry_of
from bagwise.evaluation.comparison.plan import (
    Labelled,
    cut_folds,
    notes_of_folds,
    read_labelled,
    read_models,
    read_seed,
)
from bagwise.evaluation.comparison.portfolio import Entry
from bagwise.evaluation.comparison.repeating import code_of, versions
from bagwise.evaluation.comparison.running import Cells
from bagwise.evaluation.comparison.scoring import DEFAULT_SCORING, read_scoring
from bagwise.evaluation.comparison.suited import facts_of, suited_models
from bagwise.exceptions import ComparisonInterrupted
from bagwise.models.base.labels import training_digest
from bagwise.persist.checkpoints import Checkpoint, CheckpointLike, opened, seed_of
from bagwise.persist.checkpoints.identity import described

# Words for `models`, and whether bags that are not positive are then unlabeled.
_WORDS = {"default": False, "positive_unlabeled": True}


class Listener(Protocol):
    """Who is told how a comparison goes on."""

    def notes(self, sentences: list[str]) -> None:
        """Hear what will run, before it does."""

    def begin(self, n_cells: int) -> None:
        """Hear how many cells there are to compute: a model on a split is one."""

    def done(self, what: str) -> None:
        """Hear that one of them has finished."""


@dataclass(eq=False)
class Question:
    """What is asked: the arguments of `compare`, read, and refused where they cannot work."""

    X: Any
    y: Any
    models: Any = "default"
    groups: Any = None
    cv: Any = 5
    repeats: int = 1
    scoring: Any = DEFAULT_SCORING
    random_state: Any = None
    data: Labelled = field(init=False)
    given: dict[str, Any] | None = field(init=False, default=None)
    scorers: dict[str, Callable[..., float]] = field(init=False)
    notes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        is_word = isinstance(self.models, str) and self.models in _WORDS
        if not is_word:
            self.given = read_models(self.models)
        self.data = read_labelled(self.X, self.y, self.groups, from_unlabeled=is_word and _WORDS[self.models])
        self.scorers, self.notes = read_scoring(self.scoring, self.data, self.random_state)
        self.digest: str = training_digest(self.data.bags, self.data.y, np.ones(len(self.data.y)))

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must be of."""
        names = ("models", "groups", "cv", "repeats", "scoring", "random_state")
        parameters = {name: described(getattr(self, name)) for name in names}
        return {"model": "compare", "bags": self.digest, "parameters": parameters}


class _Run:
    """Everything of a comparison that depends on its seed."""

    def __init__(self, question: Question, place: Checkpoint | None):
        self.question = question
        self.place = place
        data = question.data
        self.seed = read_seed(seed_of(question.random_state, place))
        self.folds = cut_folds(data, question.cv, question.repeats, self.seed)
        if place is not None:
            place.agree_on_folds(self.folds)
        entries, notes = self._entries()
        self.cells = Cells([*BASELINES, *entries], data, self.folds)
        self.cells.recall(place)
        n_models = f"{len(entries)} models" if len(entries) != 1 else "1 model"
        opening = f"{n_models} and {len(BASELINES)} baselines: {'; '.join(entry.name for entry in entries)}."
        of_folds = notes_of_folds(data, self.folds, question.cv, question.repeats, list(question.scorers))
        self.notes = [opening, *of_folds, *question.notes, *notes]

    def _entries(self) -> tuple[list[Entry], list[str]]:
        given, scorers = self.question.given, self.question.scorers
        if given is not None:
            return [entry_of(name, model, self.seed) for name, model in given.items()], []
        facts = facts_of(self.question.data, self.folds)
        return suited_models(facts, next(iter(scorers.values())), self.seed)

    def tell(self, listener: Listener, n_jobs: int | None) -> None:
        """Say what will run, and how long it may take."""
        n_cells = sum(map(self.cells.n_left, range(len(self.cells.entries))))
        seconds = estimate_seconds(self.cells, n_jobs)
        if seconds is not None:
            n_jobs = effective_n_jobs(n_jobs)
            with_jobs = f", with {n_jobs} jobs" if n_jobs > 1 else ""
            self.notes.append(f"Estimated time: {in_words(seconds)}{with_jobs}.")
        listener.notes(self.notes)
        listener.begin(n_cells)

    def comparison(self, *, is_complete: bool) -> Comparison:
        """Put together what has finished; judge the assumption where all has."""
        question, folds, repeats = self.question, self.folds, int(self.question.repeats)
        data = question.data
        rows = []
        for number, entry in enumerate(self.cells.entries):
            cells = self.cells.of(number)
            if cells is not None:
                rows.append(assemble(entry, cells, data, folds, repeats, question.scorers))
        results = [one for one in rows if not one.is_baseline]
        baselines = [one for one in rows if one.is_baseline]
        assumption = None
        if is_complete:
            assumption = judge_assumption(results, baselines[0], data, self.seed)
        return Comparison(
            results=results,
            baselines=baselines,
            scoring=tuple(question.scorers),
            classes_=data.classes,
            y_=data.y,
            groups_=data.groups,
            from_unlabeled=data.from_unlabeled,
            folds_=folds,
            n_repeats=repeats,
            assumption_=assumption,
            notes_=tuple(self.notes),
            is_complete=is_complete,
            seed_=self.seed,
            digest_=question.digest,
            versions_=versions(),
            code_=code_of(question, self.seed),
        )


def perform(
    question: Question, *, n_jobs: int | None, checkpoint: CheckpointLike | None, listener: Listener
) -> Comparison:
    """Compare models: see `compare`."""
    run = None
    try:
        with interruptible(at_once=True), opened(checkpoint, question.identity) as place:
            run = _Run(question, place)
            run.tell(listener, n_jobs)
            run.cells.run(n_jobs, place, listener.done)
            return run.comparison(is_complete=True)
    except KeyboardInterrupt as stop:
        told = str(stop) or "the comparison was interrupted; what has finished is in .comparison"
        finished = None if run is None else run.comparison(is_complete=False)
        raise ComparisonInterrupted(told, finished) from stop
