"""Model files of released versions, with the predictions of the models in them.

``tests/persist/files_of_0_2_0/`` has one file per estimator, rule, family and wrapper, written by bagwise
0.2.0 and compressed by xz. ``bags.npz`` holds the instances, ``predictions.npz`` the predictions.
To add the files of a release, check out that release, copy this module into its ``tests/persist/``, and run
``python -m tests.persist.stored_models tests/persist/files_of_X_Y_Z`` there.
"""

import lzma
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import bagwise
from bagwise import Bags, MILogisticRegression, MIMixture, Sequences
from bagwise.families import FAMILIES
from bagwise.testing import all_estimators, all_rules, example_of

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "predict_instances",
    "predict_proba_instances",
    "decision_function_instances",
    "transform",
)
N_TRAIN, N_NEW = 30, 6
FAMILIES_OF_ENSEMBLES = [
    "extremes",
    "moments",
    "sets",
    "distances",
    "prototypes",
    "ranks",
    "linear",
    "instances",
    "witnesses",
    "trees",
]


def draw():
    """Draw instances, offsets and labels of training bags and test bags."""
    data = bagwise.make_noisy_or_bags(
        N_TRAIN + N_NEW, size=(2, 4), coef=[2.0, -2.0, 0.0], intercept=-1.0, random_state=7
    )
    return {"instances": data.bags.instances, "offsets": data.bags.offsets, "y": data.y}


class StoredBags:
    """Bags of a folder in every form that models read; the first ones are for training."""

    def __init__(self, arrays):
        self.y = arrays["y"][:N_TRAIN]
        real = Bags(arrays["instances"], arrays["offsets"])
        self.real = real
        self.signs = real.with_instances((real.instances > 0).astype(float))
        symbols = (np.abs(real.instances) > 0.7).astype(int) + (real.instances > 0)
        self.sequences = Bags(Sequences.from_list(list(symbols)), real.offsets)
        kernel = bagwise.instance_kernel(real[:N_TRAIN], gamma=0.5)
        self.kernel = (kernel, bagwise.instance_kernel(real[N_TRAIN:], real[:N_TRAIN], gamma=0.5))
        self.indices = np.arange(len(real))[:, None]

    def train_and_new(self, form):
        """Return the training bags and the test bags."""
        if form == "kernel":
            return self.kernel
        if form == "training indices":
            return self.indices[:N_TRAIN], self.indices[:6]
        bags = getattr(self, form)
        return bags[:N_TRAIN], bags[N_TRAIN:]


def form_of(name):
    """Return the form of bags that a model reads, by the name of the model."""
    if name in ("family-bernoulli", "family-categorical"):
        return "signs"
    if name == "family-markov":
        return "sequences"
    if name == "ByIndex-kernel-bags":
        return "training indices"
    return "kernel" if name.startswith("kernel-bags") else "indices" if name.startswith("ByIndex") else "real"


