"""The examples for Airflow, Dagster and Prefect run with the genuine packages, each in a virtual environment for it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.test_orchestrators import FILES
from tests.support.environments import environment
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.sqlite_engine import SQLITE_ENGINE

REQUIREMENTS = {
    "airflow": ["apache-airflow-core==3.3.2"],
    "dagster": ["dagster==1.13.28"],
    # Later versions of fastapi lack an argument that Prefect's server passes.
    "prefect": ["prefect==3.8.8", "fastapi==0.139.2"],
}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def lakehouse(project: ProjectFolder) -> ProjectFolder:
    """The catalogs `shop` and `web` on an engine that needs no JVM, with one migration each."""
    for name in ("shop", "web"):
        project.catalog(SQLITE_ENGINE.replace("shop.db", f"{name}.db") + "environments: {dev: {}, prod: {}}\n", name)
        project.file("0001_a.sql", "CREATE TABLE t (a INT)", name)
    return project


@pytest.fixture
def code(tmp_path: Path, lakehouse: ProjectFolder) -> Path:
    """The folder with the files of the page, `lake.py` among them."""
    folder = tmp_path / "code"
    for name, text in FILES.items():
        path = folder / Path(name).name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("/opt/lakehouse", str(lakehouse.root)))
    return folder


def runner(package: str, code: Path, sqlite_package: Path, **variables: str) -> Run:
    """Return how a program of the environment with this package runs, in the folder of the page's files."""
    programs = environment(REPOSITORY / f".venv-{package}", ["--editable", str(REPOSITORY), *REQUIREMENTS[package]])
    own = ("PYTHONPATH", "GLACIERBASE_PROJECT", "GLACIERBASE_ENV")
    environ = {key: value for key, value in os.environ.items() if key not in own}
    environ |= {"PYTHONPATH": f"{sqlite_package}{os.pathsep}{code}", **variables}

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs / program), *arguments]
        return subprocess.run(command, cwd=code, env=environ, capture_output=True, text=True, timeout=300)

    return run


def tables(project: ProjectFolder, name: str) -> set[str]:
    """Return the tables of a catalog."""
    with sqlite3.connect(project.root / f"{name}.db") as database:
        return {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE '%_%_%'")}


def fail_next(project: ProjectFolder) -> None:
    """Let the next migration of `shop` fail."""
    project.file("0002_b.sql", "INSERT INTO nowhere VALUES (1)", "shop")


def test_airflow_runs_the_operator_and_the_sensor(
    code: Path, lakehouse: ProjectFolder, sqlite_package: Path, tmp_path: Path
) -> None:
    """A migration that failed fails its task at once: it has three retries, which would take minutes."""
    home = str(tmp_path / "airflow")
    run = runner(
        "airflow", code, sqlite_package,
        AIRFLOW_HOME=home, AIRFLOW__CORE__DAGS_FOLDER=str(code), AIRFLOW__CORE__LOAD_EXAMPLES="False",
    )  # fmt: skip
    made = run("airflow", "db", "migrate")
    assert made.returncode == 0, made.stderr
    done = run("airflow", "dags", "test", "migrate_lake")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tables(lakehouse, "shop"), tables(lakehouse, "web")) == ({"t"}, {"t"})
    waited = run("airflow", "dags", "test", "wait_for_lake")
    assert waited.returncode == 0, waited.stdout + waited.stderr
    assert "Success criteria met" in waited.stdout + waited.stderr
    fail_next(lakehouse)
    failed = run("airflow", "dags", "test", "migrate_lake")
    output = failed.stdout + failed.stderr
    assert "AirflowFailException" in output, output
    assert "STATEMENT_FAILED" in output


def test_dagster_runs_the_job(code: Path, lakehouse: ProjectFolder, sqlite_package: Path, tmp_path: Path) -> None:
    """Each op runs in a process."""
    home = tmp_path / "dagster"
    home.mkdir()
    run = runner("dagster", code, sqlite_package, DAGSTER_HOME=str(home), DAGSTER_DISABLE_TELEMETRY="yes")
    execute = ("job", "execute", "-f", "definitions.py", "-j", "migrate_lake")
    done = run("dagster", *execute)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tables(lakehouse, "shop"), tables(lakehouse, "web")) == ({"t"}, {"t"})
    fail_next(lakehouse)
    failed = run("dagster", *execute)
    output = failed.stdout + failed.stderr
    assert "STATEMENT_FAILED" in output, output
    assert "STEP_UP_FOR_RETRY" not in output


def test_prefect_runs_the_flow(code: Path, lakehouse: ProjectFolder, sqlite_package: Path, tmp_path: Path) -> None:
    """The flow returns the versions; a migration that failed is not retried."""
    run = runner(
        "prefect", code, sqlite_package,
        PREFECT_HOME=str(tmp_path / "prefect"), PREFECT_SERVER_ALLOW_EPHEMERAL_MODE="true",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
    )  # fmt: skip
    call = "import flows; print('returned', [flows.migrate_catalog(name) for name in flows.lake.catalogs()])"
    done = run("python", "-c", call)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "returned [['0001'], ['0001']]" in done.stdout
    assert (tables(lakehouse, "shop"), tables(lakehouse, "web")) == ({"t"}, {"t"})
    fail_next(lakehouse)
    failed = run("python", "-c", call)
    assert failed.returncode != 0
    assert "STATEMENT_FAILED" in failed.stderr
    assert "Retry" not in failed.stderr
