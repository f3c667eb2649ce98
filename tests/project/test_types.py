"""All public functions and fitted attributes have type annotations for type checkers and editors."""

from __future__ import annotations

import inspect
import re

import bagwise

PUBLIC = sorted(bagwise._WHERE)


def own_functions(thing):
    """Yield a function itself, or the constructor and public methods of a class that bagwise defines."""
    if not inspect.isclass(thing):
        yield thing
        return
    for name, member in inspect.getmembers(thing):
        member = member.fget if isinstance(member, property) else member
        if not callable(member) or (name.startswith("_") and name != "__init__"):
            continue
        # `available_if` replaces a method by a descriptor; unwrap returns the method.
        function = inspect.unwrap(getattr(member, "__func__", member))
        if inspect.isfunction(function) and function.__module__.startswith("bagwise."):
            yield function


def lacks(function):
    """Return the parameters of a function without a type, and its return value if it has no type."""
    annotations = function.__annotations__
    parameters = list(inspect.signature(function).parameters)
    is_method = "." in function.__qualname__.replace("<locals>.", "")
    unknown = [name for name in parameters[is_method:] if name not in annotations]
    if function.__name__ != "__init__" and "return" not in annotations:
        unknown.append("return value")
    return [f"{function.__qualname__}: {name}" for name in unknown]


def test_every_public_parameter_and_result_has_a_type():
    functions = [function for name in PUBLIC for function in own_functions(getattr(bagwise, name))]
    assert len(functions) > 400
    assert not sorted({gap for function in functions for gap in lacks(function)})


def test_a_gap_is_reported():
    class Model:
        def __init__(self, alpha):
            """Store."""

        def fit(self, X: object, y=None) -> None:
            """Learn."""

    def compute(a: int, b):
        """Compute."""

    assert [gap.split(": ")[1] for gap in lacks(Model.__init__) + lacks(Model.fit)] == ["alpha", "y"]
    assert [gap.split(": ")[1] for gap in lacks(compute)] == ["b", "return value"]


def fitted_attributes(cls):
    """Return the fitted attributes that a class docstring lists."""
    section = re.search(
        r"Attributes\n-+\n(.*?)(?:\n\n[A-Z]\w+(?: \w+)?\n-+\n|\Z)", inspect.getdoc(cls) or "", re.S
    )
    lines = re.findall(r"^(\w+_(?:, \w+_)*) :", section[1], flags=re.M) if section else []
    return [name for line in lines for name in line.split(", ")]


# scikit-learn sets these attributes.
THEIRS = {"n_features_in_", "feature_names_in_"}


def attributes_without_type(cls):
    """Return the fitted attributes of a docstring that neither the class nor its bases declare."""
    declared = {name for base in cls.__mro__ for name in inspect.get_annotations(base)} | THEIRS
    return [
        f"{cls.__name__}.{name}"
        for name in fitted_attributes(cls)
        if name not in declared and not hasattr(cls, name)
    ]


def test_every_fitted_attribute_of_a_docstring_has_a_type():
    classes = [thing for name in PUBLIC if inspect.isclass(thing := getattr(bagwise, name))]
    assert len(classes) > 50
    assert not [gap for cls in classes for gap in attributes_without_type(cls)]


def test_fitted_attributes_are_found_in_a_docstring():
    assert {"lower_", "upper_", "n_rounds_"} <= set(fitted_attributes(bagwise.APRClassifier))
