"""Adapter for scipy: L-BFGS on a plain implementation of the objective."""

PACKAGE = "scipy"


def ridge_logistic(data):
    """Minimize the objective, with value and gradient written in numpy."""
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit

    X, alpha = data["X"], data["alpha"]
    sign = 2.0 * data["y"] - 1.0

    def value_and_gradient(parameters):
        beta, intercept = parameters[:-1], parameters[-1]
        margin = sign * (X @ beta + intercept)
        slope = -sign * expit(-margin)
        value = -log_expit(margin).sum() + 0.5 * alpha * beta @ beta
        return value / len(X), np.append(X.T @ slope + alpha * beta, slope.sum()) / len(X)

    options = {"gtol": data["tol"], "ftol": 0.0, "maxiter": 10_000, "maxfun": 20_000}
    start = np.zeros(X.shape[1] + 1)
    result = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return result.x[:-1], float(result.x[-1])


SOLVERS = {"ridge_logistic": {"scipy, L-BFGS-B": ridge_logistic}}
