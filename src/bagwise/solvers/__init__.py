"""Solvers for optimization problems defined by values, gradients and steps, independent of the models.

Every solver takes a `Control` (module `control`: tolerance, iteration limit, callback, stop flag,
checkpoint). It checks the stop flag between steps and returns a `Status`. Estimators convert the status to
a warning. Module `reporting` prints the progress for `verbose`.

- `em`, `smooth` (L-BFGS), `cccp`, `adam`, `l1_svm` (a linear program).
- `prox_newton`: the L1 solver. An `L1Problem` has four main methods. They compute a point, the exact
  point, the curvature in selected columns, and the problem restricted to selected columns. A Hessian costs
  about twenty function evaluations. The solver therefore keeps its quadratic model (`quadratic`) across
  steps and penalties, and updates it after every step. `working_set` selects the columns.
- `dual`: minimizes u'Ku/2 + q'u in a box with a fixed sum. The variables u are signed, so all steps of an
  SVM and all pairs of classes use the same kernel matrix. Pairwise steps on working sets find the free
  variables, and a Newton step finds their values. `interior` is used if pairwise steps converge slowly.
  `rows` caches kernel rows.
- `result`: the results of solvers, and their representation in a checkpoint.
"""

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
