"""`init --ci`: write the files with which a CI service reviews and applies the migrations of a project.

The first line of each has the checksum of the others: a file that nobody edited since is replaced, any other file is kept. The
files of glacierbase list the project's environments in order, its engines, and the variables that its catalog files read.
Files of the whole repository, such as CODEOWNERS, are written only where there is none.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import glacierbase
from glacierbase.catalogs.folder import CatalogFile, load_catalog_files
from glacierbase.errors import ConfigurationError
from glacierbase.executors import type_of
from glacierbase.executors.pyiceberg.properties import extra_of
from glacierbase.migrations.all_or_none import NewFiles
from glacierbase.run.files import FileReader, writing
from glacierbase.run.git import work_tree
from glacierbase.run.installed import built_from, requirement
from glacierbase.run.installed import source as installed_from
from glacierbase.secrets import MASK

_REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z_]\w*)\}", re.ASCII)
# The connector of Snowflake reads a key from the file that this keyword names.
_KEY_FILE = re.compile(r"private_key_file[\"']?\s*:\s*[\"']?\$\{env:([A-Za-z_]\w*)\}", re.ASCII)
# A commit of a repository, whose address holds no password.
_COMMIT = re.compile(
    r"git\+(?:https://|ssh://(?:\w+@)?)(?P<host>[\w.-]+)(?::\d+)?/(?P<repository>[\w./~+-]+?)(?:\.git)?@(?P<commit>[0-9a-f]{40})",
    re.ASCII,
)
_MARK = re.compile(r"# Written by `init --ci (?:github|gitlab)`; sha256 of the lines below: ([0-9a-f]{64})\n")
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
        {"glacierbase.yml": ".github/workflows/glacierbase.yml"},
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
        updated: files of an earlier call, which nobody edited since, and which were replaced.
        unchanged: files that existed before and lack nothing.
        incomplete: files of the repository with the line that they lack.
    """

    catalogs: tuple[str, ...]
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    incomplete: tuple[str, ...]
    updated: tuple[str, ...]


def write_ci_files(root: Path, service: str, source: str | None, new: NewFiles) -> CiFiles:
    """Write the files of a CI service at the top of the git repository that holds the project, or into the project.

    Args:
        service: one of `SERVICES`.
        source: the repository and commit of glacierbase whose action or templates the service runs, `git+URL@COMMIT`; default what
            this installation came from.
        new: writes the files.

    Raises:
        GlacierbaseError: a catalog file is invalid; the service cannot install `source` (`INVALID_VALUE`); a file was edited
            (`ALREADY_EXISTS`), or cannot be written; the files cannot carry the name of the project's folder (`INVALID_NAME`).
    """
    root = root.resolve()
    top = work_tree(root) or root
    catalogs = load_catalog_files(root / "catalogs", root)
    texts = dict(_texts(service, _facts(root, top, catalogs, _repository(source))))
    own = {top / target: _marked(service, texts[name]) for name, target in SERVICES[service].own.items()}
    shared = {_place(top, file): (texts[name], file) for name, file in SERVICES[service].shared.items()}
    before = dict(_existing([*own, *shared], top))
    _check_same(own, before)
    for path, text in {**own, **{path: text for path, (text, _) in shared.items()}}.items():
        if path not in before:
            new.create(path, top, text)
    updated = [path for path, text in own.items() if before.get(path, text) != text]
    for path in updated:
        new.replace(path, own[path])
    lacking = {path: file.line for path, (_, file) in shared.items() if file.line not in before.get(path, file.line)}
    return CiFiles(
        tuple(file.name for file in catalogs),
        _from_here(path for path in (*own, *shared) if path not in before),
        _from_here(path for path in before if path not in lacking and path not in updated),
        tuple(f"{os.path.relpath(path)} has no `{line}`" for path, line in lacking.items()),
        _from_here(updated),
    )


def _facts(root: Path, top: Path, catalogs: Sequence[CatalogFile], source: re.Match[str]) -> dict[str, object]:
    """Return the facts that the templates read."""
    read = [
        file.for_environment(environment, root, resolve=False) for file in catalogs for environment in file.environments
    ]
    engines = dict.fromkeys(extra for catalog in read if (extra := type_of(catalog).extra))
    clients = dict.fromkeys(client for catalog in read if (client := extra_of(catalog)))
    keys = {name: _secret(name) for text in _catalog_texts(root) for name in _KEY_FILE.findall(text)}
    variables = dict.fromkeys(_variables(root))
    protected = {catalog.environment for catalog in read if catalog.protected}
    folder = _checked(root.relative_to(top).as_posix(), "folder")
    extras = (*engines, *clients, *(["environments"] if any(catalog.packages for catalog in read) else []))
    on_github = source["host"] == "github.com"
    return {
        "requirement": requirement(source[0], *extras),
        "extras": ",".join(extras),
        "action": f"{source['repository']}@{source['commit']} # v{glacierbase.__version__}",
        "repository": source["repository"],
        "commit": source["commit"],
        "version": glacierbase.__version__,
        "remote": f"https://raw.githubusercontent.com/{source['repository']}/{source['commit']}" if on_github else "",
        "environments": [
            {"name": name, "protected": name in protected}
            for name in dict.fromkeys(catalog.environment for catalog in read)
        ],
        "variables": [(kind, name) for kind, name in variables if name not in {*keys, *keys.values()}],
        "keys": [{"name": name, "secret": secret} for name, secret in keys.items()],
        "project": "" if folder == "." else folder,
        "folder": "/" if folder == "." else f"/{folder}/".replace(" ", "\\ "),
    }


