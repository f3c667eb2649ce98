"""Solvers: they know problems (values, gradients, steps), not models, and return results."""

from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.dual import DualResult, solve_dual
from bagwise.solvers.em import EMModel, run_em
from bagwise.solvers.result import SolverResult, Status, best_of
from bagwise.solvers.rows import DenseRows, RowCache
from bagwise.solvers.smooth import minimize_smooth

__all__ = [
    "Control",
    "DenseRows",
    "DualResult",
    "EMModel",
    "RowCache",
    "SolverResult",
    "Status",
    "best_of",
    "minimize_cccp",
    "minimize_smooth",
    "run_em",
    "solve_dual",
]
