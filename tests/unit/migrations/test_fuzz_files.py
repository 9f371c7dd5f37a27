"""Broken migration files, catalog files and templates are read or refused, each with one clear error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.cli import main
from glacierbase.errors import GlacierbaseError
from glacierbase.migrations.compiled import compile_migration
from glacierbase.migrations.folder import load_migrations
from glacierbase.migrations.render import render
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.secrets import Secrets
from tests.support.project_folder import migration
from tests.unit.migrations.hostile_texts import (
    BOM,
    DIALECTS,
    HEADED,
    HOSTILE,
    INTERNALS,
    VARIABLES,
    check_refusal,
    contents,
    line_starts,
    names,
    near,
    words,
)

moderately = settings(max_examples=75, deadline=None)


@contextmanager
def project(files: Mapping[str, str | bytes]) -> Iterator[Path]:
    """Write a project of these files, and check that no file appears, changes or vanishes."""

    def listing() -> list[tuple[str, int, int]]:
        return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in root.rglob("*"))

    with Secrets().in_use(), TemporaryDirectory() as name:
        root = Path(name)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        before = listing()
        yield root
        assert listing() == before


def answer(exit_code: int, ask: Callable[..., Any], *arguments: Any) -> Any:
    """Return the function's result, or None if it raised a valid error; any other exception fails the test."""
    try:
        return ask(*arguments)
    except GlacierbaseError as error:
        check_refusal(error, exit_code)
        return None


def check_prepared(file: Migration, catalog: Catalog) -> None:
    """Check for both engines that the file compiles or is refused, and that each statement has a line of it."""
    lines = len(line_starts(file.text))
    for dialect in DIALECTS:
        if prepared := answer(3, compile_migration, file, catalog, dialect):
            assert all(1 <= each.line <= lines for each in prepared.statements)


@moderately
@given(contents, st.dictionaries(names, contents, max_size=2))
def test_any_migration_file_is_loaded_and_prepared_or_refused(content: bytes, others: dict[str, bytes]) -> None:
    """No file is skipped silently, whatever its name and content."""
    placed = {f"migrations/shop/{name}": each for name, each in {"1_a.sql": content, **others}.items()}
    with project({"catalogs/shop.yaml": CATALOGS["spark"], **placed}) as root:
        [file] = load_catalog_files(root / "catalogs", root)
        catalog = file.for_environment("dev", root)
        migrations, errors = load_migrations(root / "migrations/shop", root)
        for error in errors:
            check_refusal(error, 3)
        for each in migrations:
            check_prepared(each, catalog)
        told = {each.location for each in migrations} | {error.data["path"] for error in errors}
        assert told == {path for path in placed if path.lower().endswith(".sql")}


CATALOGS = {
    "spark": """\
name: shop
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.uri: "${projectRoot}/${environment}/$${x}"
      spark.password: "${secret:PATH}"
      spark.jars.packages: "a:b:1,c/d/2"
      spark.jars.repositories: "https://a/b,http://localhost/${environment}"
    dependencies:
      - "a:b:1"
      - "${catalog}:b:1"
      - {coordinate: "a:b:2", sha256: "0000000000000000000000000000000000000000000000000000000000000000"}
    allowFloating: false
variables:
  a: 1
  b: {c: "${variables.a}", d: ["${env:PATH}", 0x1F, null]}
environments:
  dev: {}
  prod: {protected: true, outOfOrder: allow, variables: {a: "x"}}
defaultEnvironment: dev
store: {catalog: lake, namespace: glacierbase, lockLease: 60s, type: auto}
""",
    "snowflake": """\
migrationExecutor: {type: snowflake, conf: {connection: {database: D, user: "${catalog}", more: {a: [1, true, "${env:PATH}"]}}}}
variables: {b: {c: &c t}, d: *c}
""",
    "shared": """\
variables: {shared: [1, {a: 2}]}
environments: {dev: {protected: false}, test: null}
store: {lockLease: 5m}
""",
}
NAMED = words("""
    env:PATH env: env:NOPE secret:PATH secret:NOPE secret: file:secret.txt file:nope file:. file: environment catalog projectRoot
    variables variables. variables.a variables.b variables.b.c variables.shared variables.nope nope a.b $ { }
""")
REFERENCES = [*(f'"${{{name}}}"' for name in NAMED), '"${}"', '"${env:A\\tB}"', '"$${"', '"${"', '"$$${env:PATH}"']
HOSTILE_YAML = [
    *words("name sparkConf connection dependencies variables environments catalog autocommit a << [ ] { } [] {} [[{a:[b]}]] # |"),
    *words("' \" > ! !x!y *c : @ ` null ~ yes 1e99 -.5 0o8 2026-01-01 12:30:00 é 😀"), "!!int ", "!!map ", "!!binary ", "&c ",
    *words("sha256 coordinate allowFloating [1,) latest.release"),
    "? ", ": ", "- ", ", ", "store: [1]\n", "protected: 1\n", "<<: *c\n", "- a\n", "%YAML 1.1\n", "---\n", "...\n", "\n", "\n  ",
    "\n      ", "\t", "\r", BOM, "\0", "\x85", "", "9" * 40, "x" * 5_000, "[" * 3_000,
]  # fmt: skip


