"""The estimators: a package per kind of model. `base` is the contract that they share."""