def models(bags):
    """Return every model by name, with the labels it is fitted to."""
    y, three = bags.y, np.arange(N_TRAIN) % 3
    linear = MILogisticRegression(n_init=1, random_state=0)
    made = {cls.__name__: (example_of(cls), y) for cls in all_estimators()}
    made["BagEnsembleClassifier"] = (
        bagwise.BagEnsembleClassifier(families=[*FAMILIES_OF_ENSEMBLES], cv=2, random_state=0),
        y,
    )
    made["OneVsOneBagClassifier"] = (bagwise.OneVsOneBagClassifier(linear), three)
    label_sets = np.column_stack([y, np.ones(N_TRAIN, dtype=int), 1 - y])
    made["MultiLabelBagClassifier"] = (bagwise.MultiLabelBagClassifier(linear), label_sets)
    made["MIMLLogisticRegression"] = (
        bagwise.MIMLLogisticRegression(n_init=1, random_state=0),
        label_sets[:, :2],
    )
    made["MissSVC-three-classes"] = (bagwise.MissSVC(), three)
    for cls in all_rules():
        rule = cls(2) if cls.__name__ == "Threshold" else cls()
        model = MILogisticRegression(rule, alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0)
        made[f"rule-{cls.__name__}"] = (model, y)
    for family in sorted(FAMILIES):
        made[f"family-{family}"] = (MIMixture(family, n_init=1, random_state=0), y)
    made["mixture-calibrated"] = (MIMixture(calibrate=True, n_init=1, random_state=0), y)
    made["maximum-likelihood"] = (MILogisticRegression(alpha=0.0, n_init=1, random_state=0), y)
    made["scale-rank"] = (MILogisticRegression(scale="rank", n_init=1, random_state=0), y)
    made["kernel-mean"] = (bagwise.SetKernelSVC(bag_kernel=bagwise.mean_kernel(["set", "mean"])), y)
    made["kernel-bags"] = (bagwise.MISVC(kernel="precomputed"), y)
    made["kernel-bags-three-classes"] = (bagwise.MissSVC(kernel="precomputed"), three)
    made["ByIndex"] = (bagwise.ByIndex(linear, bags.real), y)
    made["ByIndex-kernel-bags"] = (bagwise.ByIndex(bagwise.MISVC(kernel="precomputed"), bags.kernel[0]), y)
    markov = MIMixture("markov", n_init=1, random_state=0)
    made["ByIndex-sequences"] = (bagwise.ByIndex(markov, bags.sequences), y)
    made["prior-FraleyRaftery"] = (
        MIMixture(prior=bagwise.FraleyRaftery(kappa=0.1), n_init=1, random_state=0),
        y,
    )
    made["ClassPriorEstimator"] = (bagwise.ClassPriorEstimator(random_state=0), y)
    ratio = bagwise.ClassPriorEstimator(method="ratio", random_state=0)
    made["ClassPriorEstimator-ratio"] = (ratio, y)
    instances = bagwise.ClassPriorEstimator(level="instance", n_centers=5, random_state=0)
    made["ClassPriorEstimator-instances"] = (instances, y)
    made["RankScaler"] = (bagwise.RankScaler(), y)
    pipeline = bagwise.make_bag_pipeline(bagwise.OnInstances(PCA(2, random_state=0)), linear)
    made["BagPipeline"] = (pipeline, y)
    made["search"] = (GridSearchCV(linear, {"alpha": [1.0, 2.0]}, scoring="roc_auc", cv=2), y)
    pu = bagwise.PUSetKernelClassifier(class_prior=0.3)
    made["search-pu"] = (GridSearchCV(pu, {"degree": [1]}, scoring=bagwise.make_pu_scorer(0.3), cv=2), y)
    made["calibrated"] = (CalibratedClassifierCV(linear, cv=2), y)
    made["statistics-logistic"] = (make_pipeline(bagwise.BagStatistics(), LogisticRegression()), y)
    return made


def predictions(model, bags):
    """Return the predictions of all methods of a model."""
    result = {}
    for method in METHODS:
        if hasattr(model, method):
            values = getattr(model, method)(bags)
            result[method] = np.asarray(getattr(values, "instances", values))
    if hasattr(model, "class_prior_"):
        result["class_prior_"] = np.asarray(model.class_prior_)
    return result


def write(folder):
    """Fit and save every model, and store its predictions."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = draw()
    np.savez_compressed(folder / "bags.npz", **arrays)
    bags, stored = StoredBags(arrays), {}
    for name, (model, y) in models(bags).items():
        train, new = bags.train_and_new(form_of(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(model)
            if name == "RankScaler":
                train, new = train.instances, new.instances
            model.fit(train, y)
            path = bagwise.save(model, folder / f"{name}.bagwise")
            path.with_suffix(".bagwise.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
            path.unlink()
            for method, values in predictions(model, new).items():
                stored[f"{name}/{method}"] = values
    np.savez_compressed(folder / "predictions.npz", **stored)


if __name__ == "__main__":
    write(sys.argv[1])
