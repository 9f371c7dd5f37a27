"""A file that the program writes passes `validate` and `lint`, is right or does nothing in each environment, and replays.

Generated: tables, what variables differ in, changes that no migration makes, and the command that writes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import EngineError
from tests.support.program import ask_here, run_here
from tests.support.project_folder import Output, ProjectFolder
from tests.support.repository import commit_all, git, set_author

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "sqlite:///${projectRoot}/${environment}.db", warehouse: "file://${projectRoot}/${environment}"}
environments:
  dev: {variables: {ns: sales_dev, buckets: 10, keep: '5'}}
  test: {variables: {ns: sales_test, buckets: 10, keep: '7'}}
  prod: {variables: {ns: sales, buckets: 100, keep: '9'}}
defaultEnvironment: dev
"""
NAMESPACES = {"dev": "sales_dev", "test": "sales_test", "prod": "sales"}
COLUMNS = "id BIGINT NOT NULL, name STRING, day DATE, at TIMESTAMP, total INT, home STRUCT<city: STRING, zip: INT>"
ORDERS = "lake.{{ variables.ns }}.orders"
MORE = (
    "",
    f"ALTER TABLE {ORDERS} ADD COLUMN country STRING AFTER id;",
    f"ALTER TABLE {ORDERS} WRITE ORDERED BY id DESC;",
    f"{{% if environment == 'prod' %}}ALTER TABLE {ORDERS} ADD COLUMN audited BOOLEAN;{{% endif %}}",
    f"ALTER TABLE {ORDERS} SET IDENTIFIER FIELDS id;",
    f"ALTER TABLE {ORDERS} RENAME COLUMN name TO title;",
    f"ALTER TABLE {ORDERS} ADD PARTITION FIELD truncate(3, name);",
)
LAYOUTS = (
    "", "PARTITIONED BY (bucket({{ variables.buckets }}, id))", "PARTITIONED BY (days(at), bucket({{ variables.buckets }}, id))",
    "PARTITIONED BY (day)",
)  # fmt: skip
PROPERTIES = ("", ", 'history.expire.min-snapshots-to-keep' = '{{ variables.keep }}'", ", 'x' = '1'")
# Changes that no migration makes.
CHANGES = (
    "RENAME COLUMN name TO label", "ADD COLUMN extra STRING", "DROP COLUMN total", "ALTER COLUMN total TYPE BIGINT",
    "ALTER COLUMN name COMMENT 'of the customer'", "SET TBLPROPERTIES ('y' = '2')", "UNSET TBLPROPERTIES ('x')",
    "ADD PARTITION FIELD truncate(4, name)", "WRITE LOCALLY ORDERED BY name", "DROP COLUMN home.zip",
    "ADD COLUMN home.street STRING",
    "RENAME COLUMN home TO address", "ALTER COLUMN id DROP NOT NULL", "ALTER COLUMN day FIRST", "SET IDENTIFIER FIELDS id",
    "DROP COLUMN id", "DROP PARTITION FIELD day", "DROP COLUMN day",
    "SET TBLPROPERTIES ('history.expire.min-snapshots-to-keep' = '3')",
)  # fmt: skip


