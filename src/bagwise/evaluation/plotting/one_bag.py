"""What a model says of the instances of one bag, for pictures of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise.data.bags import Bags, as_bags, index_of, is_scan
from bagwise.data.bags.parts import as_python
from bagwise.models.wrappers.instance_level import bag_predictions, instance_predictions, label_names


class OneBag(NamedTuple):
    """One bag, and what is said of it.

    `kind` is "probability" or "score", `values` are those of its instances for the class or label that is
    `called` so, and `title` says what is said of the bag.
    """

    bag: Bags
    kind: str
    values: np.ndarray
    called: str
    title: str

    @property
    def value_label(self) -> str:
        """What the values are, for an axis or a colour bar."""
        return f"P(instance is {self.called})" if self.kind == "probability" else f"score for {self.called}"


def say_of_one(model: Any, bags: Any, id: Any, label: Any = None) -> OneBag:
    """Look a bag up by its id, and ask a model about its instances.

    Parameters
    ----------
    model : fitted estimator
        As `instance_frame` takes it.
    bags : Bags or ScannedBags
        The bags, of which one is read.
    id : object
        The id of the bag, or its number if bags have no ids.
    label : object, optional
        Of many classes, the one to speak of, by default the one that is predicted; of several labels a bag,
        the label, which must be given.
    """
    bags = bags if is_scan(bags) else as_bags(bags)
    place = index_of(bags.ids, id)
    bag = bags[[place]]
    bag = bag.load() if is_scan(bag) else bag
    kind, values = instance_predictions(model, bag)
    of_bag = bag_predictions(model, bag, rather=kind)
    names = label_names(model)
    classes = [as_python(name) for name in (model.classes_ if names is None else names)]
    if values.ndim == 1:
        chosen = len(classes) - 1
        about = None if of_bag is None else of_bag[1][0]
    else:
        if label is None and names is not None:
            raise ValueError(f"a bag may have several labels; say which by label=, one of {classes}.")
        if label is None:
            label = classes[int(of_bag[1][0].argmax())] if of_bag is not None else model.predict(bag)[0]
        if label not in classes:
            raise ValueError(f"label={label!r} is none of those that the model knows, {classes}.")
        chosen = classes.index(label)
        values = values[:, chosen]
        about = None if of_bag is None else of_bag[1][0, chosen]
    called = str(classes[chosen])
    title = f"bag {as_python(bags.ids[place])}"
    if of_bag is not None:
        said = f"P({called})" if of_bag[0] == "probability" else f"score for {called}"
        title += f": {said} = {about:.3g}"
    return OneBag(bag, kind, np.asarray(values, dtype=np.float64), called, title)
