"""One adapter a library: how it solves the problems that it can solve.

An adapter is a module with a ``PACKAGE``, whose version is printed, and a dict ``SOLVERS``: for every kind of
problem, named solvers. A solver takes the data of the problem and returns the solution, whatever the problem
says that is; it imports its library inside, so that memory counts only what it needs.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def adapters() -> dict[str, ModuleType]:
    """All adapters by the name of their module; ours first."""
    names = sorted((found.name for found in iter_modules(__path__)), key=lambda name: (name != "ours", name))
    return {name: import_module(f"{__name__}.{name}") for name in names}
