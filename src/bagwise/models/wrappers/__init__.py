"""Estimators that wrap other estimators: pipelines, several classes, instance-level classifiers.

- `pipeline`: pipelines that keep instance-level methods.
- `imputation`: median imputation before models that do not support missing values.
- `multiclass`: one-vs-one classification, and `ByIndex` for tools that only accept a matrix.
- `single_instance`: any scikit-learn classifier on instances that inherit their bag's label.
- `instance_level`: instance-level predictions of searches, pipelines and other wrapped models.
"""
