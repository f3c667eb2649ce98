"""The types that may stand in the file of a model: known to do nothing when they are restored.

A type that is not here is refused by name until the user trusts it. Left out on purpose, though skops or
scikit-learn would restore them: whatever hands numbers of its state to compiled code as places in memory, so
that a forged file could crash the process at the first prediction. These are trees and what is made of them
(forests, boosting), the machines of libsvm (`SVC` and its kin), and trees of neighbours.
"""

from __future__ import annotations

# Ours, by room and module: estimators, and all that stands in them after a fit.
_OURS = {
    "apr.classifier": "APRClassifier",
    "attention.classifier": "AttentionMILClassifier",
    "attention.network": "Network",
    "bags.collection": "Bags",
    "density.diverse_density": "DiverseDensity",
    "density.emdd": "EMDD",
    "embedding.aggregates": "FisherEmbedding VLADEmbedding",
    "embedding.clusters": "ClusterEmbedding",
    "embedding.dissimilarity": "DissimilarityEmbedding",
    "embedding.statistics": "BagStatistics",
    "embedding.trees": "TreeEmbedding",
    "ensemble.classifier": "BagEnsembleClassifier",
    "ensemble.distances": "DistanceView",
    "ensemble.kernel_part": "KernelPart",
    "ensemble.linear_part": "LinearPart",
    "ensemble.model_part": "ModelPart",
    "ensemble.prototypes": "PrototypeView",
    "ensemble.ranks": "RankedExtremesView",
    "ensemble.sets": "SetView",
    "ensemble.statistics": "StatisticsView",
    "ensemble.views": "Instances",
    "ensemble.vote": "Vote",
    "families.bernoulli": "Bernoulli BernoulliParams",
    "families.categorical": "Categorical CategoricalParams CategoricalPrior",
    "families.gaussian": "Gaussian GaussianParams GaussianTied",
    "families.gaussian_diag": "DiagonalParams GaussianDiag GaussianSpherical",
    "families.markov": "Markov MarkovParams MarkovPrior",
    "families.prior": "FraleyRaftery GaussianPrior",
    "kernel_bags": "KernelBags",
    "kernels.instances": "InstanceKernel",
    "kernels.means": "MeanKernel",
    "linear_model.cv": "MILogisticRegressionCV",
    "linear_model.inference.kept": "Kept",
    "linear_model.labeler": "Labeler",
    "linear_model.logistic": "MILogisticRegression",
    "linear_model.path": "MILRPath",
    "linear_model.soft_or": "SoftORLogisticRegression",
    "metrics": "PUScorer",
    "mixture.discriminative": "DiscriminativeMixture",
    "mixture.mimixture": "MIMixture",
    "mixture.params": "MixtureParams",
    "multiclass": "ByIndex OneVsOneBagClassifier",
    "multilabel.miml": "MIMLLogisticRegression",
    "multilabel.per_label": "MultiLabelBagClassifier _Always",
    "neighbors.bayesian": "BayesianKNNClassifier",
    "neighbors.citation": "CitationKNNClassifier",
    "pipeline": "BagPipeline OnInstances",
    "prototypes.embedding": "PrototypeEmbedding",
    "prototypes.miles": "MILESClassifier",
    "prototypes.points": "Prototypes",
    "pu.cv": "PUSetKernelClassifierCV",
    "pu.difference_cv": "DSDDClassifierCV LSDDClassifierCV",
    "pu.dsdd": "DSDDClassifier",
    "pu.estimates": "PriorEstimate",
    "pu.features": "BagBasis InstanceBasis",
    "pu.lsdd": "LSDDClassifier",
    "pu.prior": "ClassPriorEstimator",
    "pu.pumil": "PUMILClassifier",
    "pu.ratio": "PriorPath",
    "pu.sample": "PriorSample",
    "pu.set_kernel": "PUSetKernelClassifier",
    "rank_scaler": "RankScaler",
    "rules.labelers": "CountLogistic CountTable",
    "rules.links": "GeometricMean LogOddsMean Max SoftMax",
    "rules.mean": "Mean",
    "rules.or_": "Or",
    "rules.threshold": "Threshold",
    "sequences": "Sequences",
    "single_instance": "SingleInstanceClassifier",
    "svm.classic": "InstanceMISVC MISVC",
    "svm.miss": "MissSVC SharedKernel",
    "svm.precomputed": "KernelLookup",
    "svm.set_kernel": "SetKernelSVC",
    "svm.sparse": "SparseMISVC",
    "trees.boosting": "MIGradientBoostingClassifier",
    "trees.flat": "Trees",
}

