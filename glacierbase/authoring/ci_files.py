"""`init --ci`: write the files with which a CI service reviews and applies the migrations of a project. Nothing is overwritten.

The files of glacierbase list the project's environments in order, its engines, and the variables that its catalog files read.
Files of the whole repository, such as CODEOWNERS, are written only where there is none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import glacierbase
from glacierbase.authoring.all_or_none import NewFiles
from glacierbase.catalogs.folder import CatalogFile, load_catalog_files
from glacierbase.errors import ConfigurationError
from glacierbase.executors import type_of
from glacierbase.run.files import FileReader, writing
from glacierbase.run.git import work_tree

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_]\w*)\}", re.ASCII)
# The context in which a GitHub workflow reads a variable of a catalog file.
_KINDS = {"env": "vars", "secret": "secrets"}
# Variables that a runner sets itself.
_OF_RUNNERS = re.compile(r"HOME|USER|PATH|PWD|CI|TMPDIR|(GITHUB|RUNNER|CI)_.*")
# Characters of a project's folder in the repository. Others are syntax of YAML, of `${{ … }}` or of CODEOWNERS, which cannot
# write them literally; beyond U+FFFF, the escapes of JSON and of YAML differ.
_FOLDER = re.compile(r"(?:(?![\U00010000-\U0010ffff])[\w /.,()'+=:\"-])*")
# The largest existing file that is read.
_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class _Shared:
    """A file of the whole repository.

    Attributes:
        places: the paths at which the service looks for it; it is written to the first one.
        line: an existing file must contain it; the result reports a missing line.
    """

    places: tuple[str, ...]
    line: str = ""


@dataclass(frozen=True, slots=True)
class _Service:
    """The files of a CI service, by the name of their template."""

    own: Mapping[str, str]
    shared: Mapping[str, _Shared]


def _everywhere(folder: str, name: str) -> tuple[str, ...]:
    return (f"{folder}/{name}", name, f"docs/{name}")


SERVICES: Mapping[str, _Service] = {
    "github": _Service(
        {
            "review.yml": ".github/workflows/glacierbase-review.yml",
            "comment.yml": ".github/workflows/glacierbase-comment.yml",
            "deploy.yml": ".github/workflows/glacierbase-deploy.yml",
            "migrate.yml": ".github/workflows/glacierbase-migrate.yml",
        },
        {
            "CODEOWNERS": _Shared(_everywhere(".github", "CODEOWNERS"), "migrations/"),
            "pull_request_template.md": _Shared(_everywhere(".github", "pull_request_template.md")),
        },
    ),
    "gitlab": _Service(
        {"glacierbase.yml": ".gitlab/ci/glacierbase.yml"},
        {
            "gitlab-ci.yml": _Shared((".gitlab-ci.yml",), "local: .gitlab/ci/glacierbase.yml"),
            "CODEOWNERS": _Shared(_everywhere(".gitlab", "CODEOWNERS"), "migrations/"),
            "merge_request_template.md": _Shared((".gitlab/merge_request_templates/Default.md",)),
        },
    ),
}


@dataclass(frozen=True, slots=True)
class CiFiles:
    """The files of `init --ci`, as paths relative to the working directory.

    Attributes:
        catalogs: the names of the project's catalogs.
        unchanged: files that existed before and lack nothing.
        incomplete: files of the repository with the line that they lack.
    """

    catalogs: tuple[str, ...]
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    incomplete: tuple[str, ...]


def write_ci_files(root: Path, service: str, new: NewFiles) -> CiFiles:
    """Write the files of a CI service at the top of the git repository that holds the project, or into the project.

    Args:
        service: one of `SERVICES`.
        new: writes the files.

    Raises:
        GlacierbaseError: a catalog file is invalid; a file exists and differs (`ALREADY_EXISTS`), or cannot be written; the files
            cannot carry the name of the project's folder (`INVALID_NAME`).
    """
    root = root.resolve()
    top = work_tree(root) or root
    catalogs = load_catalog_files(root / "catalogs", root)
    texts = dict(_texts(service, _facts(root, top, catalogs)))
    own = {top / target: texts[name] for name, target in SERVICES[service].own.items()}
    shared = {_place(top, file): (texts[name], file) for name, file in SERVICES[service].shared.items()}
    before = dict(_existing([*own, *shared], top))
    _check_same(own, before)
    for path, text in {**own, **{path: text for path, (text, _) in shared.items()}}.items():
        if path not in before:
            new.create(path, top, text)
    lacking = {path: file.line for path, (_, file) in shared.items() if file.line not in before.get(path, file.line)}
    return CiFiles(
        tuple(file.name for file in catalogs),
        _from_here(path for path in (*own, *shared) if path not in before),
        _from_here(path for path in before if path not in lacking),
        tuple(f"{os.path.relpath(path)} has no `{line}`" for path, line in lacking.items()),
    )


def _facts(root: Path, top: Path, catalogs: Sequence[CatalogFile]) -> dict[str, object]:
    """Return the facts that the templates read."""
    read = [
        file.for_environment(environment, root, resolve=False) for file in catalogs for environment in file.environments
    ]
    extras = dict.fromkeys(extra for catalog in read if (extra := type_of(catalog).extra))
    brackets = f"[{','.join(extras)}]" if extras else ""
    protected = {catalog.environment for catalog in read if catalog.protected}
    folder = root.relative_to(top).as_posix()
    if not _FOLDER.fullmatch(folder):
        what = f"a CI file cannot carry the name of the folder {folder!r}; nothing was written"
        raise ConfigurationError("INVALID_NAME", what, "rename it: use letters, digits, spaces and _-.,()'+=:\"")
    return {
        "requirement": f"glacierbase{brackets}=={glacierbase.__version__}",
        "environments": [
            {"name": name, "protected": name in protected}
            for name in dict.fromkeys(catalog.environment for catalog in read)
        ],
        "variables": list(dict.fromkeys(_variables(root))),
        "project": "" if folder == "." else folder,
        "folder": "/" if folder == "." else f"/{folder}/".replace(" ", "\\ "),
    }


def _variables(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the variables that catalog files read, each with its context in a workflow."""
    for path in sorted((root / "catalogs").glob("*.yaml")):
        for kind, name in _REFERENCE.findall(path.read_text("utf-8")):
            if not _OF_RUNNERS.fullmatch(name):
                yield _KINDS[kind], name


