"""What a model is worth and what it predicts: held-out scores, comparisons, explanations, plots, frames.

- `checks`: what is wrong with a data set before a model is fitted, a function for each check.
- `held_out`: scores on held-out bags, with intervals.
- `comparison`: `compare`, several models on the same folds.
- `explanations`: why a bag is predicted as it is. `importance`: what features contribute.
- `metrics`, `pu_reports`: scores of positive and unlabeled bags.
- `prediction_frames`, `cluster_frames`: predictions as data frames and files.
- `plotting`, `calibration_plots`: plots of bags, and of any model's probabilities.
"""