class Shop:
    """A project of three environments, whose tables are real."""

    def __init__(self, project: ProjectFolder, random: Random) -> None:
        self.project, self.random = project, random

    @classmethod
    def generated(cls, project: ProjectFolder, random: Random) -> Shop:
        """Return a project with one or two files, which are applied in all environments."""
        shop = cls(project, random)
        project.catalog(CATALOG)
        properties = f"TBLPROPERTIES ('format-version' = '2'{random.choice(PROPERTIES)})"
        create = f"CREATE TABLE {ORDERS} ({COLUMNS}) USING iceberg {random.choice(LAYOUTS)} {properties}"
        namespace = "CREATE NAMESPACE lake.{{ variables.ns }}"
        project.file("0001_orders.sql", f"{namespace};\n{create};", description="Create the orders of the shop")
        if more := random.choice(MORE):
            project.file("0002_more.sql", more, description="Add what the reports need")
        shop.check_gates()
        for environment in NAMESPACES:
            shop.migrate(environment)
        return shop

    @property
    def folder(self) -> Path:
        return self.project.root / "migrations" / "shop"

    @property
    def last(self) -> str:
        """The highest version."""
        return max(path.name.partition("_")[0] for path in self.folder.iterdir())

    def run(self, *arguments: str) -> Output:
        return run_here(self.project, *arguments)

    def migrate(self, environment: str) -> None:
        done = self.run("migrate", "--env", environment, "--yes")
        assert done.code == 0, done

    def check_gates(self) -> None:
        """Check that the files pass both gates in all environments."""
        for command in ("validate", "lint"):
            done = self.run(command)
            assert done.code == 0, done

    def change(self, environment: str) -> None:
        """Change a table outside of migrations; a change that is impossible is not made."""
        target = Project.load(self.project.root, environment)._catalogs.only(["shop"])
        with closing(target.engine()) as engine, closing(engine.start().open_session()) as session:
            for change in self.random.sample(CHANGES, self.random.choice((1, 1, 2, 3))):
                with suppress(EngineError):
                    session.execute(f"ALTER TABLE lake.{NAMESPACES[environment]}.orders {change}")

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def shape(self, environment: str) -> dict[str, Any]:
        """Return the recorded shape, without what two tables never share."""
        told = ask_here(self.project, "schema", f"lake.{NAMESPACES[environment]}.orders", "--env", environment)
        assert told.code == 0, told
        shape = told.entry()["shape"]
        return {
            key: [{name: part[name] for name in part if name != "id"} for part in shape[key]]
            if key in ("columns", "partitioning")
            else shape[key]
            for key in ("format", "format_version", "columns", "partitioning", "sorting", "identifiers", "properties")
        }

    def replayed(self, environments: Collection[str]) -> Shop:
        """Return a copy of the project without tables, in which the same files were applied."""
        copy = Shop(ProjectFolder(self.project.root.with_name("copy")), self.random)
        for name in ("catalogs", "migrations"):
            shutil.copytree(self.project.root / name, copy.project.root / name, dirs_exist_ok=True)
        copy.project.catalog(CATALOG)
        for environment in environments:
            copy.migrate(environment)
        return copy


@dataclass
class Written:
    """What a command did.

    Attributes:
        shop: the project that it wrote into.
        done: what it printed.
        before: the files before it ran.
        applied: the environments in which the files can be applied afterwards.
        replays: the environments whose tables a copy has, too.
    """

    shop: Shop
    done: Output
    before: dict[str, bytes]
    applied: Collection[str] = tuple(NAMESPACES)
    replays: Collection[str] = tuple(NAMESPACES)


def settle_drift(shop: Shop, action: str) -> Output:
    arguments = ("--env", "prod", "--reason", "The loader changed it", "--author", "Ann", "--yes")
    return shop.run("drift", action, *arguments)


def adopt(shop: Shop) -> Written:
    shop.change("prod")
    return Written(shop, before=shop.files(), done=settle_drift(shop, "adopt"))


def revert(shop: Shop) -> Written:
    shop.change("prod")
    return Written(shop, before=shop.files(), done=settle_drift(shop, "revert"))


def match_environment(shop: Shop) -> Written:
    """Follow prod, whose changes were adopted by a file that is here or in another branch."""
    shop.change("prod")
    settle_drift(shop, "adopt")
    others: Collection[str] = tuple(NAMESPACES)
    if shop.random.random() < 0.7:
        adopted = list(shop.folder.glob("*_the_loader_changed_it.sql"))
        for path in adopted:
            path.unlink()
        others = ("dev", "test") if adopted else others
    before = shop.files()
    done = shop.run("new", "Follow prod", "--to-match", "env:prod", "--env", "dev", "--author", "Ann")
    return Written(shop, done, before, applied=others, replays=others)


