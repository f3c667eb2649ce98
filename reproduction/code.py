"""Keys of the code that cells run: as long as the key is unchanged, a cell computes the same result.

The key of a cell function covers:

- In ``reproduction``: the definitions that the function uses, directly or indirectly, in its module or in
  others. Cells stay valid when a report, a note or another experiment in the same file changes.
- In bagwise: all modules that these definitions import, directly or indirectly, at the top of a file or
  inside a function. These modules are covered completely. For a name that a package re-exports, only the
  module that defines it is covered.

Comments, docstrings, layout and the version number of bagwise are ignored. So are other libraries, whose
versions are on the page, and imports with a computed name. Source files are read, never executed.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple

import bagwise

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
# A release does not change results: every version is treated as the version in which cells were first stored.
_VERSION = ast.dump(ast.parse('__version__ = "0.1.0"').body[0])


class Part(NamedTuple):
    """A module, or a single definition in it."""

    module: str
    name: str = ""


class Sources:
    """The source files of two packages, the experiments and the library; each file is read once.

    Parameters
    ----------
    experiments, library : path, optional
        The folders of the packages; by default `reproduction` and `bagwise`.
    """

    def __init__(self, experiments: Path | None = None, library: Path | None = None):
        experiments = Path(__file__).parent if experiments is None else Path(experiments)
        library = Path(bagwise.__file__).parent if library is None else Path(library)
        self.experiments, self.library = experiments.name, library.name
        self.folders = {experiments.name: experiments, library.name: library}
        # Functions share code, so every part is read and parsed only once.
        self._file = cache(self._find_file)
        self._source = cache(self._read_source)
        self._uses = cache(self._find_uses)
        self._text = cache(self._normalised)

    def key(self, function: Callable[..., Any]) -> str:
        """Return the key of the code that a module-level function runs."""
        texts = [repr(part) + self._text(part) for part in sorted(self.parts(function))]
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    def parts(self, function: Callable[..., Any]) -> set[Part]:
        """Return the modules and definitions that the key of a function covers."""
        home, name = function.__module__, function.__qualname__.split(".")[0]
        if name not in self._source(home).bound:
            raise ValueError(
                f"{function!r} is not defined in the module {home!r}; "
                "use a module-level function as the cell's `run`."
            )
        parts: set[Part] = set()
        waiting = [Part(home, name)]
        while waiting:
            part = waiting.pop()
            if part.module != home and not part.module.startswith(f"{self.experiments}."):
                part = Part(part.module)
            if part not in parts:
                parts.add(part)
                waiting += self._uses(part)
        return parts

    def _normalised(self, part: Part) -> str:
        if part.module == f"{self.library}._version":
            return _VERSION
        statements = self._source(part.module).statements(part.name)
        return "".join(ast.dump(statement) for statement in statements)

    def _find_uses(self, part: Part) -> set[Part]:
        return set(self._used_by(part))

    def _used_by(self, part: Part) -> Iterator[Part]:
        source = self._source(part.module)
        if part == Part(self.library):
            yield from (Part(f"{self.library}.{module}") for module in source.public.values())
        for statement in source.statements(part.name):
            for node in ast.walk(statement):
                if isinstance(node, _IMPORTS):
                    yield from (origin for _, origin in self._imported(node, part.module))
                elif part.name and isinstance(node, ast.Name):
                    for binding in source.bound.get(node.id, ()):
                        if isinstance(binding, _IMPORTS):
                            imported = self._imported(binding, part.module)
                            yield from (origin for name, origin in imported if name == node.id)
                        else:
                            yield Part(part.module, node.id)

    def _imported(self, node: ast.AST, module: str) -> Iterator[tuple[str, Part]]:
        """Yield the names that an import binds, each with the part of the two packages that it refers to."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.split(".")[0]
                if package in self.folders:
                    yield alias.asname or package, Part(alias.name)
                    if alias.asname is None:  # binds the package
                        yield package, Part(package)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                base = module if self._is_package(module) else module.rpartition(".")[0]
                source = resolve_name("." * node.level + source, base)
            if source.split(".")[0] in self.folders:
                for alias in node.names:
                    yield alias.asname or alias.name, self._origin(source, alias.name)

    def _origin(self, module: str, name: str) -> Part:
        """Return the part that an imported name refers to."""
        if self._file(f"{module}.{name}") is not None:
            return Part(f"{module}.{name}")
        source = self._source(module)
        if self._is_package(module):
            if name in source.public:
                return self._origin(f"{module}.{source.public[name]}", name)
            for binding in source.bound.get(name, ()):
                for bound, origin in self._imported(binding, module):
                    if bound == name:
                        return origin
        return Part(module, name)

    def _read_source(self, module: str) -> _Source:
        file = self._file(module)
        if file is None:
            raise ValueError(
                f"the module {module!r} has no source file; cells can only use modules with a source file."
            )
        return _Source(file.read_text(encoding="utf-8"))

    def _is_package(self, module: str) -> bool:
        file = self._file(module)
        return file is not None and file.name == "__init__.py"

    def _find_file(self, module: str) -> Path | None:
        package, *inner = module.split(".")
        if package not in self.folders:
            file = getattr(sys.modules.get(module), "__file__", None)
            return None if file is None else Path(file)
        path = self.folders[package].joinpath(*inner)
        candidates = (path / "__init__.py", path.with_suffix(".py"))
        return next((file for file in candidates if file.is_file()), None)


class _Source:
    """A source file: its statements without docstrings, and the statements that bind each name."""

    def __init__(self, text: str):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, *_DEFINITIONS)) and ast.get_docstring(node, False) is not None:
                node.body = node.body[1:]
        self.body = tree.body
        self.bound: dict[str, list[ast.stmt]] = {}
        for statement in self.body:
            for name in _names_bound_by(statement):
                self.bound.setdefault(name, []).append(statement)
        # Statements that bind no name belong to every definition, because they can change any of them.
        self.loose = [s for s in self.body if not any(s in statements for statements in self.bound.values())]
        self.public: dict[str, str] = {}
        for statement in self.bound.get("_PUBLIC", ()):
            if isinstance(statement, ast.Assign):  # names that the package imports lazily
                for module, names in ast.literal_eval(statement.value).items():
                    self.public |= dict.fromkeys(names, module)

    def statements(self, name: str) -> list[ast.stmt]:
        """Return the statements that define a name, or all statements for an empty name."""
        return [*self.bound.get(name, ()), *self.loose] if name else self.body


def _names_bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, _IMPORTS):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return names
