"""The papers' tables and figures, rerun: a module for each paper, run by ``bagwise reproduce``."""

from importlib import import_module

from bagwise.experiments.framework import Experiment

# One module a paper; each has a list EXPERIMENTS.
MODULES = ("classic",)


def all_experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the modules."""
    return {
        experiment.name: experiment
        for module in MODULES
        for experiment in import_module(f"bagwise.experiments.{module}").EXPERIMENTS
    }