# scikit-learn's, by the module that exports them, whichever private module they live in.
_SCIKIT_LEARN = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.cluster": "BisectingKMeans KMeans MiniBatchKMeans",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.covariance": "EmpiricalCovariance LedoitWolf OAS ShrunkCovariance",
    "sklearn.cross_decomposition": "CCA PLSCanonical PLSRegression PLSSVD",
    "sklearn.decomposition": "FactorAnalysis FastICA IncrementalPCA KernelPCA MiniBatchNMF NMF PCA "
    "TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "BaggingClassifier BaggingRegressor StackingClassifier StackingRegressor "
    "VotingClassifier VotingRegressor",
    "sklearn.feature_selection": "GenericUnivariateSelect SelectFdr SelectFpr SelectFromModel SelectFwe "
    "SelectKBest SelectPercentile VarianceThreshold chi2 f_classif f_regression",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler "
    "SkewedChi2Sampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars Lasso "
    "LassoCV LassoLars LinearRegression LogisticRegression LogisticRegressionCV Perceptron PoissonRegressor "
    "Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor",
    "sklearn.metrics": "accuracy_score average_precision_score balanced_accuracy_score brier_score_loss "
    "explained_variance_score f1_score jaccard_score log_loss matthews_corrcoef mean_absolute_error "
    "mean_squared_error precision_score r2_score recall_score roc_auc_score root_mean_squared_error",
    "sklearn.mixture": "BayesianGaussianMixture GaussianMixture",
    "sklearn.model_selection": "FixedThresholdClassifier GridSearchCV GroupKFold GroupShuffleSplit KFold "
    "LeaveOneGroupOut LeaveOneOut PredefinedSplit RandomizedSearchCV RepeatedKFold RepeatedStratifiedKFold "
    "ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TunedThresholdClassifierCV",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": "ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain",
    "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neighbors": "NearestCentroid NeighborhoodComponentsAnalysis",
    "sklearn.neural_network": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer LabelBinarizer "
    "LabelEncoder MaxAbsScaler MinMaxScaler MultiLabelBinarizer Normalizer OneHotEncoder OrdinalEncoder "
    "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler SplineTransformer StandardScaler",
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.svm": "LinearSVC LinearSVR",
    "sklearn.utils": "Bunch",
}

# What stands inside of them and has no public name: scorers of a search, parts of a calibration, losses.
_INSIDE_SCIKIT_LEARN = {
    "sklearn": "CyHalfBinomialLoss CyHalfSquaredError CyHuberLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.linear_model": "EpsilonInsensitive Hinge ModifiedHuber SquaredEpsilonInsensitive SquaredHinge",
    "sklearn.metrics": "_MultimetricScorer _PassthroughScorer _Scorer",
    "sklearn.multiclass": "_ConstantPredictor",
}

# The same losses as compiled modules of scikit-learn 1.8 name themselves, without the package they live in.
_LOSSES_OF_SCIKIT_LEARN_1_8 = {"_loss": "CyHalfBinomialLoss CyHalfSquaredError CyHuberLoss"}

# Plain values, arrays, and what others keep beside them.
_PLAIN = {
    "builtins": "NoneType bool bytes dict float frozenset int list range set slice str tuple",
    "collections": "Counter OrderedDict defaultdict",
    "numpy": "bool bool_ dtype float16 float32 float64 int8 int16 int32 int64 ndarray str_ uint8 uint16 "
    "uint32 uint64",
    "numpy.ma": "MaskedArray",
    "numpy.random": "Generator MT19937 PCG64 RandomState",
    "scipy.sparse": "csc_array csc_matrix csr_array csr_matrix",
}


def _names(modules: dict[str, str], package: str = "") -> set[str]:
    return {f"{package}{module}.{name}" for module, names in modules.items() for name in names.split()}


OUR_TYPES = frozenset(_names(_OURS, "bagwise."))
SCIKIT_LEARN_TYPES = frozenset(_names(_SCIKIT_LEARN))
_KNOWN_AS_THEY_STAND = OUR_TYPES | _names(_LOSSES_OF_SCIKIT_LEARN_1_8)
_OTHERS_TYPES = SCIKIT_LEARN_TYPES | _names(_INSIDE_SCIKIT_LEARN) | _names(_PLAIN)


def is_known(module: str, name: str) -> bool:
    """Whether a type or function is known to be harmless, by the module it lives in and its name.

    Of others' modules the part from the first private one on does not count:
    ``sklearn.preprocessing._data.StandardScaler`` is known as ``sklearn.preprocessing.StandardScaler``.
    """
    if f"{module}.{name}" in _KNOWN_AS_THEY_STAND:
        return True
    public = []
    for part in module.split("."):
        if part.startswith("_"):
            break
        public.append(part)
    return not module.startswith("bagwise") and f"{'.'.join(public)}.{name}" in _OTHERS_TYPES
