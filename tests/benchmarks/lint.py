"""`lint` of ten new files beside many, and of all files: against a second, and against a tenth of the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.measure import by_turns, glacierbase, python
from tests.benchmarks.order import Order
from tests.benchmarks.table import Absent, Figure, Row, Samples, compared
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

NEW, BESIDE = 10, 1_000
FEW, MANY = 1_000, 10_000
# 10,000 files are 10 times 1,000.
AS_IT_GROWS = 12
CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
variables: {retries: 10}
"""
SQL = """\
ALTER TABLE lake.shop.t{0} SET TBLPROPERTIES ('commit.retry.num-retries'='{{{{ variables.retries }}}}');
ALTER TABLE lake.shop.t{0} ALTER COLUMN id COMMENT 'the key'"""
IMPORTS = "import glacierbase.cli.terminal, glacierbase.project, glacierbase.capabilities.review.lint, glacierbase.output.screen"


def rows(order: Order) -> Iterator[Row | Absent]:
    """Ten new files beside a thousand, beyond the imports, and how the time of all files grows."""
    beside = min(BESIDE, order.largest)
    branch = project(order.folder / "lint-branch", beside)
    commit_all(branch.root)
    write(branch, range(beside, beside + NEW))
    commands = [glacierbase(branch.root, "lint", "--base", "main"), python("imports", IMPORTS, branch.root)]
    sizes = order.sizes(NEW, FEW, MANY)
    commands += [glacierbase(project(order.folder / f"lint-{size}", size).root, "lint") for size in sizes]
    new, imports, *whole = by_turns(commands, order.runs)
    yield _beyond(f"`lint --base` of {NEW} files beside {beside:,}, beyond its imports", new, imports)
    for size, samples in zip(sizes, whole, strict=True):
        yield compared(f"`lint` of {size:,} files", samples, "its imports", imports)
    if len(whole) == len((NEW, FEW, MANY)):
        yield _growth(*whole)


def project(root: Path, files: int) -> ProjectFolder:
    """Return a project with so many files that no rule objects to."""
    made = ProjectFolder(root)
    made.catalog(CATALOG)
    write(made, range(files))
    return made


def write(made: ProjectFolder, numbers: range) -> None:
    for number in numbers:
        made.file(f"{number + 1:05}_step.sql", SQL.format(number))


def _beyond(what: str, samples: Samples, imports: Samples) -> Row | Absent:
    if not (isinstance(samples, list) and isinstance(imports, list)):
        return Absent(what, "a second", "failed")
    start = median(each.seconds for each in imports)
    return Row(what, Figure.of([each.seconds - start for each in samples]), "a second", Figure.limit(1.0), 1.0)


def _growth(*times: Samples) -> Row | Absent:
    what, against = f"`lint` of {MANY:,} files, beyond that of {NEW}", f"{FEW:,} files, beyond that of {NEW}"
    few, many, most = ([each.seconds for each in samples] if isinstance(samples, list) else [] for samples in times)
    if not (few and many and most):
        return Absent(what, against, "failed: one of them did")
    start = median(few)
    theirs, ours = (Figure.of([each - start for each in values]) for values in (many, most))
    return Row(what, ours, against, theirs, AS_IT_GROWS)
