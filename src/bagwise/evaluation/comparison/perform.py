"""A complete comparison: validation, folds, notes, fits and results."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.interrupt import interruptible
from bagwise._version import __version__
from bagwise.evaluation.comparison.assemble import assemble
from bagwise.evaluation.comparison.assumption import judge_assumption
from bagwise.evaluation.comparison.comparison import Comparison
from bagwise.evaluation.comparison.direction import positive_of_texts
from bagwise.evaluation.comparison.estimate import estimate_seconds, small_sample
from bagwise.evaluation.comparison.plan import (
    Labelled,
    Split,
    cut_folds,
    is_list_of_names,
    notes_of_folds,
    read_labelled,
    read_models,
    read_seed,
)
from bagwise.evaluation.comparison.portfolio import BASELINES, Entry, entry_of
from bagwise.evaluation.comparison.running import Cells, format_duration
from bagwise.evaluation.comparison.scoring import DEFAULT_SCORING, read_scoring
from bagwise.evaluation.comparison.suited import facts_of, suited_models
from bagwise.exceptions import ComparisonInterrupted
from bagwise.models.base.labels import training_digest
from bagwise.models.wrappers.instance_level import with_positive
from bagwise.persist.checkpoints import CheckpointLike, opened
from bagwise.persist.checkpoints.identity import described

# Text values of the parameter `models`, and whether they require positive and unlabeled bags.
_MODEL_SETS = {"default": False, "positive_unlabeled": True}


@dataclass(eq=False)
class Plan:
    """A comparison before it runs: the validated arguments of `compare`.

    `draw` adds the folds and the models, which depend on the seed. `name_of` returns the displayed name of a
    default model, given its class name and its own name.
    """

    X: Any
    y: Any
    models: Any = "default"
    groups: Any = None
    cv: Any = 5
    repeats: int = 1
    scoring: Any = DEFAULT_SCORING
    random_state: Any = None
    name_of: Callable[[str, str], str] = lambda cls, name: name
    data: Labelled = field(init=False)
    named_models: dict[str, Any] | None = field(init=False, default=None)
    scorers: dict[str, Callable[..., float]] = field(init=False)
    notes: list[str] = field(init=False)
    seed: int = field(init=False)
    folds: list[Split] = field(init=False)
    entries: list[Entry] = field(init=False)

    def __post_init__(self) -> None:
        is_model_set = isinstance(self.models, str) and self.models in _MODEL_SETS
        if not is_model_set and not is_list_of_names(self.models):
            self.named_models = read_models(self.models)
        self.data = read_labelled(
            self.X, self.y, self.groups, from_unlabeled=is_model_set and _MODEL_SETS[self.models]
        )
        self.scorers, self.notes = read_scoring(self.scoring, self.data, self.random_state)
        self.digest: str = training_digest(self.data.bags, self.data.y, np.ones(len(self.data.y)))

    def identity(self) -> dict[str, Any]:
        """Return the identity of the comparison, which a checkpoint must match."""
        names = ("models", "groups", "cv", "repeats", "scoring", "random_state")
        parameters = {name: described(getattr(self, name)) for name in names}
        return {"model": "compare", "bags": self.digest, "parameters": parameters}

    def draw(self, checkpoint: CheckpointLocation) -> None:
        """Draw the folds, create the models, and write notes about them."""
        self.seed = read_seed(checkpoint.seed(self.random_state))
        self.folds = cut_folds(self.data, self.cv, self.repeats, self.seed)
        checkpoint.agree_on_folds(self.folds)
        if self.named_models is not None:
            entries = [entry_of(name, model, self.seed) for name, model in self.named_models.items()]
            notes: list[str] = []
        else:
            facts = facts_of(self.data, self.folds)
            names = None if isinstance(self.models, str) else list(self.models)
            scoring = next(iter(self.scorers.values()))
            entries, notes = suited_models(facts, scoring, self.seed, names, self.name_of)
        positive = positive_of_texts(self.data, [entry.estimator for entry in entries])
        if positive is not None:
            entries = [replace(each, estimator=with_positive(each.estimator, positive)) for each in entries]
            self.notes = [
                *self.notes,
                f"{positive!r} is the positive class of all models; to choose the other one, pass y != "
                f"{positive!r}.",
            ]
        self.entries = [*BASELINES, *entries]
        n_models = f"{len(entries)} models" if len(entries) != 1 else "1 model"
        opening = f"{n_models} and {len(BASELINES)} baselines: {'; '.join(entry.name for entry in entries)}."
        of_folds = notes_of_folds(self.data, self.folds, self.cv, self.repeats, list(self.scorers))
        self.notes = [opening, *of_folds, *self.notes, *notes]

    def comparison(self, cells: Cells, *, is_complete: bool) -> Comparison:
        """Return the results of the finished models; if all are finished, also the supported assumption."""
        data, repeats = self.data, int(self.repeats)
        rows = []
        for index, entry in enumerate(self.entries):
            of_model = cells.of(index)
            if of_model is not None:
                rows.append(assemble(entry, of_model, data, self.folds, repeats, self.scorers))
        results = [result for result in rows if not result.is_baseline]
        baselines = [result for result in rows if result.is_baseline]
        assumption = None
        if is_complete:
            assumption = judge_assumption(results, baselines[0], data, self.seed)
        return Comparison(
            results=results,
            baselines=baselines,
            scoring=tuple(self.scorers),
            classes_=data.classes,
            y_=data.y,
            groups_=data.groups,
            from_unlabeled=data.from_unlabeled,
            folds_=self.folds,
            n_repeats=repeats,
            assumption_=assumption,
            notes_=tuple(self.notes),
            is_complete=is_complete,
            seed_=self.seed,
            digest_=self.digest,
            versions_=versions(),
            code_=code_of(self),
        )


def perform(
    plan: Plan,
    *,
    n_jobs: int | None,
    checkpoint: CheckpointLike | None,
    note: Callable[[str], None],
    progress: Callable[[int, Sequence[float]], AbstractContextManager[Callable[[str], None]]],
) -> Comparison:
    """Run a comparison: see `compare`.

    Parameters
    ----------
    plan : Plan
        The data, models, folds and scores.
    n_jobs, checkpoint : int or None, path or None
        As in `compare`.
    note : callable
        Called with notes about the plan, and then with the estimated time: `Screen.note`, `Reporter.log`.
    progress : callable
        Returns a context manager for a number of steps and their expected seconds. Its value is a function
        that is called with a short text at the start of each step: `Screen.progress`, `Reporter.progress`.
    """
    cells = None
    try:
        with interruptible(at_once=True), opened(checkpoint, plan.identity) as location:
            plan.draw(location)
            for sentence in plan.notes:
                note(sentence)
            cells = Cells(plan.entries, plan.data, plan.folds, small_sample(plan.data), location)
            n_left = [n for index in range(len(cells.entries)) if (n := cells.n_left(index))]
            with progress(len(n_left), ()) as begin:
                seconds = estimate_seconds(cells, begin)
            jobs = effective_n_jobs(n_jobs)
            expected = [
                (value or 0.0) / jobs for value, n in zip(seconds, n_left, strict=True) for _ in range(n)
            ]
            if any(value is not None for value in seconds):
                with_jobs = f", with {jobs} jobs" if jobs > 1 else ""
                plan.notes.append(f"Estimated time: {format_duration(sum(expected))}{with_jobs}.")
                note(plan.notes[-1])
            with progress(len(expected), expected if None not in seconds else ()) as begin:
                cells.run(n_jobs, begin)
                return plan.comparison(cells, is_complete=True)
    except KeyboardInterrupt as stop:
        message = (
            str(stop)
            or "the comparison was interrupted; the attribute comparison contains the finished models"
        )
        finished = None if cells is None else plan.comparison(cells, is_complete=False)
        raise ComparisonInterrupted(message, finished) from stop


def versions() -> dict[str, str]:
    """Return the versions of bagwise, Python and the packages that influence the results."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"bagwise": __version__, "python": platform.python_version(), **packages}


def code_of(plan: Plan) -> str:
    """Return Python code that repeats a comparison; the user supplies X, y and groups."""
    lines = ["from bagwise import compare", ""]
    arguments = ["X", "y"]
    if plan.named_models is not None:
        lines.append("models = {")
        lines += [
            f"    {name!r}: {' '.join(repr(model).split())}," for name, model in plan.named_models.items()
        ]
        lines.append("}")
        arguments.append("models")
    elif plan.models != "default":
        arguments.append(repr(plan.models))
    if plan.groups is not None:
        arguments.append("groups=groups")
    if isinstance(plan.scoring, dict):
        arguments.append("scoring=scoring")
    elif tuple(plan.scorers) != DEFAULT_SCORING and not plan.data.from_unlabeled:
        arguments.append(f"scoring={plan.scoring!r}")
    arguments.append(f"cv={plan.cv!r}" if isinstance(plan.cv, int) else "cv=cv")
    arguments += [f"repeats={plan.repeats}", f"random_state={plan.seed}"]
    return "\n".join([*lines, f"comparison = compare({', '.join(arguments)})"])
