"""The types that can be restored from a model file, and the loaders that may restore them.

skops stores the name of a loader with every type. For example, one loader assigns attributes, one calls the
type with arguments, and one reads an array. A type is known together with its loaders, because a forged file
could combine a harmless type with a different loader: a sparse matrix whose attributes are assigned, or a
type that is called with any arguments. All other types are rejected unless the user trusts them; the error
message contains the type name.

Some scikit-learn types are not known, because compiled code uses their attributes as unchecked indices:
trees, tree ensembles (forests, boosting) and nearest-neighbor trees. Other types are checked after they have
been restored (`consistency.py`).
"""

from __future__ import annotations

# Our types by module: estimators, and the objects that a fit stores in them. Model files contain an
# identifier that never changes: the part before "=" or, without "=", the class name.
_OURS = {
    "bagwise.models.prototypes.apr": "APRClassifier",
    "bagwise.models.attention.classifier": "AttentionMILClassifier",
    "bagwise.models.attention.network": "AttentionNetwork=Network",
    "bagwise.data.bags.bags": "Bags",
    "bagwise.models.prototypes.diverse_density": "DiverseDensity",
    "bagwise.models.prototypes.emdd": "EMDD",
    "bagwise.models.embedding.aggregates": "FisherEmbedding VLADEmbedding",
    "bagwise.models.embedding.clusters": "ClusterEmbedding",
    "bagwise.models.embedding.dissimilarity": "DissimilarityEmbedding",
    "bagwise.models.embedding.statistics": "BagStatistics",
    "bagwise.models.embedding.trees": "TreeEmbedding",
    "bagwise.models.ensemble.classifier": "BagEnsembleClassifier",
    "bagwise.models.ensemble.kernel_part": "EnsembleKernelPart=KernelPart",
    "bagwise.models.ensemble.linear_part": "EnsembleLinearPart=LinearPart",
    "bagwise.models.ensemble.model_part": "EnsembleModelPart=ModelPart",
    "bagwise.models.ensemble.prototypes": "PrototypeView",
    "bagwise.models.ensemble.sets": "SetView",
    "bagwise.models.ensemble.training": "EnsembleTrainingBags=TrainingBags",
    "bagwise.models.ensemble.vectors": "DistanceView RankedExtremesView StatisticsView",
    "bagwise.models.ensemble.views": "EnsembleInstances=Instances",
    "bagwise.models.ensemble.vote": "EnsembleVote=Vote",
    "bagwise.families.bernoulli": "Bernoulli BernoulliParams",
    "bagwise.families.categorical": "Categorical CategoricalParams CategoricalPrior",
    "bagwise.families.gaussian": "Gaussian GaussianParams GaussianTied",
    "bagwise.families.gaussian_diag": "DiagonalParams GaussianDiag GaussianSpherical",
    "bagwise.families.markov": "Markov MarkovParams MarkovPrior",
    "bagwise.families.prior": "FraleyRaftery GaussianPrior",
    "bagwise.similarity.kernel_bags": "KernelBags",
    "bagwise.similarity.instance_kernels": "InstanceKernel",
    "bagwise.similarity.mean_kernels": "MeanKernel",
    "bagwise.models.linear_model.cv": "MILogisticRegressionCV",
    "bagwise.models.linear_model.inference.kept": "InferenceStatistics=Kept",
    "bagwise.models.linear_model.labeler": "RuleLabeler=Labeler",
    "bagwise.models.linear_model.logistic": "MILogisticRegression",
    "bagwise.models.linear_model.path": "MILRPath",
    "bagwise.models.linear_model.soft_or": "SoftORLogisticRegression",
    "bagwise.evaluation.metrics": "PUScorer",
    "bagwise.models.mixture.build": "MixtureConstants=Constants",
    "bagwise.models.mixture.discriminative": "DiscriminativeMixture",
    "bagwise.models.mixture.mimixture": "MIMixture",
    "bagwise.models.mixture.model": "MixtureParams",
    "bagwise.models.wrappers.multiclass": "ByIndex OneVsOneBagClassifier",
    "bagwise.models.multilabel.miml": "MIMLLogisticRegression",
    "bagwise.models.multilabel.per_label": "MultiLabelBagClassifier ConstantLabel=_Always",
    "bagwise.models.neighbors.bayesian": "BayesianKNNClassifier",
    "bagwise.models.neighbors.citation": "CitationKNNClassifier",
    "bagwise.models.wrappers.pipeline": "BagPipeline OnInstances",
    "bagwise.models.prototypes.embedding": "PrototypeEmbedding",
    "bagwise.models.prototypes.miles": "MILESClassifier",
    "bagwise.models.prototypes.points": "Prototypes",
    "bagwise.models.pu.cv": "PUSetKernelClassifierCV",
    "bagwise.models.pu.difference_cv": "DSDDClassifierCV LSDDClassifierCV",
    "bagwise.models.pu.dsdd": "DSDDClassifier",
    "bagwise.models.pu.estimates": "PriorEstimate",
    "bagwise.models.pu.features": "BagBasis InstanceBasis",
    "bagwise.models.pu.lsdd": "LSDDClassifier",
    "bagwise.models.pu.prior": "ClassPriorEstimator",
    "bagwise.models.pu.pumil": "PUMILClassifier",
    "bagwise.models.pu.ratio": "PriorPath",
    "bagwise.models.pu.sample": "PriorSample",
    "bagwise.models.pu.set_kernel": "PUSetKernelClassifier",
    "bagwise.models.base.rank_scaler": "RankScaler",
    "bagwise.rules.labelers": "CountLogistic CountTable",
    "bagwise.rules.links": "GeometricMean LogOddsMean Max SoftMax",
    "bagwise.rules.mean": "Mean",
    "bagwise.rules.or_": "Or",
    "bagwise.rules.threshold": "Threshold",
    "bagwise.data.sequences": "Sequences",
    "bagwise.models.wrappers.single_instance": "SingleInstanceClassifier",
    "bagwise.models.svm.classic": "InstanceMISVC MISVC",
    "bagwise.models.svm.miss": "MissSVC SharedKernel",
    "bagwise.models.svm.base": "KernelLookup",
    "bagwise.models.svm.set_kernel": "SetKernelSVC",
    "bagwise.models.svm.sparse": "SparseMISVC",
    "bagwise.models.trees.boosting": "MIGradientBoostingClassifier",
    "bagwise.models.trees.flat": "TreeArrays=Trees",
}

