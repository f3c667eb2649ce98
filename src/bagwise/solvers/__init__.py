"""Solvers of problems given as values, gradients and steps; they are independent of models.

Every solver takes a `Control` (module `control`: tolerance, iteration limit, callback, stop flag,
checkpoint), looks at the flag between steps, and returns a `Status`; estimators turn it into a warning.
`reporting` is what `verbose` shows.

- `em`, `smooth` (L-BFGS and trust regions, which follow negative curvature away from saddle points),
  `cccp`, `adam`, `l1_svm` (a linear program).
- `prox_newton`: the L1 solver. It needs four methods of its problem (`L1Problem`): a point, the exact
  point, the curvature in some columns, and the problem restricted to some columns. A Hessian costs as
  much as twenty points, so its quadratic model (`quadratic`) is kept over steps and penalties and updated
  by every step. `working_set`: the columns that it looks at.
- `dual`: min u'Ku/2 + q'u in a box with a given sum, for signed u, so one kernel matrix serves all steps
  of an SVM and all pairs of classes. Pairs on working sets find which variables are free, a Newton step
  finds their values; `interior` takes over where pairs converge slowly. `rows` caches kernel rows.
- `result`: what solvers return, and its form in a checkpoint.
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
