"""The papers' tables and figures, rerun: a module for each paper, run by ``bagwise reproduce``.

A module with a list ``EXPERIMENTS`` is found by lying in this folder.
"""

from importlib import import_module
from pkgutil import iter_modules

from reproduction.framework import Experiment


def all_experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of their modules' names."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return {
        experiment.name: experiment for module in modules for experiment in getattr(module, "EXPERIMENTS", ())
    }