# Types of scikit-learn, by the public module that exports them.
_SCIKIT_LEARN = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.cluster": "KMeans MiniBatchKMeans",
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
    "SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler "
    "SkewedChi2Sampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars Lasso "
    "LassoCV LassoLars LinearRegression LogisticRegression LogisticRegressionCV Perceptron PoissonRegressor "
    "Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor",
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
    "sklearn.svm": "LinearSVC LinearSVR NuSVC NuSVR SVC SVR",
}

# Functions that score features or predictions, by the public module that exports them.
_FUNCTIONS = {
    "sklearn.feature_selection": "chi2 f_classif f_regression",
    "sklearn.metrics": "accuracy_score average_precision_score balanced_accuracy_score brier_score_loss "
    "explained_variance_score f1_score jaccard_score log_loss matthews_corrcoef mean_absolute_error "
    "mean_squared_error precision_score r2_score recall_score roc_auc_score root_mean_squared_error",
}

# Private types inside scikit-learn's estimators, by the module that defines them: scorers of a search, parts
# of a calibration, losses. In scikit-learn 1.8, the module of losses reports a name without the package.
_INSIDE_SCIKIT_LEARN = {
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.metrics._scorer": "_MultimetricScorer _PassthroughScorer _Scorer",
    "sklearn.multiclass": "_ConstantPredictor",
}
_LOSSES = {
    "_loss": "CyHalfBinomialLoss CyHalfSquaredError CyHuberLoss",
    "sklearn._loss._loss": "CyHalfBinomialLoss CyHalfSquaredError CyHuberLoss",
    "sklearn.linear_model._sgd_fast": "EpsilonInsensitive Hinge ModifiedHuber SquaredEpsilonInsensitive "
    "SquaredHinge",
}

_SCALARS = "bool bool_ float16 float32 float64 int8 int16 int32 int64 str_ uint8 uint16 uint32 uint64"
# Plain values, arrays, and similar types of other packages, by loader. `ConstructorFromReduceNode` calls the
# type; `nodes.py` checks the arguments.
_PLAIN = {
    "BytesNode": {"builtins": "bytes"},
    "ConstructorFromReduceNode": {"builtins": "frozenset range"},
    "DTypeNode": {"numpy": "dtype"},
    "DefaultDictNode": {"collections": "defaultdict"},
    "DictNode": {"builtins": "dict", "collections": "Counter OrderedDict", "sklearn.utils": "Bunch"},
    "JsonNode": {"builtins": "str"},
    "ListNode": {"builtins": "list"},
    "MaskedArrayNode": {"numpy.ma": "MaskedArray"},
    "NdArrayNode": {"numpy": f"ndarray {_SCALARS}"},
    "RandomGeneratorNode": {"numpy.random": "Generator"},
    "RandomStateNode": {"numpy.random.mtrand": "RandomState"},
    "SetNode": {"builtins": "set"},
    "SliceNode": {"builtins": "slice"},
    "SparseMatrixNode": {"scipy.sparse": "csc_array csc_matrix csr_array csr_matrix"},
    "TupleNode": {"builtins": "tuple"},
    "TypeNode": {"builtins": "bool bytes dict float int list set str tuple", "numpy": _SCALARS},
}