def match_file(shop: Shop) -> Written:
    path, before = shop.project.root / "wanted.sql", shop.files()
    layout = shop.random.choice(
        ("", "PARTITIONED BY (bucket(16, id))", "PARTITIONED BY (day)", "PARTITIONED BY (days(at))")
    )
    more = shop.random.choice(("", ", more STRING", ", zip INT, audited BOOLEAN"))
    path.write_text(f"CREATE TABLE {ORDERS} ({COLUMNS}{more}) USING iceberg {layout}")
    done = shop.run("new", "Match the wanted table", "--to-match", str(path), "--env", "dev", "--author", "Ann")
    return Written(shop, done, before)


def revert_version(shop: Shop) -> Written:
    before = shop.files()
    return Written(shop, shop.run("new", "Undo the last version", "--reverting", shop.last, "--author", "Ann"), before)


def squash(shop: Shop) -> Written:
    """A squash has the values of variables of one environment, and says so; names of tables follow the environment."""
    root, before, environment = shop.project.root, shop.files(), shop.random.choice(("dev", "prod"))
    (root / ".gitignore").write_text("*.db*\nprod/\ndev/\ntest/\n")
    git(root, "init", "-q")
    set_author(root)
    commit_all(root)
    done = shop.run("squash", "--to", shop.last, "--env", environment, "--author", "Ann")
    is_same = "variables: it has the values of" not in done.stdout
    return Written(shop, done, before, replays=tuple(NAMESPACES) if is_same else (environment,))


def import_tables(shop: Shop) -> Written:
    """Another project writes files for the tables."""
    shop.change("prod")
    other = Shop(ProjectFolder(shop.project.root.with_name("other")), shop.random)
    text = CATALOG.replace("${projectRoot}", str(shop.project.root)).replace(
        "defaultEnvironment", "store: {namespace: own}\ndefaultEnvironment"
    )
    other.project.catalog(text)
    arguments = ("--env", "prod", "--author", "Ann", "--baseline", "--reason", "They exist", "--yes")
    done = other.run("import", "tables", "lake.sales.*", *arguments)
    return Written(other, done, {}, applied=["prod"], replays=["prod"])


def advise(shop: Shop) -> Written:
    table, before = f"lake.{NAMESPACES['dev']}.orders", shop.files()
    load = ("--objects", "600M", "--objects-per-prefix", "2.5M", "--put-per-second", "9k")
    done = shop.run("layout", "advise", "--table", table, "--env", "dev", "--write", "--author", "Ann", *load)
    return Written(shop, done, before)


COMMANDS: tuple[Callable[[Shop], Written], ...] = (
    adopt, revert, match_environment, match_file, revert_version, squash, import_tables, advise,
)  # fmt: skip
EACH = 10


def check(written: Written) -> str:
    """Check what a command wrote, or that a refused one wrote nothing; return the outcome."""
    shop, after = written.shop, written.shop.files()
    if written.done.code:
        assert after == written.before, written.done
        assert "nothing was written" in written.done.stderr or "NOT_INVERTIBLE" in written.done.stderr, written.done
        return "refused"
    shop.check_gates()
    for environment in written.applied:
        shop.migrate(environment)
    drift = shop.run("drift", "--env", "prod", "--fail-on", "any")
    assert drift.code == 0 or "prod" not in written.applied, drift
    copy = shop.replayed(written.applied)
    copy.check_gates()
    for environment in written.replays:
        assert copy.shape(environment) == shop.shape(environment), after
    return "unchanged" if after == written.before else "written"


@pytest.mark.parametrize("seed", range(EACH))
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_what_is_written_is_right_or_nothing(
    command: Callable[[Shop], Written], seed: int, project: ProjectFolder
) -> None:
    """The file passes both gates in all environments; applied to the tables, or to none, it leads to the recorded tables."""
    check(command(Shop.generated(project, Random(seed))))
