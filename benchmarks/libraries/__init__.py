"""Adapters for the libraries, one module per library.

An adapter is a module with a ``PACKAGE``, whose version is printed, and a dict ``SOLVERS`` with named solvers
for every kind of problem. A solver takes the data of the problem and returns the solution in the format of
the problem. It imports its library inside the function, so that the measured memory includes only this
library.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def adapters() -> dict[str, ModuleType]:
    """Return all adapters by module name; ours first."""
    names = sorted(
        (module.name for module in iter_modules(__path__)), key=lambda name: (name != "ours", name)
    )
    return {name: import_module(f"{__name__}.{name}") for name in names}