@moderately
@given(
    st.sampled_from(DIALECTS).flatmap(lambda kind: near(CATALOGS[kind], REFERENCES, HOSTILE_YAML)),
    st.just(CATALOGS["shared"]) | near(CATALOGS["shared"], REFERENCES, HOSTILE_YAML),
    st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]),
)
def test_any_catalog_file_is_read_or_refused(text: str, shared: str, encoding: str) -> None:
    """A catalog file is read without an environment, then in each, and its variables are used in a migration."""
    files = {"catalogs/shop.yaml": text.encode(encoding, "replace"), "catalogs/_shared.yaml": shared}
    with project({**files, "secret.txt": "canary\n", "migrations/shop/1_a.sql": HEADED}) as root:
        [[file], _] = load_migrations(root / "migrations/shop", root)
        for each in answer(2, load_catalog_files, root / "catalogs", root) or ():
            for environment in each.environments:
                answer(2, partial(each.for_environment, resolve=False), environment, root)
                if catalog := answer(2, each.for_environment, environment, root):
                    check_prepared(file, catalog)


PRINTABLE = words(
    "environment variables.table.name .variables.table.items variables.names|join(',') 1+1 variables.names[0]"
)
VALUES = words("""
    reversed_id hash_path('a',2) bucket_prefix(nope,'a')
    variables variables.table .variables.table.name variables.names variables.table.none variables.nope nope x catalog self loop
    caller caller() namespace(a=1) cycler('a') joiner(',') range(3) lipsum dict(a=1) none 1 1.5 true 'a' [] [nope] {} ()
""")
TRICKS = [
    *words(".__class__ ['__class__'] .__init__.__globals__ ._x .0 [0] [-1:] [nope] .name .items .items() .a .format(1) .next()"),
    *words(".index () (1) |upper |length |join |first |list |tojson |sort |string |map('upper') |attr('__class__') |default('d')"),
    *words("+1 ~'b' *3 /0 |map(attribute='__class__') |selectattr('__class__') |groupby('a') **9 ==nope }}{{1"),
    " is defined", " is mapping", " is nope", " in variables", " if nope else 2", " and nope",
]  # fmt: skip
AROUND = [
    "a;\r\n%s%s", "{%% if %s %%}%s{%% else %%}b{%% endif %%}", "{%% for x in %s %%}%s{%% endfor %%}", "{%% set x = %s %%}%s",
    "{%% set x.a = %s %%}%s", "{%% for x, y in %s recursive %%}%s{%% endfor %%}", "{%% with x = %s %%}%s{%% endwith %%}",
    "{%% macro m(x=1) %%}%s%s{%% endmacro %%}{{ m() }}", "{%% filter upper %%}%s%s{%% endfilter %%}", "{%% include %s %%}%s",
    "{%% call %s %%}%s{%% endcall %%}", "{%% raw %%}%s%s{%% endraw %%}", "{%%- if %s -%%}%s", "{# %s %s #}",
    "{%% set x %%}%s%s{%% endset %%}{{ x }}",
]  # fmt: skip
tricky = st.builds("{}{}{}".format, st.sampled_from(VALUES), *[st.just("") | st.sampled_from(TRICKS)] * 2)
expressions = st.one_of(st.sampled_from(PRINTABLE), st.sampled_from(PRINTABLE), tricky)
templates = st.recursive(
    expressions.map("{{{{ {} }}}}".format),
    lambda inner: st.one_of(
        st.builds(lambda around, value, text: around % (value, text), st.sampled_from(AROUND), expressions, inner),
        st.lists(inner, min_size=2, max_size=3).map("\n".join),
    ),
    max_leaves=6,
)


@moderately
@given(templates | st.builds("{}{}{}".format, templates, st.sampled_from(HOSTILE), templates))
def test_any_template_renders_alike_every_time_or_is_refused(text: str) -> None:
    """Rendered text contains no text of Python's objects."""
    file = Migration("1", "a", "d", "a", Path("1_a.sql"), "migrations/shop/1_a.sql", text, "v1:sha256:0")
    if rendered := answer(3, render, file, VARIABLES, "prod", "lake", "spark"):
        assert rendered == render(file, VARIABLES, "prod", "lake", "spark")
        assert not INTERNALS.search(rendered.text)


BROKEN: list[tuple[str, str | bytes]] = [
    ("migrations/shop/1_a.sql", b"\xff\xfe-\0-\0"), ("migrations/shop/1_a.sql", ""), ("migrations/shop/a.sql", "\0"),
    ("migrations/shop/2_b.sql", migration("BEGIN a;")), ("migrations/shop/2_b.sql", migration("{{ nope }}\0{{ x }}")),
    ("migrations/shop/d/2_b.sql", migration("{% if %}")), ("migrations/shop/2_b.sql", migration("{{ '%d' % 'x' }}")),
    ("migrations/other/1_a.sql", HEADED), ("catalogs/shop.yaml", "a: [\0"), ("catalogs/shop.yaml", "&a [*a]"),
    ("catalogs/shop.yaml", b"\xff"), ("catalogs/shop.yaml", "[" * 5_000), ("catalogs/other.yaml", "variables: ${nope}"),
    ("catalogs/_shared.yaml", "<<: {}"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_project_is_one_document_with_its_error(
    path: str, content: str | bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 2 or 3, and stderr is empty."""
    monkeypatch.setattr("glacierbase.cli.terminal._log_to_stderr", lambda *_: None)
    files = {"catalogs/shop.yaml": CATALOGS["spark"], "migrations/shop/1_a.sql": HEADED, path: content}
    with project(files) as root, pytest.raises(SystemExit) as caught:
        main(["validate", "--project", str(root), "--format", "json"])
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert (caught.value.code, document["ok"]) in [(2, False), (3, False)]
    assert document["error"]["exit_code"] == caught.value.code
    assert document["error"]["message"]
    assert not INTERNALS.search(output.out.replace("\\n", "\n"))
    assert output.err == ""
