"""Labels in the words in which they came: models learn True and False, people read active and inactive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import CommandError
from bagwise.cli.data import find_label

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ClassNames:
    """What the two classes are called.

    Attributes
    ----------
    positive, negative : str
        The words; "not active" where the other labels are several.
    """

    positive: str
    negative: str

    def of_labels(self, y: np.ndarray) -> np.ndarray:
        """Give the words of True and False."""
        import numpy as np

        return np.where(y, self.positive, self.negative)


def choose_positive(
    y: np.ndarray, positive: str | None, *, takes_many: bool
) -> tuple[Any, ClassNames | None]:
    """Give the labels to learn from, and their words; None for labels that stand for themselves.

    Text is no order: without `positive` it is refused, unless there are many classes and the model takes
    them. Numbers and truth values have one, the greater is positive.
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
            f"there are {len(classes)} labels, {shown}, and this model tells two classes apart: say which is "
            "positive by --positive, or take --model misssvm."
        )
    if classes.dtype.kind not in "biuf":
        raise CommandError(f"the labels are {shown}: say which of them is positive, by --positive.")
    return y, None


class RelabelledModel:
    """A fitted model of True and False that answers in words.

    Everything but labels is what the model says.

    Parameters
    ----------
    model : fitted classifier
        With ``classes_`` False and True.
    words : ClassNames
        What they are called.
    """

    classes_: np.ndarray

    def __init__(self, model: Any, words: ClassNames):
        import numpy as np

        self.model = model
        self.classes_ = np.array([words.negative, words.positive])

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not set yet, while it is copied
            raise AttributeError(name)
        return getattr(self.model, name)

    def _in_words(self, labels: Any) -> Any:
        import numpy as np

        return self.classes_[np.asarray(labels).astype(int)]

    def predict(self, X: Any) -> Any:
        """Predict the labels of bags, in words."""
        return self._in_words(self.model.predict(X))
