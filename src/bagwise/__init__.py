"""bagwise: multiple-instance learning, the scikit-learn way.

Learn from labelled *bags* of unlabelled *instances*: molecules and their shapes, slides and their
patches, recordings and their calls. Every public name imports from here; the module that holds it is
loaded on first use, so ``import bagwise`` itself costs next to nothing.
"""

from bagwise._version import __version__

# Public names by the module they live in. `__init__.pyi` says the same to type checkers.
_ROOMS = {
    "bags": ["Bags"],
    "datasets": [
        "augment_bags",
        "load_digit_bags",
        "make_count_bags",
        "make_mixture_bags",
        "make_noisy_or_bags",
        "make_positive_unlabeled",
    ],
    "embedding": ["BagStatistics"],
    "exceptions": ["PositiveClassWarning", "VersionWarning"],
    "io": ["instance_frame", "key_instances", "load_npz", "save_npz"],
    "linear_model": ["MILogisticRegression"],
    "multiclass": ["ByIndex", "OneVsOneBagClassifier"],
    "pipeline": ["BagPipeline", "OnInstances", "make_bag_pipeline"],
    "rules": ["GeometricMean", "Link", "Max", "Mean", "Or", "Rule", "SoftMax"],
    "single_instance": ["SingleInstanceClassifier"],
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
