"""bagwise: multiple-instance learning, the scikit-learn way.

Learn from labelled *bags* of unlabelled *instances*: molecules and their shapes, slides and their
patches, recordings and their calls. Every public name imports from here; the module that holds it is
loaded on first use, so ``import bagwise`` itself costs next to nothing.
"""

from bagwise._version import __version__

# Public names by the module they live in; `make format` writes them to `__init__.pyi` for type checkers.
_ROOMS = {
    "apr": ["APRClassifier"],
    "attention": ["AttentionMILClassifier"],
    "bags": ["Bags"],
    "calibration_plots": ["plot_calibration"],
    "comparison": ["Comparison", "compare"],
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
        "make_count_bags",
        "make_mixture_bags",
        "make_noisy_or_bags",
        "make_positive_unlabeled",
    ],
    "density": ["DiverseDensity", "EMDD"],
    "distances": ["bag_distances"],
    "embedding": [
        "BagStatistics",
        "ClusterEmbedding",
        "DissimilarityEmbedding",
        "FisherEmbedding",
        "TreeEmbedding",
        "VLADEmbedding",
    ],
    "ensemble": ["BagEnsembleClassifier"],
    "exceptions": ["ClassPriorWarning", "ComparisonInterrupted", "PositiveClassWarning", "VersionWarning"],
    "explanations": ["BagExplanation", "explain_bag"],
    "families": ["Family", "FraleyRaftery"],
    "importance": ["bag_permutation_importance"],
    "io": [
        "instance_frame",
        "iter_parquet",
        "key_instances",
        "load_arff",
        "load_bags",
        "load_csv",
        "load_h5",
        "load_npy",
        "load_npz",
        "load_parquet",
        "load_xlsx",
        "predict_frame",
        "save_bags",
        "save_csv",
        "save_h5",
        "save_npy",
        "save_npz",
        "save_parquet",
        "scan_bags",
    ],
    "kernel_bags": ["KernelBags", "instance_kernel"],
    "kernels": ["mean_kernel", "minimax_kernel", "set_kernel", "statistic_kernel"],
    "linear_model": [
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
    "metrics": ["make_pu_scorer", "pu_auc", "pu_f1", "pu_precision", "pu_recall", "pu_risk"],
    "mixture": ["DiscriminativeMixture", "MIMixture", "bayes_error_bound"],
    "multiclass": ["ByIndex", "OneVsOneBagClassifier"],
    "multilabel": ["MIMLLogisticRegression", "MultiLabelBagClassifier"],
    "neighbors": ["BayesianKNNClassifier", "CitationKNNClassifier"],
    "persist": ["load", "save", "trusted_types"],
    "plotting": ["plot_bags", "plot_heatmap", "plot_sequence"],
    "pipeline": ["BagPipeline", "OnInstances", "make_bag_pipeline"],
    "prototypes": ["MILESClassifier", "PrototypeEmbedding"],
    "pu": [
        "ClassPriorEstimator",
        "DSDDClassifier",
        "DSDDClassifierCV",
        "LSDDClassifier",
        "LSDDClassifierCV",
        "PUMILClassifier",
        "PUSetKernelClassifier",
        "PUSetKernelClassifierCV",
        "plot_prior_sensitivity",
        "pu_risk_bound",
    ],
    "pu_reports": ["PUReport", "pu_report"],
    "rank_scaler": ["RankScaler"],
    "report": ["write_report"],
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
    "scanned": ["ScannedBags"],
    "sequences": ["Sequences"],
    "single_instance": ["SingleInstanceClassifier"],
    "svm": ["InstanceMISVC", "MISVC", "MissSVC", "SetKernelSVC", "SparseMISVC"],
    "trees": ["MIGradientBoostingClassifier"],
}
_WHERE = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_WHERE)]


def __getattr__(name):
    if name in _WHERE:
        from importlib import import_module

        value = getattr(import_module(f"bagwise.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bagwise' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
