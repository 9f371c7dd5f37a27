"""`init`: write a catalog file of one type, its JSON Schema for editors, and a first migration. Nothing is overwritten.

With a CI service it writes that service's files, too; in a project that has catalogs, only these.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from glacierbase.capabilities.authoring.ci_files import write_ci_files
from glacierbase.catalogs.schema import catalog_file_schema
from glacierbase.errors import ConfigurationError
from glacierbase.formats import FORMATS
from glacierbase.migrations.all_or_none import NewFiles, all_or_none
from glacierbase.migrations.new_files import already_exists
from glacierbase.model.command import command, on_catalog
from glacierbase.model.keys import CATALOG_NAME
from glacierbase.model.result import Result
from glacierbase.model.text import Line, Verbatim
from glacierbase.run.files import path_inside, writing

# The dialect of the first migration, by the type of the catalog file.
TYPES: Mapping[str, str] = {
    "spark": "iceberg",
    "rest": "iceberg",
    "glue": "iceberg",
    "hive": "iceberg",
    "jdbc": "iceberg",
    **{known.name: known.name for known in FORMATS.values() if known.in_place},
    "snowflake": "snowflake",
}
# In the folder of the catalog files, which refer to it. It is not a catalog file: its name ends in .json.
SCHEMA = ".schema.json"
_GITIGNORE = ".glacierbase/\n"
# The checksum ignores CRLF, but a pull request would show changed line ends on every line.
_GITATTRIBUTES = "*.sql text eol=lf\n"
# What a template says about history and lock, which `--store` replaces.
_OWN_STORE = re.compile(r"^# @own-store\n(.*?)^# @end\n", re.MULTILINE | re.DOTALL)
_AFTER_STORE = re.compile(r"^(?=variables:|environments:)", re.MULTILINE)
_DYNAMODB = """\
# History and lock, in a table that the first migrate creates. `pip install 'glacierbase[dynamodb]'` adds the client.
# Login and region come from AWS's default chain: AWS_PROFILE, AWS_DEFAULT_REGION, the role of the machine.
store:
  type: dynamodb
  table: glacierbase_${environment}

