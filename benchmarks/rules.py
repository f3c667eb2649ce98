"""Rules against the logistic loss on the same log-odds."""

import numpy as np
from scipy.special import expit, log_expit

from bagwise import GeometricMean, Max, Mean, Or, SoftMax
from benchmarks.harness import milliseconds, race

TITLE = "Rules against the loss of a logistic regression"
NOTE = (
    "1,000,000 log-odds in bags of 10. The peer computes the logistic log-likelihood and its gradient for "
    "the same number of labeled instances with numpy and scipy. Every instance-level model needs this much "
    "work."
)


def run() -> list[dict]:
    """Time the gradient of every rule, and its E step if it has one."""
    rng = np.random.default_rng(0)
    log_odds = rng.normal(scale=2.0, size=1_000_000)
    offsets = np.arange(0, 1_000_001, 10)
    y = (rng.random(100_000) < 0.5).astype(np.int8)
    sign = np.repeat(2.0 * y - 1.0, 10)

    def plain():
        return log_expit(sign * log_odds), sign * expit(-sign * log_odds)

    table = []
    for rule in (Or(), Mean(), SoftMax(), GeometricMean(), Max()):
        methods = ["gradient", "estep"] if rule.has_latent_labels else ["gradient"]
        for name in methods:
            method = getattr(rule, name)
            seconds = race(ours=lambda m=method: m(log_odds, offsets, y), peers={"plain": plain})
            table.append(
                {
                    "rule": type(rule).__name__,
                    "method": name,
                    "bagwise (ms)": milliseconds(seconds["ours"]),
                    "plain instances (ms)": f"{1e3 * seconds['plain']:.1f}",
                    "ratio": f"{seconds['ours'] / seconds['plain']:.2f}",
                }
            )
    return table