# Our types that are named tuples.
_NAMED_TUPLES = frozenset(
    {
        "BernoulliParams",
        "CategoricalParams",
        "CategoricalPrior",
        "DiagonalParams",
        "EnsembleInstances",
        "GaussianParams",
        "GaussianPrior",
        "MarkovParams",
        "MarkovPrior",
        "MixtureParams",
    }
)


def _names(modules: dict[str, str]) -> set[str]:
    return {f"{module}.{name}" for module, names in modules.items() for name in names.split()}


def _our_types() -> dict[str, tuple[str, str]]:
    types = {}
    for module, entries in _OURS.items():
        for entry in entries.split():
            identifier, _, name = entry.rpartition("=")
            types[identifier or name] = (module, name)
    return types


# Identifiers of our types, with the module and the name of the class.
OUR_TYPES = _our_types()
SCIKIT_LEARN_TYPES = frozenset(_names(_SCIKIT_LEARN) | _names(_FUNCTIONS))
_IDENTIFIERS = {location: identifier for identifier, location in OUR_TYPES.items()}


def _loaders() -> dict[str, set[str]]:
    """Return the loaders of every known type, by its name in model files."""
    tables = [("ObjectNode", _names(_SCIKIT_LEARN) | _names(_INSIDE_SCIKIT_LEARN))]
    tables += [("FunctionNode", _names(_FUNCTIONS)), ("LossNode", _names(_LOSSES))]
    tables += [(loader, _names(modules)) for loader, modules in _PLAIN.items()]
    tables += [("ObjectNode", {f"bagwise.{name}" for name in OUR_TYPES if name not in _NAMED_TUPLES})]
    tables += [("TupleNode", {f"bagwise.{name}" for name in _NAMED_TUPLES})]
    loaders: dict[str, set[str]] = {}
    for loader, names in tables:
        for name in names:
            loaders.setdefault(name, set()).add(loader)
    return loaders


_LOADERS = _loaders()
# Types that are stored with the public module that exports them.
_EXPORTED = SCIKIT_LEARN_TYPES.union(*(_names(modules) for modules in _PLAIN.values()))


def loaders_of(module: str, name: str) -> frozenset[str]:
    """Return the loaders that may restore a type or function, by its name in model files.

    Types and functions without loaders are not known to be safe.
    """
    return frozenset(_LOADERS.get(f"{module}.{name}", ()))


def name_in_files(module: str, name: str) -> tuple[str, str]:
    """Return the module and name of a type in model files.

    Our types have the module "bagwise" and their identifier as name. Known types of other packages have the
    public module that exports them: ``sklearn.preprocessing._data.StandardScaler`` becomes
    ``sklearn.preprocessing.StandardScaler``. All other types have the module that defines them.
    """
    identifier = _IDENTIFIERS.get((module, name))
    if identifier is not None:
        return "bagwise", identifier
    public = _public(module)
    return (public, name) if f"{public}.{name}" in _EXPORTED else (module, name)


def name_here(module: str, name: str) -> tuple[str, str]:
    """Return the module and name of a type in this version, from its module and name in model files."""
    return OUR_TYPES.get(name, (module, name)) if module == "bagwise" else (module, name)


def trusted_types() -> list[str]:
    """Return the full names of all bagwise types that a model can contain.

    Loading these types never executes code. `load` does not need this list. Pass the list to other tools that
    read skops archives: ``skops.io.loads(data, trusted=...)``, or ``skops_trusted_types`` of MLflow's
    scikit-learn flavor. skops trusts scikit-learn's estimators by default. Searches and calibrated models
    contain more scikit-learn types; ``skops.io.get_untrusted_types(data=...)`` lists the types to
    add.

    Returns
    -------
    list of str
        The sorted names (module and class), as skops writes them. Unlike the names in files that `save`
        writes, these names depend on the bagwise version.

    See Also
    --------
    save : Write model files that do not depend on the module structure of bagwise.

    Examples
    --------
    >>> import skops.io
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, trusted_types
    >>> data = make_noisy_or_bags(40, random_state=0)
    >>> archive = skops.io.dumps(MILogisticRegression(random_state=0).fit(data.bags, data.y))
    >>> skops.io.loads(archive, trusted=trusted_types())
    MILogisticRegression(random_state=0)
    """
    return sorted(f"{module}.{name}" for module, name in OUR_TYPES.values())


def _public(module: str) -> str:
    parts = module.split(".")
    private = (index for index, part in enumerate(parts) if part.startswith("_"))
    return ".".join(parts[: next(private, len(parts))])
