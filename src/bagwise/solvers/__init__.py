"""Solvers: they know problems (values, gradients, steps), not models, and return results."""

from bagwise.solvers.cccp import ConcaveConvexProblem, minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.dual import DualResult, enough_steps, solve_dual
from bagwise.solvers.em import EMModel, run_em
from bagwise.solvers.interior import solve_dual_interior
from bagwise.solvers.prox_newton import L1Problem, L1Result, minimize_l1
from bagwise.solvers.result import SolverResult, Status, best_of
from bagwise.solvers.rows import DenseRows, RowCache
from bagwise.solvers.smooth import minimize_smooth

__all__ = [
    "ConcaveConvexProblem",
    "Control",
    "DenseRows",
    "DualResult",
    "EMModel",
    "L1Problem",
    "L1Result",
    "RowCache",
    "SolverResult",
    "Status",
    "best_of",
    "enough_steps",
    "minimize_cccp",
    "minimize_l1",
    "minimize_smooth",
    "run_em",
    "solve_dual",
    "solve_dual_interior",
]