def _texts(service: str, facts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file.

    The templates are YAML. The rendered names of environments, variables and the folder consist of checked characters.
    """
    from jinja2 import Environment, StrictUndefined  # Other commands that write files need no templates.

    environment = Environment(
        line_statement_prefix="#%", variable_start_string="@{", variable_end_string="}",
        block_start_string="@%", block_end_string="%@", comment_start_string="@#", comment_end_string="#@",
        undefined=StrictUndefined, autoescape=False,
    )  # fmt: skip
    for template in (files("glacierbase.authoring") / "templates" / "ci" / service).iterdir():
        text = environment.from_string(template.read_text("utf-8")).render(facts)
        yield template.name, f"{text.rstrip()}\n"


def _place(top: Path, shared: _Shared) -> Path:
    """Return the path of the existing file, in any case; else the path at which it is written."""
    for place in shared.places:
        folder, name = (top / place).parent, Path(place).name.lower()
        existing = [path for path in folder.glob("*") if path.name.lower() == name]
        if existing:
            return existing[0]
    return top / shared.places[0]


def _existing(paths: Collection[Path], top: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that exist, with their content; Windows line ends are converted."""
    reader = FileReader(top, _LARGEST, _LARGEST * len(paths))
    for path in paths:
        if os.path.lexists(path):
            with writing(path):
                yield path, reader.read(path).decode(errors="replace").replace("\r\n", "\n")


def _check_same(own: Mapping[Path, str], before: Mapping[Path, str]) -> None:
    different = _from_here(path for path, text in own.items() if before.get(path, text) != text)
    if different:
        raise ConfigurationError(
            "ALREADY_EXISTS",
            f"these files exist already with another content: {', '.join(different)}; nothing was written",
            "keep them as they are, or move them away, run the command again, and compare",
            paths=list(different),
        )


def _from_here(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(map(os.path.relpath, paths))
