from bagwise._numba.compiling import forget_stale_code


def test_machine_code_is_forgotten_when_any_source_changes_and_kept_otherwise(tmp_path):
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    (tmp_path / "helper.py").write_text("x = 1")
    forget_stale_code(tmp_path)
    code = cache / "kernel.f-1.py311.nbi"
    code.write_bytes(b"machine code")
    forget_stale_code(tmp_path)
    assert code.exists()
    (tmp_path / "helper.py").write_text("x = 2")
    forget_stale_code(tmp_path)
    assert not code.exists()