"""
_NAME = "analytics"
_ENVIRONMENT = re.compile(r"^  (\w+):", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{(?:env|secret):(\w+)\}")


@dataclass(frozen=True, slots=True)
class InitResult(Result):
    """The files that `init` wrote.

    Attributes:
        variables: the environment variables that the catalog file reads.
        variables_for: the environments of the file that read them, if others read none.
        next: the commands to run next, in order.
        updated: files of the CI service that were written by an earlier call, and are replaced.
        unchanged: files of the CI service that existed before.
        incomplete: files with the line that they lack.
    """

    files: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    variables_for: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()

    def lines(self) -> list[Line]:
        lines: list[Line] = [f"wrote {file}" for file in self.files]
        lines += [f"updated {file}" for file in self.updated]
        lines += [f"unchanged {file}" for file in self.unchanged]
        lines += [f"add by hand: {line}" for line in self.incomplete]
        if self.variables:
            where = f" for {', '.join(self.variables_for)}" if self.variables_for else ""
            what = f"set these environment variables{where}, which {self.files[0]} describes"
            lines.append(f"{what}: {', '.join(self.variables)}")
        return [*lines, *(["next:"] if self.next else []), *(Verbatim(f"  {step}") for step in self.next)]


def init(
    project: str | None,
    name: str | None,
    catalog_type: str,
    ci: str | None = None,
    source: str | None = None,
    store: str | None = None,
) -> InitResult:
    """Write a catalog with its first migration, in a new or an existing project, and the files of a CI service.

    Either all files are written, or none.

    Args:
        project: its root; default the working directory.
        name: the name of the catalog. Without it no catalog is added to a project that has one, if `ci` is given.
        catalog_type: one of `TYPES`.
        ci: one of `ci_files.SERVICES`, or None.
        source: the repository of glacierbase, as for `write_ci_files`.
        store: `dynamodb` for history and lock there; None for where the template has them.

    Raises:
        GlacierbaseError: the catalog or its migrations exist already, a file of the CI service differs, the name is invalid, or a
            link leads out of the project.
    """
    root = Path(project or ".")
    with all_or_none() as new:
        result = InitResult("", "")
        if name is not None or ci is None or not _has_catalogs(root):
            result = _write_catalog(project, root, _NAME if name is None else name, catalog_type, store, new)
        return result if ci is None else _with_ci(result, root, ci, source, new)


def _has_catalogs(root: Path) -> bool:
    return any(path.name[0] not in "._" for path in (root / "catalogs").glob("*.yaml"))


def _write_catalog(
    project: str | None, root: Path, name: str, catalog_type: str, store: str | None, new: NewFiles
) -> InitResult:
    catalog = root / "catalogs" / f"{name}.yaml"
    migration = root / "migrations" / name / "0001_create_events.sql"
    _check_name(name)
    _check_free(root, catalog, migration.parent)
    others = _has_catalogs(root)
    templates = files("glacierbase.capabilities.authoring") / "templates"
    text = (templates / "catalogs" / f"{catalog_type}.yaml").read_text("utf-8").replace("@NAME@", name)
    text = _AFTER_STORE.sub(_DYNAMODB, _OWN_STORE.sub("", text), count=1) if store else _OWN_STORE.sub(r"\1", text)
    sql = (templates / "migrations" / f"{TYPES[catalog_type]}.sql").read_text("utf-8").replace("@NAME@", name)
    written = {catalog: text, migration: sql, **dict(_absent(root))}
    for path, content in written.items():
        new.create(path, root, content)
    steps = tuple(_steps(project, name if others else None, has_packages="\n  packages:" in text))
    variables = tuple(dict.fromkeys(_VARIABLE.findall(text)))
    return InitResult(
        name, "", files=tuple(map(str, written)), variables=variables, variables_for=_readers(text), next=steps
    )


def _readers(text: str) -> tuple[str, ...]:
    """Return the environments of a template that read variables; none where all of them do."""
    shared, _, environments = text.partition("\nenvironments:\n")
    if _VARIABLE.search(shared):
        return ()
    _, *blocks = _ENVIRONMENT.split(environments)
    return tuple(name for name, block in zip(blocks[::2], blocks[1::2], strict=True) if _VARIABLE.search(block))


def _with_ci(result: InitResult, root: Path, ci: str, source: str | None, new: NewFiles) -> InitResult:
    """Write the files of the CI service, and return the result with them."""
    ci_files = write_ci_files(root, ci, source, new)
    changed = (*ci_files.written, *ci_files.updated)
    return replace(
        result,
        catalog=result.catalog or ", ".join(ci_files.catalogs),
        files=(*result.files, *ci_files.written),
        next=result.next or ((shlex.join(["git", "add", "--", *changed]),) if changed else ()),
        updated=ci_files.updated,
        unchanged=ci_files.unchanged,
        incomplete=ci_files.incomplete,
    )


def _check_name(name: str) -> None:
    try:
        CATALOG_NAME.convert(name)
    except ValueError as error:
        what = f"{name} cannot be a catalog's name"
        raise ConfigurationError("INVALID_NAME", what, "use lower-case letters, digits and _") from error


def _check_free(root: Path, *paths: Path) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise already_exists(path, "; nothing was written", "choose another NAME")
        with writing(path):
            path_inside(path, root)


def _absent(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the missing ones of the files that all catalogs of a project share."""
    schema = json.dumps(catalog_file_schema(), indent=2, ensure_ascii=False) + "\n"
    for name, text in {
        f"catalogs/{SCHEMA}": schema, ".gitignore": _GITIGNORE, ".gitattributes": _GITATTRIBUTES
    }.items():  # fmt: skip
        if not os.path.lexists(root / name):
            yield root / name, text


def _steps(project: str | None, catalog: str | None, *, has_packages: bool) -> Iterator[str]:
    """Yield the next commands.

    Args:
        catalog: the new one, if there are others.
        has_packages: whether its engine needs a virtual environment of its own.
    """
    if project:
        yield f"cd {shlex.quote(project)}"
    with on_catalog(catalog):
        for name in ("check", *(["env"] if has_packages else []), "plan", "migrate"):
            yield command(name)
