"""Model files that an attacker has forged."""

import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from tests.persist.models import DATA, SPARSE, forge, round_trip

from bagwise import (
    DiverseDensity,
    MILogisticRegression,
    MIMixture,
    SetKernelSVC,
    load,
    save,
)


class TestForged:
    """Forged files with a valid checksum."""

    def test_code_is_not_run(self, fitted, tmp_path):
        def evil(members):
            schema = json.loads(members["schema.json"])
            schema["content"]["content"]["coef_"] = {
                "__class__": "system",
                "__module__": "os",
                "__loader__": "FunctionNode",
                "__id__": 1,
            }
            members["schema.json"] = json.dumps(schema)

        path = forge(save(fitted, tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"model\.bagwise' contains 'os\.system', which may not be safe"):
            load(path)

    def test_numpys_functions_are_not_known_either(self, fitted, tmp_path):
        def evil(members):
            schema = json.loads(members["schema.json"])
            node = schema["content"]["content"]["coef_"]
            node.update({"__class__": "add", "__module__": "numpy", "__loader__": "FunctionNode"})
            members["schema.json"] = json.dumps(schema)

        path = forge(save(fitted, tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"contains 'numpy.add', which may not be safe"):
            load(path)

    def test_compressed_parts_which_may_be_bombs_are_refused(self, fitted, tmp_path):
        path = forge(save(fitted, tmp_path / "model.bagwise"), lambda members: zipfile.ZIP_DEFLATED)
        with pytest.raises(
            ValueError, match=r"model\.bagwise' has an unreadable archive.*: an entry is compressed"
        ):
            load(path)

    def test_sparse_matrices_that_point_outside_are_refused(self, tmp_path):
        def evil(members):
            name = next(name for name in members if name.endswith(".npz"))
            matrix = sp.load_npz(io.BytesIO(members[name]))
            matrix.indices[0] = 10**6
            buffer = io.BytesIO()
            sp.save_npz(buffer, matrix)
            members[name] = buffer.getvalue()

        path = forge(save(SetKernelSVC().fit(SPARSE, DATA.y), tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"model\.bagwise' has an unreadable archive: .*ind"):
            load(path)

    def test_bags_whose_offsets_point_outside_are_refused(self, tmp_path):
        def evil(members):
            for name, content in members.items():
                if name.endswith(".npy"):
                    array = np.load(io.BytesIO(content), allow_pickle=False)
                    if (
                        array.dtype == np.int64
                        and array.ndim == 1
                        and len(array) > 2
                        and array[-1] > len(array)
                    ):
                        array = array.copy()
                        array[-1] = 10**9
                        buffer = io.BytesIO()
                        np.save(buffer, array)
                        members[name] = buffer.getvalue()

        path = forge(save(SetKernelSVC().fit(DATA.bags, DATA.y), tmp_path / "model.bagwise"), evil)
        with pytest.raises(ValueError, match=r"model\.bagwise' cannot be restored: .*offsets"):
            load(path)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(
        "model",
        [
            DiverseDensity(n_init=1, random_state=0),
            MILogisticRegression(random_state=0),
            MIMixture("gaussian", n_init=1, random_state=0),
            MIMixture("gaussian_diag", n_init=1, random_state=0),
            MIMixture("gaussian_tied", n_init=1, random_state=0),
        ],
        ids=repr,
    )
    def test_parameters_of_fewer_features_are_refused(self, model, dtype, tmp_path):
        """Otherwise, code would read beyond arrays; models have no scalers, which check shapes themselves."""
        bags = DATA.bags.with_instances(DATA.bags.instances.astype(dtype))
        model = clone(model).set_params(**({"scale": None} if "scale" in model.get_params() else {}))
        narrow = bags.with_instances(bags.instances[:, :1])
        forged = clone(model).fit(narrow, DATA.y)
        forged.n_features_in_ = bags.n_features
        again = round_trip(forged, tmp_path)
        with pytest.raises(ValueError, match=r"is damaged|mismatch|incompatible"):
            again.predict(bags)

    def test_a_schema_of_nonsense_is_a_sentence(self, fitted, tmp_path):
        path = save(fitted, tmp_path / "model.bagwise")
        for nonsense in ("[]", "{}", "", "[" * 100_000, '{"__class__": 1, "__module__": 2}'):
            forge(path, lambda members, text=nonsense: members.update({"schema.json": text}))
            with pytest.raises(ValueError, match=r"model\.bagwise"):
                load(path)
