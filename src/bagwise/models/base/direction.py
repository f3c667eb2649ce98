"""Fit to text labels without `positive`: use each label as the positive class, and keep the better fit.

Bag models are not symmetric in their classes: only negative bags are free of positive instances. Numeric and
boolean labels have a conventional direction. Text labels have none, and their alphabetical order must not
matter.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bagwise._core.interrupt import stop_flag
from bagwise.exceptions import PositiveClassWarning, warn_user
from bagwise.models.base.labels import UndecidedPositiveError, bag_weights, training_digest
from bagwise.persist.checkpoints import identity_of, opened

# Losses whose relative difference is at most this are equal: the label that sorts last is then positive.
_EQUAL = 1e-9


def fit_both_directions(
    fit: Callable[..., Any], model: Any, undecided: UndecidedPositiveError, *args: Any, **kwargs: Any
) -> Any:
    """Fit a model with each of two labels as the positive class, and keep the fit with the smaller loss.

    Both fits start from the same state, random state and parameters, so that swapping the labels only swaps
    the fits. Warnings of the discarded fit are not shown. With a checkpoint, both fits are stored in it.

    Parameters
    ----------
    fit : function
        The undecorated method `fit`.
    model : BagClassifier
        The model; `_direction_loss` returns the loss that is compared.
    undecided : UndecidedPositiveError
        The error of the first attempt to fit; it contains the labels.
    *args, **kwargs
        The arguments of `fit` after the model.

    Returns
    -------
    The result of `fit`
    """
    signature = inspect.signature(fit)
    arguments = signature.bind(model, *args, **kwargs).arguments
    weight = bag_weights(undecided.bags, arguments.get("sample_weight"))
    before, random_state = dict(model.__dict__), _state_of(model)
    losses: dict[Any, float] = {}
    fits: dict[Any, tuple[dict[str, Any], list[Any]]] = {}

    def identity() -> Any:
        digest = training_digest(undecided.bags, undecided.codes, weight)
        more = {"groups": arguments["groups"]} if "groups" in arguments else {}
        return identity_of(model, digest, directions="both", **more)

    with opened(arguments.get("checkpoint"), identity) as checkpoint:
        for label in undecided.labels[::-1]:  # the last one first: it is kept if the losses are equal
            model.__dict__.clear()
            model.__dict__.update(before, _direction=label)
            if random_state is not None:
                model.random_state.set_state(random_state)
            if "checkpoint" in signature.parameters:
                arguments["checkpoint"] = checkpoint.within(f"positive {label!r}")
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    fit(**arguments)
            except BaseException:
                if fits:  # the second fit stopped or failed, and the model contains the first fit
                    model.__dict__.clear()
                    model.__dict__.update(next(iter(fits.values()))[0])
                model.__dict__.pop("_direction", None)
                raise
            del model._direction
            if not stop_flag().is_set():
                loss = model._direction_loss(arguments["X"], arguments["y"], weight)
                losses[label] = np.inf if np.isnan(loss) else loss
            fits[label] = dict(model.__dict__), caught
            if stop_flag().is_set():
                break
    chosen = _better(losses) if len(losses) == 2 else next(iter(fits))
    state, caught = fits[chosen]
    model.__dict__.clear()
    model.__dict__.update(state)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if len(losses) == 2:
        _report(model, chosen, losses)
    return model


def _better(losses: dict[Any, float]) -> Any:
    """Return the label with the smaller loss; the first one if the losses are equal up to rounding."""
    (first, loss), (second, other) = losses.items()
    return second if other < loss - _EQUAL * abs(loss) else first


def _report(model: Any, chosen: Any, losses: dict[Any, float]) -> None:
    other = next(label for label in losses if label != chosen)
    low, high = model.classes_.tolist()
    warn_user(
        f"y has the labels {low!r} and {high!r}, and positive is None: {type(model).__name__} was fitted "
        f"with each label as the positive class, and {chosen!r} was kept ({model._direction_criterion}: "
        f"{losses[chosen]:.6g}; with {other!r}: {losses[other]:.6g}). To fit once, pass positive={chosen!r}.",
        PositiveClassWarning,
        once=f"positive class {chosen!r}",
    )


def _state_of(model: Any) -> Any:
    """Return the state of the model's `random_state` if it is a generator, otherwise None."""
    generator = getattr(model, "random_state", None)
    return generator.get_state() if isinstance(generator, np.random.RandomState) else None
