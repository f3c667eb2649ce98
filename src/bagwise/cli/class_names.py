"""Names of the two classes: models are fitted to True and False, output shows the original labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import CommandError
from bagwise.cli.data import find_label

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ClassNames:
    """Names of the negative and the positive class.

    Attributes
    ----------
    positive, negative : str
        The names; the negative one is, for example, "not active" if there are several other labels.
    """

    positive: str
    negative: str

    def of_labels(self, y: np.ndarray) -> np.ndarray:
        """Return the class names of labels True and False."""
        import numpy as np

        return np.where(y, self.positive, self.negative)


def choose_positive(
    y: np.ndarray, positive: str | None, *, takes_many: bool
) -> tuple[Any, ClassNames | None]:
    """Return the labels to fit, and the class names; None if the labels are fitted as they are.

    Two text labels need `positive`, because their alphabetical order has no meaning. With more than two
    labels, `positive` is needed unless the model supports several classes. For numeric and boolean labels,
    the larger one is positive.
    """
    import numpy as np

    classes = np.unique(y)
    if positive is not None:
        label = find_label(y, positive)
        others = [other for other in classes.tolist() if other != label]
        return y == label, ClassNames(str(label), str(others[0]) if len(others) == 1 else f"not {label}")
    if len(classes) > 2 and takes_many:
        return y, None
    shown = ", ".join(repr(label) for label in classes[:8].tolist())
    if len(classes) > 2:
        raise CommandError(
            f"there are {len(classes)} labels, {shown}, but this model has two classes: choose the positive "
            "label with --positive, or use --model misssvm."
        )
    if classes.dtype.kind not in "biuf":
        raise CommandError(f"the labels are {shown}: choose the positive one with --positive.")
    return y, None


class RelabelledModel:
    """Wrapper of a model fitted to False and True that predicts the original labels.

    Everything except labels is passed through from the model.

    Parameters
    ----------
    model : fitted classifier
        A classifier whose ``classes_`` are False and True.
    class_names : ClassNames
        The names of the two classes.
    """

    classes_: np.ndarray

    def __init__(self, model: Any, class_names: ClassNames):
        import numpy as np

        self.model = model
        self.classes_ = np.array([class_names.negative, class_names.positive])

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not set yet during copying
            raise AttributeError(name)
        return getattr(self.model, name)

    def _as_names(self, labels: Any) -> Any:
        import numpy as np

        return self.classes_[np.asarray(labels).astype(int)]

    def predict(self, X: Any) -> Any:
        """Predict the labels of bags, as class names."""
        return self._as_names(self.model.predict(X))
