"""Every pair of an exception class and a code that the package builds, read from its source.

A code is a literal, or comes in by one of these ways:
    a parameter `code` of a function: the literals that its callers pass
    the code of a caught error, or of an annotated parameter: all codes of that class
    an f-string with the kind of an `Enclosure`: one code for each kind in `DIALECTS`
Any other way is reported in `Codes.unresolved`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from glacierbase import errors
from glacierbase.sql.dialects import DIALECTS

PACKAGE = Path(errors.__file__).parent.parent
CODE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")

TREE = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
# Classes that carry a code to the function that knows the file's name, each with the class that this function names. They are
# not in the tree of exceptions, since users never see them.
CARRIERS = {"FileRefused": "FileRefused", "Misread": "MisreadText"}
ENCLOSED = {each.name.upper() for dialect in DIALECTS.values() for each in dialect.enclosures} | {"BLOCK"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class _Maker:
    """A function that builds an error with the code that it is given."""

    name: str
    path: Path
    kinds: frozenset[str]
    position: int


@dataclass
class Codes:
    """What was found."""

    pairs: set[tuple[str, str]] = field(default_factory=set)
    unresolved: list[str] = field(default_factory=list)


def raised(package: Path = PACKAGE) -> Codes:
    """Return all pairs of the name of a class and a code."""
    paths = [path for path in package.rglob("*.py") if path.parent.name != "errors" or path.name == "__init__.py"]
    modules = {path: ast.parse(path.read_text()) for path in paths}
    scan = _Scan(modules)
    codes = Codes()
    for path, module in modules.items():
        codes.pairs |= {("GlacierbaseError", code) for code in _printed(module)}
        for owner, function, call in _calls(module):
            for kind, code in scan.built(path, owner, function, call):
                if code is None:
                    codes.unresolved.append(f"{path.relative_to(package)}:{call.lineno} {ast.unparse(call)[:80]}")
                else:
                    codes.pairs.add((kind, code))
    every = codes.pairs
    codes.pairs = {(kind, code) for kind, code in every if kind in TREE and code not in CARRIERS}
    for kind, carrier in every:
        if carrier in CARRIERS:
            codes.pairs |= {(kind, code) for carries, code in every if carries == carrier}
    return codes


def _printed(module: ast.Module) -> set[str]:
    """Codes that are printed without an exception."""
    texts = (node.value for node in ast.walk(module) if isinstance(node, ast.Constant))
    return {
        found for text in texts if isinstance(text, str) for found in re.findall(rf"^error: ({CODE.pattern}):", text)
    }


def _calls(
    node: ast.AST, owner: str = "", function: Function | None = None
) -> Iterator[tuple[str, Function | None, ast.Call]]:
    """All calls, each with the class and the innermost function that it is in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield owner, function, child
        yield from _calls(
            child,
            child.name if isinstance(child, ast.ClassDef) else owner,
            child if isinstance(child, Function) else function,
        )


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


class _Scan:
    def __init__(self, modules: dict[Path, ast.Module]) -> None:
        self._makers: list[_Maker] = []
        # A maker may call another one, which was not yet seen as such.
        while found := [maker for maker in self._found(modules) if maker not in self._makers]:
            self._makers += found

    def _found(self, modules: dict[Path, ast.Module]) -> Iterator[_Maker]:
        for path, module in modules.items():
            for _, function, call in _calls(module):
                names = [each.arg for each in function.args.args] if function else []
                kinds, code = self._built_by(path, function, call)
                if function and kinds and isinstance(code, ast.Name) and code.id == "code" and "code" in names:
                    is_method = names[0] == "self"
                    yield _Maker(function.name, path, kinds, names.index("code") - is_method)

    def built(
        self, path: Path, owner: str, function: Function | None, call: ast.Call
    ) -> Iterator[tuple[str, str | None]]:
        """The pairs that a call builds; None in place of a code that cannot be read."""
        if ast.unparse(call.func) == "super().__init__" and owner in TREE:
            kinds, code = frozenset({owner}), call.args[0] if call.args else None
            if not isinstance(code, ast.Constant):
                return  # It hands on what it was given.
        else:
            kinds, code = self._built_by(path, function, call)
        for kind in kinds:
            for each in _codes(code, function):
                yield kind, each

    def _built_by(
        self, path: Path, function: Function | None, call: ast.Call
    ) -> tuple[frozenset[str], ast.expr | None]:
        """The classes that a call builds, and its argument for the code."""
        name = _called(call)
        if name in CARRIERS or (
            name in TREE and not issubclass(TREE[name], (errors.EngineError, errors.SeveralErrors))
        ):
            return frozenset({name}), call.args[0] if call.args else None
        if kinds := _chosen(function, call):
            return kinds, call.args[0]
        for near in (path, path.parent):
            for maker in self._makers:
                if maker.name == name and near in (maker.path, maker.path.parent) and len(call.args) > maker.position:
                    return maker.kinds, call.args[maker.position]
        return frozenset(), None


def _chosen(function: Function | None, call: ast.Call) -> frozenset[str]:
    """The classes among which a variable is chosen that is called with another error's code."""
    is_code = bool(call.args) and isinstance(call.args[0], ast.Attribute) and call.args[0].attr == "code"
    if function is None or not is_code or not isinstance(call.func, ast.Name) or call.func.id[0].isupper():
        return frozenset()
    named = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return frozenset(named & set(TREE))


def _codes(code: ast.expr | None, function: Function | None) -> Iterator[str | None]:
    if isinstance(code, ast.Constant) and isinstance(code.value, str):
        yield code.value if CODE.fullmatch(code.value) else None
    elif isinstance(code, ast.JoinedStr) and ast.unparse(code).startswith("f'UNTERMINATED_{"):
        yield from (f"UNTERMINATED_{kind}" for kind in sorted(ENCLOSED))
    elif isinstance(code, ast.Name) and code.id == "code":
        return  # A maker: its callers say which.
    elif isinstance(code, ast.Attribute) and code.attr == "code" and function is not None:
        yield from (carrier for carrier, named in CARRIERS.items() if named in ast.unparse(function))
        # The code of another error of the tree is that one's.
    elif isinstance(code, ast.Subscript):
        return  # From the process that renders a stranger's files: the same codes.
    else:
        yield None