def _repository(source: str | None) -> re.Match[str]:
    """Return the repository and the commit of glacierbase that the service uses.

    Raises:
        ConfigurationError: `INVALID_VALUE`: it is no commit of a repository.
    """
    commit, repository = built_from()
    own = f"git+https://github.com/{repository}@{commit}" if repository else installed_from()
    place = own if source is None else source
    if place is not None and (match := _COMMIT.fullmatch(place)):
        return match
    # A token may be the name of the user as well as a password.
    named = re.sub(r"(?<=://)[^/]*@", f"{MASK}@", (place or "").partition("?")[0])
    if source is not None:
        what = f"--from {named}"
    else:
        what = f"this installation, from {named}," if place else "this program, which is not installed,"
    raise ConfigurationError(
        "INVALID_VALUE",
        f"{what} is no commit of a repository, whose action or templates the CI service would run; nothing was written",
        "use --from git+https://HOST/OWNER/glacierbase@COMMIT with all 40 digits, of your fork or mirror",
    )


def _checked(path: str, kind: str) -> str:
    """Return a path that a CI file can carry.

    Raises:
        ConfigurationError: `INVALID_NAME`.
    """
    if not _FOLDER.fullmatch(path):
        what = f"a CI file cannot carry the name of the {kind} {path!r}; nothing was written"
        raise ConfigurationError("INVALID_NAME", what, "rename it: use letters, digits, spaces and _-.,()'+=:\"")
    return path


def _secret(name: str) -> str:
    """Return the name of the secret with the content of the file that a variable names."""
    return name.removesuffix("_FILE") if name.endswith("_FILE") else f"{name}_CONTENT"


def _catalog_texts(root: Path) -> Iterator[str]:
    return (path.read_text("utf-8") for path in sorted((root / "catalogs").glob("*.yaml")))


def _variables(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the variables that catalog files read, each with its context in a workflow."""
    for text in _catalog_texts(root):
        for kind, name in _REFERENCE.findall(text):
            if not _OF_RUNNERS.fullmatch(name):
                yield _KINDS[kind], name


def _texts(service: str, facts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file."""
    for template in (files("glacierbase.capabilities.authoring") / "templates" / "ci" / service).iterdir():
        yield template.name, _rendered(template.read_text("utf-8"), facts)


def _rendered(template: str, facts: Mapping[str, object]) -> str:
    """Return the text of a file.

    The templates are YAML. The rendered names of environments, variables and the folder consist of checked characters.
    """
    from jinja2 import Environment, StrictUndefined  # Other commands that write files need no templates.

    environment = Environment(
        line_statement_prefix="#%", variable_start_string="@{", variable_end_string="}",
        block_start_string="@%", block_end_string="%@", comment_start_string="@#", comment_end_string="#@",
        undefined=StrictUndefined, autoescape=False,
    )  # fmt: skip
    return f"{environment.from_string(template).render(facts).rstrip()}\n"


def _marked(service: str, text: str) -> str:
    """Return a file with the line by which a later call detects that nobody edited it."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"# Written by `init --ci {service}`; sha256 of the lines below: {digest}\n{text}"


def _is_as_written(text: str) -> bool:
    """Return whether nobody edited a file since `_marked`."""
    mark = _MARK.match(text)
    return mark is not None and hashlib.sha256(text[mark.end() :].encode()).hexdigest() == mark[1]


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
    different = _from_here(
        path for path, text in own.items() if before.get(path, text) != text and not _is_as_written(before[path])
    )
    if different:
        first = different[0]
        compare = shlex.join(["git", "diff", "--no-index", f"{first}.mine", first])
        raise ConfigurationError(
            "ALREADY_EXISTS",
            f"these files have another content than `init --ci` would write or wrote: {', '.join(different)}; nothing was written",
            f"`{shlex.join(['mv', first, f'{first}.mine'])}` and so on, run the command again, and compare: `{compare}`",
            paths=list(different),
        )


def _from_here(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(map(os.path.relpath, paths))
