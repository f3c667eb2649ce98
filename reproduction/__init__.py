"""The papers' tables and figures, rerun: a module for each paper. ``python -m reproduction`` runs them.

Every module of this folder that has a list ``EXPERIMENTS`` is found. `framework` defines what an experiment
is, `runner` computes and stores its cells, and `code` decides which stored cells are still valid. The
leaderboard has a function per model (`leaderboard_models`), one protocol (`nested`) and comparisons over data
sets (`ranks`). `labelled` fits mixtures to bags that `MIMixture.fit` refuses.
"""

from importlib import import_module
from pkgutil import iter_modules

from reproduction.framework import Experiment


def all_experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of their modules' names."""
    names = (module.name for module in iter_modules(__path__) if module.name != "__main__")
    modules = (import_module(f"{__name__}.{name}") for name in names)
    return {
        experiment.name: experiment for module in modules for experiment in getattr(module, "EXPERIMENTS", ())
    }
