"""The models on the leaderboard: functions of a seed that run as cells with one nested protocol.

Each function makes a model whose fit includes tuning in three folds within the training bags. Distances,
kernels and bag vectors that do not depend on the tuned parameters are computed once per fit, from all
training bags. With one function per model, a cell depends only on the code of its model.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from bagwise.models.attention import AttentionMILClassifier
from bagwise.models.base.rank_scaler import RankScaler
from bagwise.models.embedding import (
    BagStatistics,
    ClusterEmbedding,
    DissimilarityEmbedding,
    FisherEmbedding,
    TreeEmbedding,
    VLADEmbedding,
)
from bagwise.models.ensemble import BagEnsembleClassifier
from bagwise.models.linear_model import MILogisticRegression, SoftORLogisticRegression
from bagwise.models.mixture import MIMixture
from bagwise.models.neighbors import BayesianKNNClassifier, CitationKNNClassifier
from bagwise.models.prototypes import EMDD, APRClassifier, DiverseDensity, MILESClassifier, PrototypeEmbedding
from bagwise.models.svm import MISVC, InstanceMISVC, MissSVC, SetKernelSVC, SparseMISVC
from bagwise.models.trees import MIGradientBoostingClassifier
from bagwise.models.wrappers.pipeline import OnInstances, make_bag_pipeline
from bagwise.models.wrappers.single_instance import SingleInstanceClassifier
from bagwise.similarity import mean_kernel
from reproduction.nested import nested

N_INNER = 3
COSTS = [0.1, 1.0, 10.0, 100.0, 1000.0]
FEW_COSTS = [1.0, 10.0, 100.0]


def chosen(model: Any, grid: Any, seed: int) -> GridSearchCV:
    """Wrap a model in a grid search by accuracy, with three folds within the training bags."""
    return GridSearchCV(model, grid, cv=StratifiedKFold(N_INNER, shuffle=True, random_state=seed))


def logistic(seed: int) -> GridSearchCV:
    """Make a ridge logistic regression on vectors."""
    return chosen(LogisticRegression(max_iter=2000), {"C": COSTS}, seed)


def machine(seed: int) -> GridSearchCV:
    """Make a support vector machine on vectors with a Gaussian kernel."""
    return chosen(SVC(), {"C": COSTS}, seed)


class KernelRows(TransformerMixin, BaseEstimator):
    """Kernel values with the training bags, computed once for all settings of the subsequent SVM."""

    def __init__(self, kernels=("set",)):
        self.kernels = kernels

    def fit(self, X, y=None):
        """Store the bags, and estimate the kernel widths from them."""
        self.bags_ = X
        self.kernel_ = mean_kernel(self.kernels).fitted(X)
        return self

    def transform(self, X):
        """Return the kernel matrix of bags with the training bags."""
        return self.kernel_(X, None if X is self.bags_ else self.bags_)


def kernel_machine(kernels: tuple[str, ...], seed: int) -> Any:
    """Make an SVM on whole bags, with features scaled to the range 0 to 1."""
    rows = KernelRows(kernels)
    return make_pipeline(
        OnInstances(MinMaxScaler()), rows, chosen(SetKernelSVC(kernel="precomputed"), {"C": COSTS}, seed)
    )


# --------------------------------------------------------------------- linear models, mixtures, densities


def linear(rule: str, seed: int) -> GridSearchCV:
    """Make an instance-level ridge logistic regression with the given bag rule."""
    model = MILogisticRegression(rule, l1_ratio=0.0, n_init=1, random_state=seed)
    return chosen(model, {"alpha": [1.0, 10.0, 100.0]}, seed)


@nested
def milr_or(seed: int) -> Any:
    """MI logistic regression, or rule."""
    return linear("or", seed)


@nested
def milr_mean(seed: int) -> Any:
    """MI logistic regression, mean rule."""
    return linear("mean", seed)


@nested
def milr_softmax(seed: int) -> Any:
    """MI logistic regression, softmax."""
    return linear("softmax", seed)


@nested
def milr_log_odds_mean(seed: int) -> Any:
    """MI logistic regression, mean log-odds."""
    return linear("log_odds_mean", seed)


@nested
def soft_or(seed: int) -> Any:
    """SORLR, counts by a logistic curve."""
    return SoftORLogisticRegression("count_logistic", alpha=10.0, n_init=1, random_state=seed)


@nested
def mimm(seed: int) -> Any:
    """MIMM: all features (diagonal) or ten components (full)."""
    all_features = OnInstances(StandardScaler())
    components = OnInstances(make_pipeline(StandardScaler(), PCA(10, svd_solver="covariance_eigh")))
    mixture = MIMixture(n_init=3, calibrate=True, random_state=seed)
    return chosen(
        make_bag_pipeline(all_features, mixture),
        [
            {"oninstances": [all_features], "mimixture__family": ["gaussian_diag"]},
            {"oninstances": [components], "mimixture__family": ["gaussian"]},
        ],
        seed,
    )


@nested
def diverse_density(seed: int) -> Any:
    """Diverse density, 5 starts."""
    return DiverseDensity(n_init=5, random_state=seed)


@nested
def emdd(seed: int) -> Any:
    """EM-DD, 5 starts."""
    return EMDD(n_init=5, random_state=seed)


# ------------------------------------------------------------------------------------------ SVMs and APR


@nested
def mi_svm(seed: int) -> Any:
    """MI-SVM."""
    return chosen(MISVC(random_state=seed), {"C": FEW_COSTS}, seed)


@nested
def instance_mi_svm(seed: int) -> Any:
    """mi-SVM."""
    return chosen(InstanceMISVC(random_state=seed), {"C": FEW_COSTS}, seed)


@nested
def miss_svm(seed: int) -> Any:
    """MissSVM."""
    return chosen(MissSVC(random_state=seed), {"C": FEW_COSTS}, seed)


@nested
def sparse_svm(seed: int) -> Any:
    """SVM for sparse positive bags (sbMIL)."""
    return chosen(SparseMISVC(), {"C": [1.0, 10.0]}, seed)


@nested
def apr(seed: int) -> Any:
    """Iterated-discrim APR."""
    return chosen(APRClassifier(), {"margin": [1.0, 2.0]}, seed)


# --------------------------------------------------------------------------------------------- bag kernels


@nested
def set_kernel(seed: int) -> Any:
    """Set kernel."""
    return kernel_machine(("set",), seed)


@nested
def graph_kernel(seed: int) -> Any:
    """Set kernel, graph weights (miGraph)."""
    return kernel_machine(("graph",), seed)


@nested
def minimax_kernel(seed: int) -> Any:
    """Minimax kernel."""
    return kernel_machine(("minimax",), seed)


@nested
def kernels_mean(seed: int) -> Any:
    """Mean of set, graph and minimax kernels."""
    return kernel_machine(("set", "graph", "minimax"), seed)


# --------------------------------------------------------------------------------- neighbors, prototypes


@nested
def citation_knn(seed: int) -> Any:
    """Citation-kNN."""
    return chosen(CitationKNNClassifier(), {"metric": ["minimal", "mean_min"]}, seed)


@nested
def bayesian_knn(seed: int) -> Any:
    """Bayesian-kNN."""
    return chosen(BayesianKNNClassifier(), {"metric": ["minimal", "mean_min"]}, seed)


@nested
def mind(seed: int) -> Any:
    """Distances to training bags (MInD), logistic regression."""
    return make_pipeline(DissimilarityEmbedding(random_state=seed), StandardScaler(), logistic(seed))


@nested
def miles(seed: int) -> Any:
    """MILES."""
    return chosen(MILESClassifier(random_state=seed), {"C": [0.5, 2.0, 8.0]}, seed)


@nested
def dd_svm(seed: int) -> Any:
    """DD-SVM, 10 starts per class."""
    targets = PrototypeEmbedding(
        DiverseDensity(n_init=10, random_state=seed), output="distance", random_state=seed
    )
    return make_pipeline(targets, StandardScaler(), machine(seed))


@nested
def attention(seed: int) -> Any:
    """Gated attention network."""
    return AttentionMILClassifier(random_state=seed)


# ---------------------------------------------------------------------- embeddings and single instances


@nested
def fisher(seed: int) -> Any:
    """Fisher vectors (miFV), logistic regression."""
    return make_pipeline(FisherEmbedding(random_state=seed), logistic(seed))


@nested
def vlad(seed: int) -> Any:
    """VLAD (miVLAD), logistic regression."""
    return make_pipeline(VLADEmbedding(random_state=seed), logistic(seed))


@nested
def tree(seed: int) -> Any:
    """Tree (TLC), cross-fitted, logistic regression."""
    return make_pipeline(
        TreeEmbedding(cross_fit=True, random_state=seed),
        LogisticRegression(C=0.01, max_iter=5000),
    )


@nested
def clusters(seed: int) -> Any:
    """Clusters, TF-IDF, SVC (kmeans-SVM)."""
    embedding = ClusterEmbedding(50, counts=True, norm="tfidf", scale="standard", random_state=seed)
    return make_pipeline(embedding, machine(seed))


@nested
def single_logistic(seed: int) -> Any:
    """Copied labels, logistic regression."""
    inside = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    grid = {"estimator__logisticregression__C": [0.001, 0.01, 0.1, 1.0]}
    return chosen(SingleInstanceClassifier(inside), grid, seed)


@nested
def single_forest(seed: int) -> Any:
    """Copied labels, random forest."""
    return SingleInstanceClassifier(RandomForestClassifier(100, random_state=seed))


@nested
def boosting_or(seed: int) -> Any:
    """Gradient boosting, or rule (MILBoost)."""
    return MIGradientBoostingClassifier("or", n_estimators=50, random_state=seed)


@nested
def boosting_log_odds(seed: int) -> Any:
    """Gradient boosting, mean log-odds."""
    return MIGradientBoostingClassifier("log_odds_mean", n_estimators=50, random_state=seed)


@nested
def boosting_exponential(seed: int) -> Any:
    """Gradient boosting, exponential loss (MIBoosting)."""
    return MIGradientBoostingClassifier("mean", loss="exponential", n_estimators=50, random_state=seed)


# ------------------------------------------------------------------------------------------------- ensemble


@nested
def ensemble(seed: int) -> Any:
    """Ensemble of six families (BagEnsembleClassifier)."""
    return BagEnsembleClassifier(random_state=seed)


@nested
def ensemble_standard(seed: int) -> Any:
    """Ensemble of the standard assumption."""
    return BagEnsembleClassifier(assumption="standard", random_state=seed)


# ---------------------------------------------------------------------------------------- ranks and scaling


@nested
def statistics_standard(seed: int) -> Any:
    """Minima and maxima, standardized, SVC."""
    return make_pipeline(BagStatistics(scale="standard"), StandardScaler(), machine(seed))


@nested
def statistics_rank(seed: int) -> Any:
    """Minima and maxima of ranks, SVC."""
    return make_pipeline(BagStatistics(scale="rank"), StandardScaler(), machine(seed))


@nested
def statistics_ranked(seed: int) -> Any:
    """Ranks of minima and maxima, SVC."""
    return make_pipeline(BagStatistics(), RankScaler(), machine(seed))
