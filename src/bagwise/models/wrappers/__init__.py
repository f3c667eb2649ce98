"""Estimators around other estimators: pipelines, several classes, instance-level classifiers.

- `pipeline`: pipelines that keep instance-level methods.
- `multiclass`: one-vs-one, and bags by index for tools that only accept a matrix.
- `single_instance`: any scikit-learn classifier on instances that inherit their bag's label.
- `instance_level`: which part of a wrapped model predicts instances.
"""
