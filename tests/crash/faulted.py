"""Runs whose storage or server fails at a step: `python -m tests.crash.faulted STORE FOLDER STEP,… [PORT]`.

For each fault and step, on a fresh project: migrate, begin the fault at that step, remove it, and finish as an operator would.
Prints one JSON document per line: the error of the run, and rows and states at the end. On Spark, with `sql` or `iceberg` as
store, the warehouse is on a small tmpfs that only this process mounts, and the faults are `full`, `read-only` and `unreachable`
(the catalog's database is locked); with `snowflake`, the connection to the server on the port is cut; with `dynamodb`,
of two ports with a colon between them, that to the second one.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from glacierbase import GlacierbaseError
from glacierbase.apply.results import RepairCase
from tests.crash.shop import DynamoShop, Shop, SnowShop, SparkShop
from tests.crash.steps import Steps
from tests.support.beds import DynamoBed, lake_bed, snow_bed
from tests.support.catalog_files import LAKE
from tests.support.errors import text_error
from tests.support.project_folder import ProjectFolder
from tests.support.snowflake.bed import CATALOG
from tests.support.snowflake.wire import Wire


@dataclass(frozen=True)
class Fault:
    """How a fault begins and ends; `end` may be called where it never began."""

    name: str
    begin: Callable[[], None]
    end: Callable[[], None]


# A function that makes a shop in a folder of that name, and the faults.
Bed = tuple[Callable[[str], Shop], list[Fault]]


def main(store: str, folder: str, numbers: str, port: str = "") -> None:
    steps = Steps()
    beds = {"snowflake": snowflake_bed, "dynamodb": dynamodb_bed}
    bed = beds[store](Path(folder), port) if store in beds else spark_bed(Path(folder), store)
    with bed as (new_shop, faults):
        for fault, number in product(faults, map(int, numbers.split(","))):
            told = break_at(steps, fault, number, new_shop(f"{fault.name}-{number}"))
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


def break_at(steps: Steps, fault: Fault, number: int, shop: Shop) -> dict[str, Any]:
    shop.write_files(str(number))
    steps.count = 0
    steps.on_step = lambda count: fault.begin() if count == number else None
    said = migrate(shop)
    steps.on_step = lambda count: None
    fault.end()
    shop.finish()
    shop.check_who()
    states = [str(each.state) for each in shop.load().status(spark=shop.session)[0].migrations]
    return {"fault": fault.name, "step": number, **said, "states": states, "rows": shop.rows}


def migrate(shop: Shop) -> dict[str, Any]:
    """Return the run's error as the command line would show it, and the exit code."""
    try:
        shop.load().migrate(spark=shop.session)
    except GlacierbaseError as error:
        return {"code": error.code, "exit_code": error.exit_code, "text": text_error(error)}
    return {"code": None, "exit_code": 0, "text": ""}


class _Shop(SparkShop):
    def may_run(self, case: RepairCase) -> bool:
        """The engine still runs, but its call has returned."""
        return False


@contextmanager
def spark_bed(folder: Path, store: str) -> Iterator[Bed]:
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", disk], check=True)
    text = LAKE.replace("WAREHOUSE/catalog.db", f"{folder}/catalog.db").replace("WAREHOUSE", str(disk))
    text = text.replace("busy_timeout=30000", "busy_timeout=300")
    with lake_bed(text, folder / "home") as lake:

        def new_shop(name: str) -> Shop:
            for old in disk.iterdir():  # Together they would fill the disk.
                shutil.rmtree(old)
            return _Shop(lake, ProjectFolder(folder / name), store, lease="2s")

        yield new_shop, _faults(disk, folder / "catalog.db")


def _faults(disk: Path, database: Path) -> list[Fault]:
    filler, holder = disk / "filler", sqlite3.connect(database, isolation_level=None, check_same_thread=False)

    def fill() -> None:
        with suppress(OSError), filler.open("wb") as file:
            while file.write(bytes(4096)):
                file.flush()

    def remount(mode: str) -> None:
        for _ in range(200):  # The heartbeat may have a file open.
            done = subprocess.run(["mount", "-o", f"remount,{mode}", disk], capture_output=True, check=False)
            if done.returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"the disk could not be made {mode}")

    def release() -> None:
        if holder.in_transaction:
            holder.execute("ROLLBACK")

    return [
        Fault("full", fill, lambda: filler.unlink(missing_ok=True)),
        Fault("read-only", lambda: remount("ro"), lambda: remount("rw")),
        Fault("unreachable", lambda: holder.execute("BEGIN EXCLUSIVE") and None, release),
    ]


@contextmanager
def snowflake_bed(folder: Path, port: str) -> Iterator[Bed]:
    with Wire(int(port)) as wire:
        text = CATALOG.replace("PORT", str(wire.port)).replace("_timeout: 30", "_timeout: 1")
        with snow_bed(text, "DEMO", folder) as snow:
            yield (
                lambda name: SnowShop(snow, ProjectFolder(folder / name), lease="1s"),
                [Fault("unreachable", wire.cut, wire.mend)],
            )


@contextmanager
def dynamodb_bed(folder: Path, ports: str) -> Iterator[Bed]:
    snowflake, dynamodb = ports.split(":")
    with Wire(int(dynamodb)) as wire, snow_bed(CATALOG.replace("PORT", snowflake), "DEMO", folder) as snow:
        bed = DynamoBed(snow.catalog, snow.executor, snow.text, f"http://127.0.0.1:{wire.port}")
        yield (
            lambda name: DynamoShop(bed, ProjectFolder(folder / name), lease="1s"),
            [Fault("unreachable", wire.cut, wire.mend)],
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
