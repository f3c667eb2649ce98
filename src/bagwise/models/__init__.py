"""The estimators, a package for each kind of model; `base` is the contract that they share."""
