"""An interrupted fit on a cluster resumes from its checkpoint, on the cluster or locally."""

import numpy as np
import pytest

from bagwise import MILogisticRegression, MIMixture
from bagwise.persist.checkpoints.store import Store

pytestmark = pytest.mark.study


class CutOffError(Exception):
    """Raised to interrupt a fit."""


@pytest.mark.parametrize("after", ["on the cluster", "on one machine"])
@pytest.mark.parametrize(
    ("model", "last"),
    [
        (MILogisticRegression(l1_ratio=0.0, n_init=2, random_state=0), 40),
        (MIMixture(n_init=2, random_state=0), 12),
    ],
    ids=["ridge", "mixture"],
)
def test_a_fit_on_a_cluster_goes_on(client, scan, model, last, after, monkeypatch, tmp_path):
    path, put, n = tmp_path / "fit", Store.put, [0]

    def few(store, *args, **kwargs):
        n[0] += 1
        if n[0] >= last:
            raise CutOffError
        put(store, *args, **kwargs)

    whole = model.fit(scan, scan.y).objective_history_
    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", few)
        with pytest.raises(CutOffError):
            model.fit(scan.on(client), scan.y, checkpoint=path)
    assert path.exists()
    model.fit(scan.on(client) if after == "on the cluster" else scan, scan.y, checkpoint=path)
    if isinstance(model, MIMixture):
        np.testing.assert_array_equal(model.objective_history_, whole)
    else:
        np.testing.assert_allclose(model.objective_, whole[-1], rtol=1e-7)
    assert not path.exists()
