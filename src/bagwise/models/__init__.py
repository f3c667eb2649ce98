"""The estimators: a package per kind of model. `base` is the contract that they share.

- `linear_model`, `mixture`: models with a bag rule. `trees`, `attention`: boosting and a network.
- `svm`, `pu`, `neighbors`, `prototypes`: kernels, positive and unlabeled bags, distances, points and
  boxes.
- `embedding`: bags to vectors. `multilabel`: several labels. `wrappers`: estimators around others.
  `ensemble`.
"""
