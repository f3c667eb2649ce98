"""The paper's bound on the risk of a fixed score."""

from __future__ import annotations

import numpy as np


def pu_risk_bound(
    largest_score: float, *, class_prior: float, n_positive: int, n_unlabeled: int, delta: float = 0.05
) -> float:
    """Bound how far the risk of a fixed score may lie above its value on a sample (Theorem 1 of the paper).

    For a score g with ``|g|`` <= `largest_score` everywhere, and the double hinge loss, with probability at
    least 1 - delta over the draw of positive and unlabeled bags, the risk exceeds its empirical value by
    at most ::

        largest_score sqrt(log(2 / delta) / 2) (2 pi / sqrt(n_positive) + 1 / sqrt(n_unlabeled))

    Parameters
    ----------
    largest_score : float
        A bound of the score's size: the paper's C_alpha C_phi, the largest norm of the coefficients times the
        largest norm of the basis functions, the intercept among them.
    class_prior : float
        The share pi of positive bags.
    n_positive, n_unlabeled : int
        Numbers of bags in the sample.
    delta : float, default=0.05
        The probability that the bound fails.

    Returns
    -------
    float

    Notes
    -----
    It holds for a score that was **fixed before the sample was seen**. It says nothing of a fitted score,
    which was chosen for its small risk on the sample, and whose basis functions are bags of the sample; nor
    of the share of wrong decisions, which is another loss. It says which sample is worth enlarging: positive
    bags, as long as 4 pi^2 n_unlabeled > n_positive.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Neural Networks 105, Theorem 1 and appendix C.

    Examples
    --------
    >>> from bagwise import pu_risk_bound
    >>> round(pu_risk_bound(1.0, class_prior=0.5, n_positive=100, n_unlabeled=400), 3)
    0.204
    """
    return float(
        largest_score
        * np.sqrt(np.log(2.0 / delta) / 2.0)
        * (2.0 * class_prior / np.sqrt(n_positive) + 1.0 / np.sqrt(n_unlabeled))
    )
