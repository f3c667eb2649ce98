"""Fitting algorithms of linear models: objectives, searches over starts, and penalty paths.

Large data (above 2**23 values) are neither copied nor converted. A sample of bags is fitted first, with all
starts, rules and penalties. A few quasi-Newton steps then lead from the optima of the sample to the optimum
of all bags; they start with the curvature of the sample. Each step is one pass, shared by starts, penalties
and folds.

- `design`: scaling, instances in memory, and products with them. `moments`: sums of products of features.
- `problem`: the likelihood of a block, and sums over blocks for small and large data. `lasso`: the likelihood
  with the interface of the L1 solver.
- `fit`: minimization from one or several starts. `large_fit`: fits on a sample, then on all bags. `path`:
  fits for a grid of penalties.
- `learned_rule`: fits of coefficients and rule together. `em`: the paper's EM algorithm.
"""
