"""Names of the two classes: models are fitted to True and False, and the output shows the original labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
        """Return the class names for the labels True and False."""
        import numpy as np

        return np.where(y, self.positive, self.negative)


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
