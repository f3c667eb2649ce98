"""The LASSO of linear bag models: what `solvers.prox_newton` sees of them, searches and paths.

- `columns`: from 1 to 64 MB, a scaled copy of the instances in single precision, by columns. A point is
  computed from its difference to the last one, and again where the estimated rounding error matters.
- `problem`: the four methods that the solver calls. `search`: the best of many optima at one penalty.
  `path`: a grid of penalties; all solutions are computed exactly at the end and continued if they are not
  optimal.
"""
