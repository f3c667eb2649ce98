"""Peak memory of linear models, measured in a separate process: fits do not copy the instances."""

import pytest
from tests.peaks import measured, only_linux
from tests.studies import always

PROGRAM = """
kind, n, d, dtype = task
if dtype == "bfloat16":
    import ml_dtypes
options = {"random_state": 0, "n_init": 2}
models = {
    "ridge": MILogisticRegression(l1_ratio=0.0, **options),
    "lasso": MILogisticRegression(alpha=50.0, **options),
    "softmax": MILogisticRegression("softmax", l1_ratio=0.0, **options),
    "soft-or": SoftORLogisticRegression(alpha=1.0, max_iter=20, **options),
    "cv": MILogisticRegressionCV(alphas=5, random_state=0, n_init=1),
    "labels": MIMLLogisticRegression(max_iter=20, **options),
}

def draw(n):
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    y = np.logical_or.reduceat(X[:, 0] - X[:, 1] > 2, np.arange(0, n, 5))
    return Bags(X.astype(dtype), np.arange(0, n + 1, 5)), y

def run(bags, y):
    if kind == "path":
        milr_path(bags, y)
    elif kind == "predict":
        fitted.predict_proba(bags), fitted.predict_instances(bags)
    else:
        models[kind].fit(bags, y)

few = draw(10_000)
fitted = MILogisticRegression(n_init=1).fit(*few)
as_if_large(lambda: run(*few))
run(*few)
bags, y = draw(n)
print(json.dumps([peak_of(lambda: run(bags, y)), bags.instances.nbytes]))
"""

KINDS = ["ridge", "lasso", "softmax", "soft-or", "cv", "labels", "path", "predict"]


@pytest.mark.slow
@only_linux
@pytest.mark.parametrize("kind", always(["ridge", "lasso"], KINDS))
def test_the_peak_is_a_third_of_the_instances_and_five_numbers_each(kind):
    n = 300_000
    above, size = measured(PROGRAM, [kind, n, 80, "float32"])
    assert size == n * 80 * 4, "96 MB"
    assert above <= 0.3 * size + 5 * 8 * n


@pytest.mark.slow
@only_linux
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", always(["ridge"], [kind for kind in KINDS if kind != "cv"]))
def test_the_peak_of_16_bit_floats_is_the_same_share(kind, dtype):
    n = 500_000
    above, size = measured(PROGRAM, [kind, n, 80, dtype])
    assert size == n * 80 * 2, "80 MB"
    assert above <= 0.3 * size + 5 * 8 * n
