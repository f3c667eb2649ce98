"""Peak memory of mixtures, measured in a separate process: fits do not copy the instances."""

import pytest
from tests.peaks import measured, only_linux
from tests.studies import always

# The process first compiles on a few bags, treated as large data, and then measures its peak.
PROGRAM = """
family, task, missing, dtype = task

def draw(n):
    if family == "markov":  # sequences of 25
        symbols = np.random.default_rng(0).integers(0, 4, 25 * n)
        X = Sequences(symbols, np.arange(0, 25 * n + 1, 25))
        return Bags(X, np.arange(0, n + 1, 10)), np.arange(n // 10) % 2
    X = np.random.default_rng(0).standard_normal((n, 50), dtype=np.float32).astype(dtype)
    y = np.arange(n // 10) % 2
    X.reshape(-1, 10, 50)[y == 1, :3] += 1
    if family in ("bernoulli", "categorical"):
        np.abs(X, out=X)
        np.minimum(np.round(X, out=X), 1 if family == "bernoulli" else 2, out=X)
    if missing:
        X[::100, 3] = np.nan
    return Bags(X, np.arange(0, n + 1, 10)), y

def run(bags, y, model):
    if model is not None:
        model.predict_proba(bags), model.predict_instances(bags), model.score_samples(bags)
        return
    options = {"unlabeled": {"supervision": "none"}, "components": {"n_components": 2}}.get(task, {})
    return MIMixture(family, n_init=4, max_iter=2, random_state=0, **options).fit(bags, y)

small = draw(20_000)
model = as_if_large(lambda: run(*small, None)) if task == "predict" else None
as_if_large(lambda: run(*small, model))
bags, y = draw(420_000 * 4 // np.dtype(dtype).itemsize)  # 84 MB
X = bags.instances
size = (X.symbols if family == "markov" else X).nbytes
print(json.dumps([peak_of(lambda: run(bags, y, model)), size, len(X)]))
"""

FAMILIES = [
    "gaussian",
    "gaussian_diag",
    "gaussian_spherical",
    "gaussian_tied",
    "bernoulli",
    "categorical",
    "markov",
]
TASKS = [
    *((family, "fit", False) for family in FAMILIES),
    *((family, "predict", False) for family in ("gaussian", "categorical")),
    ("gaussian_diag", "fit", True),
    ("gaussian_diag", "unlabelled", False),
    ("gaussian_diag", "components", False),
    ("categorical", "components", False),
]


@pytest.mark.slow
@only_linux
@pytest.mark.parametrize(
    "task", always([("gaussian_diag", "fit", False), ("categorical", "predict", False)], TASKS), ids=str
)
def test_the_peak_is_a_third_of_the_instances_and_five_numbers_each(task):
    above, size, n_instances = measured(PROGRAM, [*task, "float32"])
    assert size == 420_000 * 200
    assert above <= 0.3 * size + 5 * 8 * n_instances


@pytest.mark.slow
@only_linux
@pytest.mark.parametrize("task", ["fit", "predict"])
def test_the_peak_of_float16_is_the_same_share(task):
    above, size, n_instances = measured(PROGRAM, ["gaussian_diag", task, False, "float16"])
    assert size == 420_000 * 200
    assert above <= 0.3 * size + 5 * 8 * n_instances
