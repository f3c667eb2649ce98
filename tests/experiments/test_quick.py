"""Every experiment runs through, quickly."""

import os

import pytest

from bagwise.datasets._sources import SOURCES
from bagwise.experiments import all_experiments
from bagwise.experiments.framework import Settings
from bagwise.experiments.runner import run_experiment


@pytest.mark.parametrize("experiment", all_experiments().values(), ids=lambda experiment: experiment.name)
def test_every_experiment_runs_quickly(experiment, tmp_path):
    if experiment.needs_data and not os.environ.get("BAGWISE_DATA"):
        pytest.skip("BAGWISE_DATA is not set: the public data are not at hand")
    page = run_experiment(experiment, Settings(quick=True), out=tmp_path)
    assert page.read_text().startswith(f"# {experiment.name}: ")


@pytest.mark.parametrize("experiment", all_experiments().values(), ids=lambda experiment: experiment.name)
def test_every_experiment_names_data_that_can_be_fetched(experiment):
    assert set(experiment.needs_data) <= set(SOURCES)
    for settings in (Settings(), Settings(quick=True)):
        cells = experiment.cells(settings)
        assert len({cell.key for cell in cells}) == len(cells) > 0
