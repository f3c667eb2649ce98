"""How linear models are fitted: the problem that solvers see, searches over starts, and paths of penalties.

Many instances (above 2**23 values) are neither copied nor converted. A sample of bags is fitted first,
with all starts, rules and penalties; from its optima a few quasi-Newton steps, which begin with the
curvature of the sample, lead to the optimum of all bags. Each step is one pass, shared by starts,
penalties and folds.

- `design`: scaling, instances in memory, and products with them. `moments`: sums of products of features.
- `problem`: the likelihood as functions of a block, and their sums, over few bags or many. `lasso`: the
  same as the L1 solver sees it.
- `fit`: from a problem to its optimum. `large_fit`: on a sample, then on all bags. `path`: a grid of
  penalties.
- `learned_rule`: coefficients and rule together. `em`: fits by the paper's EM.
"""
