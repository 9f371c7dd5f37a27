"""A data set of objects that gets other keys, the project that does it, and a writer that goes on meanwhile."""

from __future__ import annotations

import re
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glacierbase import Project
from glacierbase.capabilities.rekey.keys import RekeyedObjects
from tests.support.motostore import Store
from tests.support.project_folder import ProjectFolder

OLD, NEW = "date={date}/id={id}/{file}", "id_reversed={id:reversed}/date={date}/{file}"
# Whose partitions the plan switches.
TABLE = "spark_catalog.default.events"


class Rekeyed:
    """A data set below `events/` of a store, and the project that gives it other keys.

    Its ids begin with 100, its keys have letters that URLs escape, some objects are empty, and one has two versions.
    """

    def __init__(self, text: str, spark: Any, folder: ProjectFolder, store: Store, count: int) -> None:
        """Args:
        text: of the catalog file.
        spark: the session in which it runs; None for the engine of the catalog file.
        count: of objects.
        """
        self.spark, self.folder, self.store, self.s3 = spark, folder, store, store.client()
        self.name = f"objects_{uuid.uuid4().hex[:8]}"
        self.prefix = f"{store.prefix}events/"
        self.address = f"s3://{store.bucket}/{self.prefix}"
        self.objects = RekeyedObjects(self.address, OLD, NEW)
        folder.catalog(text, self.name)
        store.put_all({self.key(number): b"x" * (number % 7) for number in range(count)})
        self.put(self.key(0), b"its second version")
        self.plan()

    def key(self, number: int) -> str:
        """Return the old key of an object."""
        return f"{self.prefix}date=2026-01-{number % 9 + 1:02}/id={100 + number}/ü f {number}+.parquet"

    def put(self, name: str, content: bytes, **more: Any) -> None:
        self.s3.put_object(Bucket=self.store.bucket, Key=name, Body=content, **more)

    def put_in_parts(self, name: str, *parts: bytes) -> None:
        """Upload an object in parts, each but the last with 5 MiB at least."""
        place = {"Bucket": self.store.bucket, "Key": name}
        upload = {**place, "UploadId": self.s3.create_multipart_upload(**place)["UploadId"]}
        done = [
            {"PartNumber": number, "ETag": self.s3.upload_part(**upload, PartNumber=number, Body=part)["ETag"]}
            for number, part in enumerate(parts, start=1)
        ]
        self.s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": done})

    def plan(self) -> None:
        options = {"to": NEW, "keys": OLD, "partitioned": TABLE, "author": "Ada"}
        self.project.rekey_plan(self.address, [self.name], **options)
        self.edit(lag_seconds=0, window_seconds=1000, hold_seconds=0, soak_seconds=0, tasks=2)

    def switch_no_readers(self) -> None:
        """Leave out the phase that needs a table."""
        self.file("cutover").unlink()

    def write_once(self) -> None:
        """Leave out the phase that needs a writer."""
        self.file("verify_dual_write").unlink()

    def edit(self, **numbers: int) -> None:
        """Write other numbers into the files that did not run yet."""
        for path in self.files.glob("*.sql"):
            text = path.read_text()
            for name, number in numbers.items():
                text = re.sub(rf"{name} => \d+", f"{name} => {number}", text)
            path.write_text(text)

    def file(self, action: str) -> Path:
        """Return the file of a phase."""
        call = f"\nCALL glacierbase.rekey_{action}("
        [path] = [path for path in self.files.glob("*.sql") if call in path.read_text()]
        return path

    @property
    def files(self) -> Path:
        return self.folder.root / "migrations" / self.name

    @property
    def project(self) -> Project:
        return Project.load(self.folder.root)

    def migrate(self, to: str | None = None) -> Any:
        [result] = self.project.migrate([self.name], spark=self.spark, to=to)
        return result

    def waiting(self, to: str | None = None) -> str:
        """Run `migrate`; return why its file waits."""
        result = self.migrate(to)
        return str(result.waiting.waiting.why) if result.waiting else ""

    def old(self) -> dict[str, bytes]:
        return self.store.contents(f"{self.prefix}date=")

    def new(self) -> dict[str, bytes]:
        return self.store.contents(f"{self.prefix}id_reversed=")

    def mapped(self, objects: dict[str, bytes]) -> dict[str, bytes]:
        return {self.objects.new_key(name) or "": content for name, content in objects.items()}

    def entries(self, kind: str) -> list[str]:
        [path] = (self.folder.root / "rekey").glob("*.sqlite")
        query = "SELECT entry FROM journal WHERE kind LIKE ?"
        return [entry for (entry,) in sqlite3.connect(path).execute(query, (f"{kind}%",))]


@contextmanager
def writing(rekeyed: Rekeyed, pause: float = 0.05) -> Iterator[None]:
    """Write new objects, and old ones again, each with its old key and then with its new one, and delete one of ten.

    Args:
        pause: in seconds.
    """
    ended = threading.Event()

    def write() -> None:
        number = 10_000  # Above those of the set.
        while not ended.wait(pause):
            number += 1
            names = [rekeyed.key(number), rekeyed.key(number % 40)]
            for name in names:
                for written in (name, str(rekeyed.objects.new_key(name))):
                    rekeyed.put(written, f"{number}".encode())
            if number % 10 == 0:
                for written in (names[0], str(rekeyed.objects.new_key(names[0]))):
                    rekeyed.s3.delete_object(Bucket=rekeyed.store.bucket, Key=written)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()
