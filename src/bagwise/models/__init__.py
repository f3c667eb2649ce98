"""Estimators, one package per kind of model. `base` contains their shared code.

- `linear_model`, `mixture`: models with a bag rule. `trees`: boosting. `attention`: a neural network.
- `svm`: SVMs and set kernels. `pu`: positive and unlabeled bags. `neighbors`: distances between bags.
  `prototypes`: target points and boxes.
- `embedding`: bags to vectors. `multilabel`: several labels per bag. `wrappers`: estimators around other
  estimators. `ensemble`: combinations of several models.
"""
