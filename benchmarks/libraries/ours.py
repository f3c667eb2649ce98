"""Adapter for bagwise."""

PACKAGE = "bagwise"


def ridge_logistic(data):
    """Fit bags of one instance, for which the loss of the rule "or" is the logistic loss."""
    from bagwise import MILogisticRegression

    model = MILogisticRegression(
        "or", alpha=data["alpha"], l1_ratio=0.0, scale=None, n_init=1, tol=data["tol"], max_iter=1000
    )
    model.fit(data["X"], data["y"])
    return model.coef_.ravel(), float(model.intercept_[0])


SOLVERS = {"ridge_logistic": {"bagwise, trust-region Newton": ridge_logistic}}
