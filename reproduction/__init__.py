"""Rerun tables and figures from papers, one module per paper: ``python -m reproduction``.

Every module of this package with a list ``EXPERIMENTS`` is found automatically. `framework` defines
experiments, `runner` computes and stores their cells, and `code` decides which stored cells are still valid.
The leaderboard consists of one function per model (`leaderboard_models`), a protocol (`nested`) and
comparisons across data sets (`ranks`). `labelled` fits mixtures to labels that `MIMixture.fit` rejects.
"""

from importlib import import_module
from pkgutil import iter_modules

from reproduction.framework import Experiment


def all_experiments() -> dict[str, Experiment]:
    """Return all experiments by name, ordered by module name."""
    names = (module.name for module in iter_modules(__path__) if module.name != "__main__")
    modules = (import_module(f"{__name__}.{name}") for name in names)
    return {
        experiment.name: experiment for module in modules for experiment in getattr(module, "EXPERIMENTS", ())
    }
