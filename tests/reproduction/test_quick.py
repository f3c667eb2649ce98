"""Every experiment runs with quick settings, and its page shows the results of its cells."""

import math
import os
import random
from dataclasses import replace

import pytest
from reproduction import all_experiments
from reproduction.framework import Settings
from reproduction.markdown import as_markdown
from reproduction.runner import run_experiment
from tests.studies import always

from bagwise.datasets._sources import SOURCES

QUICK = Settings(quick=True)
# Scheme C has a penalty per fold instead of a single one.
NOT_FINITE = {"milr-table2": ["alpha"]}
LONG = ("ensemble", "mimm-fig3", "mimm-table1", "pu-table3", "sorlr-fig2-hja", "sorlr-fig2-mscv2")


def run_quickly(experiment, out):
    """Return the page, its report, and the results of its cells."""
    if experiment.needs_data and not os.environ.get("BAGWISE_DATA"):
        pytest.skip("BAGWISE_DATA is not set: the public data are not available")
    if experiment.missing_files():
        pytest.skip(f"{experiment.missing_files()[0]} is missing and cannot be fetched")
    cells, reports = {}, []

    def report(results, settings):
        cells.update(results)
        reports.append(experiment.report(results, settings))
        return reports[-1]

    page = run_experiment(replace(experiment, report=report), QUICK, out=out)
    return page.read_text(), reports[0], cells


def floats(value, name=""):
    """Yield all floats in a result with their names."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from floats(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from floats(part, name)
    elif isinstance(value, float):
        yield name, value


def changed(value, rng):
    """Return a copy of a result with other values."""
    if isinstance(value, dict):
        return {key: changed(part, rng) for key, part in value.items()}
    if isinstance(value, list):
        return [changed(part, rng) for part in value]
    return rng.uniform(0.7, 0.95) * value if isinstance(value, float) else value


def written(report):
    return [report.text.strip(), *(as_markdown(table) for table in report.tables)]


EXPERIMENTS = all_experiments()
SHORT = [experiment for name, experiment in EXPERIMENTS.items() if name not in LONG]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", always(SHORT, EXPERIMENTS.values()), ids=lambda item: item.name)
def test_every_quick_run_shows_the_values_of_its_cells(experiment, tmp_path):
    page, report, cells = run_quickly(experiment, tmp_path)
    assert page.startswith(f"# {experiment.name}: ")
    assert report.tables and all(part in page for part in written(report))
    assert not {"nan", "inf", "-inf"} & set(" ".join(written(report)).split())
    strange = {name for name, x in floats(list(cells.values())) if not math.isfinite(x)}
    assert strange <= set(NOT_FINITE.get(experiment.name, []))
    # At most ten cells, because reports can draw figures. The page must change with the result of each cell.
    for key in list(cells)[:: math.ceil(len(cells) / 10)]:
        other = experiment.report({**cells, key: changed(cells[key], random.Random(0))}, QUICK)
        assert written(other) != written(report), key


def test_halving_the_positive_share_adds_a_bit(tmp_path):
    page, _, cells = run_quickly(all_experiments()["mimm-fig2"], tmp_path)
    for line in ("| 0.5 | 1.000 |", "| 0.25 | 2.000 |"):
        assert line in page
    curve = cells["curve"]
    assert curve["measured"] == pytest.approx([-math.log2(p) for p in curve["positive"]], abs=1e-12)


def test_every_experiment_names_data_that_can_be_fetched():
    experiments = all_experiments()
    assert len(experiments) > 20
    unknown = {name: set(experiment.needs_data) - set(SOURCES) for name, experiment in experiments.items()}
    assert not {name: names for name, names in unknown.items() if names}


def test_every_experiment_has_cells_with_unique_keys():
    wrong = []
    for experiment in all_experiments().values():
        for settings in (Settings(), Settings(quick=True)):
            cells = experiment.cells(settings)
            if not len({cell.key for cell in cells}) == len(cells) > 0:
                wrong.append((experiment.name, settings))
    assert not wrong
