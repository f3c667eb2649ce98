"""Write `bagwise/__init__.pyi`: type checkers need it, because `bagwise/__init__.py` imports lazily."""

import sys
from pathlib import Path

import bagwise

HEAD = """\
# Written by `make format` (tools/write_stub.py) from the names in __init__.py.
# ruff: noqa: I001
from bagwise._version import __version__ as __version__
"""


def stub() -> str:
    """Return the text of the stub: one import per public name, grouped by package."""
    imports = [
        f"from bagwise.{module} import {name} as {name}\n"
        for module, names in bagwise._PUBLIC.items()
        for name in names
    ]
    modules = [f"from bagwise import {module} as {module}\n" for module in bagwise._MODULES]
    return HEAD + "".join(modules + imports) + "\n__all__: list[str]\n"


if __name__ == "__main__":
    path = Path(bagwise.__file__).with_suffix(".pyi")
    if "--check" in sys.argv:
        sys.exit(0 if path.read_text() == stub() else f"{path} is out of date; run `make format`.")
    path.write_text(stub())
