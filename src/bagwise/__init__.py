"""bagwise: multiple-instance learning for scikit-learn.

Learn from labeled *bags* of unlabeled *instances*: molecules and their shapes, slides and their
patches, recordings and their calls. Every public name can be imported from this package. The module that
defines a name is loaded on first use, so ``import bagwise`` takes less than 0.3 seconds.
"""

from bagwise._version import __version__

# Public names, grouped by the package or module that defines them. `make format` writes them to
# `__init__.pyi`, for type checkers.
_PUBLIC = {
    "exceptions": ["ClassPriorWarning", "ComparisonInterrupted", "PositiveClassWarning", "VersionWarning"],
    "data.bags": ["Bags"],
    "data.scanned": ["ScannedBags"],
    "data.sequences": ["Sequences"],
    "rules": [
        "CountLogistic",
        "CountTable",
        "GeometricMean",
        "Link",
        "LogOddsMean",
        "Max",
        "Mean",
        "Or",
        "Rule",
        "SoftMax",
        "Threshold",
    ],
    "families": ["Family", "FraleyRaftery"],
    "similarity": [
        "KernelBags",
        "bag_distances",
        "instance_kernel",
        "mean_kernel",
        "minimax_kernel",
        "set_kernel",
        "statistic_kernel",
    ],
    "persist": ["load", "save", "trusted_types"],
    "io": [
        "iter_parquet",
        "load_arff",
        "load_bags",
        "load_csv",
        "load_h5",
        "load_npy",
        "load_npz",
        "load_parquet",
        "load_xlsx",
        "save_bags",
        "save_csv",
        "save_h5",
        "save_npy",
        "save_npz",
        "save_parquet",
        "scan_bags",
    ],
    "datasets": [
        "augment_bags",
        "fetch_corel2000",
        "fetch_elephant",
        "fetch_fox",
        "fetch_hja_birdsong",
        "fetch_mscv2",
        "fetch_musk1",
        "fetch_musk2",
        "fetch_newsgroups",
        "fetch_tiger",
        "load_digit_bags",
        "make_assumption_bags",
        "make_count_bags",
        "make_mixture_bags",
        "make_noisy_or_bags",
        "make_positive_unlabeled",
    ],
    "models.base.rank_scaler": ["RankScaler"],
    "models.base.tags": ["can_use_absence"],
    "models.linear_model": [
        "MILogisticRegression",
        "MILogisticRegressionCV",
        "SoftORLogisticRegression",
        "diagnose_rule",
        "forward_selection",
        "milr_path",
        "naive_wald_selection",
        "plot_cv",
        "plot_odds_ratios",
        "plot_path",
        "rate_change",
        "refit_selected",
    ],
    "models.mixture": ["DiscriminativeMixture", "MIMixture", "bayes_error_bound", "negative_bag_rate"],
    "models.svm": ["InstanceMISVC", "MISVC", "MissSVC", "SetKernelSVC", "SparseMISVC"],
    "models.pu": [
        "ClassPriorEstimator",
        "DSDDClassifier",
        "DSDDClassifierCV",
        "LSDDClassifier",
        "LSDDClassifierCV",
        "PUMILClassifier",
        "PUSetKernelClassifier",
        "PUSetKernelClassifierCV",
        "pearson_class_prior",
        "plot_prior_sensitivity",
        "pu_risk_bound",
    ],
    "models.prototypes": [
        "APRClassifier",
        "DiverseDensity",
        "EMDD",
        "MILESClassifier",
        "PrototypeEmbedding",
    ],
    "models.neighbors": ["BayesianKNNClassifier", "CitationKNNClassifier"],
    "models.embedding": [
        "BagStatistics",
        "ClusterEmbedding",
        "DissimilarityEmbedding",
        "FisherEmbedding",
        "TreeEmbedding",
        "VLADEmbedding",
    ],
    "models.trees": ["MIGradientBoostingClassifier"],
    "models.attention": ["AttentionMILClassifier"],
    "models.multilabel": ["MIMLLogisticRegression", "MultiLabelBagClassifier"],
    "models.wrappers.multiclass": ["ByIndex", "OneVsOneBagClassifier"],
    "models.wrappers.pipeline": ["BagPipeline", "OnInstances", "make_bag_pipeline"],
    "models.wrappers.single_instance": ["SingleInstanceClassifier"],
    "models.ensemble": ["BagEnsembleClassifier"],
    "evaluation.calibration_plots": ["plot_calibration"],
    "evaluation.checks": ["check_splits"],
    "evaluation.comparison": ["Comparison", "compare"],
    "evaluation.explanations": ["BagExplanation", "explain_bag"],
    "evaluation.importance": ["bag_permutation_importance"],
    "evaluation.metrics": ["make_pu_scorer", "pu_auc", "pu_f1", "pu_precision", "pu_recall", "pu_risk"],
    "evaluation.plotting": ["plot_bags", "plot_heatmap", "plot_sequence"],
    "evaluation.prediction_frames": ["group_frame", "instance_frame", "key_instances", "predict_frame"],
    "evaluation.pu_reports": ["PUReport", "pu_report"],
    "evaluation.site_folds": ["site_folds"],
    "report": ["write_report"],
}
# Modules with documented functions that are not exported here: `bagwise.persist.read_card`.
_MODULES = ["persist"]
_WHERE = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = ["__version__", *sorted(_WHERE)]


def __getattr__(name):
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"bagwise.{name}")
    if name in _WHERE:
        value = getattr(import_module(f"bagwise.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bagwise' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_MODULES})
