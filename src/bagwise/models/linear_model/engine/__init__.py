"""How linear models are fitted: the problem that solvers see, searches over starts, and paths of penalties.

- `setup`, `design`: scaling, and instances in memory. `moments`: sums of products of features.
- `problem`: the likelihood as functions of a block, and their sums; `in_memory`: the same for few bags.
- `fits`: whole fits, of few bags and of many; `coefficients`: fits under one rule; `learned_rule`:
  coefficients and rule together; `em`: the same by EM; `null`: the model without features.
- `lasso`: what the L1 solver sees, searches and paths; `large_path`: paths of data that are not copied.
"""
