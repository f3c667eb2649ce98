"""Adapter for scikit-learn."""

from functools import partial

PACKAGE = "scikit-learn"


def ridge_logistic(data, solver):
    """Fit LogisticRegression with C = 1 / alpha, which leads to the same objective."""
    from sklearn.linear_model import LogisticRegression

    # scikit-learn's tolerance applies to the mean over samples. bagwise's tolerance is per unit of
    # weight, which is equivalent.
    model = LogisticRegression(C=1.0 / data["alpha"], solver=solver, tol=data["tol"], max_iter=10_000)
    model.fit(data["X"], data["y"])
    return model.coef_.ravel(), float(model.intercept_[0])


SOLVERS = {
    "ridge_logistic": {
        f"scikit-learn, {solver}": partial(ridge_logistic, solver=solver)
        for solver in ("lbfgs", "newton-cg", "newton-cholesky")
    }
}
