"""Estimators, one package per kind of model. `base` contains their shared code.

- `linear_model`, `mixture`: models with a bag rule. `trees`: boosting. `attention`: a neural network.
- `svm`: SVMs and set kernels. `pu`: positive and unlabeled bags. `neighbors`: nearest-neighbor classifiers
  based on bag distances. `prototypes`: models based on target points and boxes.
- `embedding`: transformers from bags to vectors. `multilabel`: several labels per bag. `wrappers`: estimators
  that wrap other estimators. `ensemble`: combinations of several models.
"""
