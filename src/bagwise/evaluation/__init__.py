"""Evaluation of models: held-out scores, comparisons, explanations, plots and data frames.

- `checks`: checks of a data set before a model is fitted, one function per check.
- `site_folds`: folds that keep sites together.
- `held_out`: scores on held-out bags, with confidence intervals.
- `comparison`: `compare`, which evaluates several models on the same folds.
- `explanations`: explanations of single predictions. `importance`: permutation importance of features.
- `metrics`, `pu_reports`: scores for positive and unlabeled bags.
- `prediction_frames`, `cluster_frames`: predictions as data frames and files.
- `plotting`, `calibration_plots`: plots of bags, and calibration plots for any model.
"""
