"""Solvers: they know problems (values, gradients, steps), not models, and return results."""

from bagwise.solvers.em import EMModel, run_em
from bagwise.solvers.result import SolverResult, Status, best_of
from bagwise.solvers.smooth import minimize_smooth

__all__ = ["EMModel", "SolverResult", "Status", "best_of", "minimize_smooth", "run_em"]
