"""The LASSO of linear bag models: what `solvers.prox_newton` sees of them, searches and paths.

`columns` copies the instances by columns, for cheap steps; `problem` answers the solver's four questions with
it; `search` looks for the best of many optima at one penalty, `path` follows a grid of penalties.
"""
