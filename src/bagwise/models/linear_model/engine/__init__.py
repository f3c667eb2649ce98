"""How linear models are fitted: the problem that solvers see, searches over starts, and paths of penalties.

Many instances (above 2**23 values) are neither copied nor converted. A sample of bags is fitted first,
with all starts, rules and penalties; from its optima a few quasi-Newton steps, which begin with the
curvature of the sample, lead to the optimum of all bags. Each step is one pass, shared by starts,
penalties and folds.

- `setup`, `design`: scaling, and instances in memory. `moments`: sums of products of features.
- `problem`: the likelihood as functions of a block, and their sums. `in_memory`: the same for few bags.
  `products`: products with the instances.
- `fits`: whole fits, of few bags and of many. `coefficients`: fits under one rule. `learned_rule`:
  coefficients and rule together. `em`: the same by the paper's EM. `null`: the model without features.
- `lasso`: what the L1 solver sees, searches and paths. `large_path`: paths of data that are not copied.
"""
