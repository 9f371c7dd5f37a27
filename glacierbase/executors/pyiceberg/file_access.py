"""Files of tables: one request for a read and one for a write. What was read or written of files that never change is kept.

A file whose name holds a UUID is written once: metadata files, manifest lists, manifests, data files. Others, such as
`version-hint.text` and `v1.metadata.json` of Hadoop catalogs, are read each time, as are files of this machine.
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from pyiceberg.io import FileIO, InputFile, OutputFile

from glacierbase.executors.pyiceberg.object_stores import LOGIN, Login, StoreNotMapped, in_bulk, login_of, open_store

T = TypeVar("T")
# The UUID in the name of a file.
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=[^/]*\Z)")
# Of all kept files of a catalog. PyIceberg reads a larger file, in parts.
_KEPT_BYTES = 64 * 2**20
# Each has connections. Where the catalog's server sends logins, each table has a store.
_MOST_STORES = 16
# For files that are deleted one by one.
_REQUESTS_AT_ONCE = 8
_S3 = ("s3://", "s3a://", "s3n://")
_LOCAL = re.compile(r"(?:file:(?://[^/]*)?)?(/.*)", re.DOTALL)
_IN_STORE = re.compile(r"([a-z0-9]+)://([^/]+)/(.+)", re.DOTALL)
# Segments and characters of a key that obstore refuses.
_ODD_KEY = re.compile(r"(^|/)(\.{0,2})(/|$)|[\x00-\x1f\x7f]")
_OF_FILES = re.compile(r"(s3|client|gcs|adls)\..+|py-io-impl")
# The elements of a store's refusal in the text of an error.
_REFUSAL = ("Code", "Message")


class Recent(Generic[T]):
    """Values by key, up to a size; those unused for the longest time are dropped."""

    def __init__(self, most: int, size_of: Callable[[T], int]) -> None:
        self._most, self._size_of = most, size_of
        self._values: OrderedDict[Any, T] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: Any) -> T | None:
        """Return a value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: Any, value: T) -> None:
        """Keep a value, in place of another one of the key."""
        with self._lock:
            self._drop(key)
            self._values[key] = value
            self._size += self._size_of(value)
            while self._size > self._most:
                self._size -= self._size_of(self._values.popitem(last=False)[1])

    def drop(self, key: Any) -> None:
        """Drop a value, if there is one."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: Any) -> None:
        if key in self._values:
            self._size -= self._size_of(self._values.pop(key))


class _OpenStore:
    """A store.

    Attributes:
        why_not: why obstore does not reach it; None where it does.
    """

    def __init__(self, scheme: str, authority: str, files: TableFiles, login: Callable[[], Login | None]) -> None:
        self.why_not: str | None = None
        try:
            provider = (lambda: login() or {}) if login() else None
            self.store = open_store(scheme, authority, files.properties, files.wait_seconds, provider)
        except StoreNotMapped as why:
            self.why_not = str(why)


class FileAccess:
    """The stores and the kept files of one opened catalog.

    Attributes:
        kept: the content of files, by location.
        sent: the properties with the login that was sent last, by the key of the files of a table.
    """

    def __init__(self) -> None:
        self.kept = Recent[bytes](_KEPT_BYTES, len)
        self.sent: dict[Any, Mapping[str, Any]] = {}
        self._stores = Recent[_OpenStore](_MOST_STORES, lambda _: 1)

    def store(self, scheme: str, authority: str, files: TableFiles) -> _OpenStore:
        """Return the store of a bucket or container, whose login is the one that was sent last for these files."""
        key = files.key
        opened = self._stores.get((scheme, authority, key))
        if opened is None:
            opened = _OpenStore(scheme, authority, files, lambda: login_of(scheme, authority, self.sent[key]))
            self._stores.keep((scheme, authority, key), opened)
        return opened


class TableFiles(FileIO):  # type: ignore[misc]
    """The files of one table.

    Attributes:
        key: what stores with the same connections have in common, apart from the login.
    """

    def __init__(
        self,
        access: FileAccess,
        properties: Mapping[str, Any],
        owner: str,
        wait_seconds: float,
        fallback: Callable[[], FileIO],
    ) -> None:
        """Args:
        owner: the table to which a login in the properties is limited; empty for none.
        wait_seconds: the limit of the waits of one request.
        fallback: opens PyIceberg's file IO.
        """
        super().__init__(properties)
        self.wait_seconds = wait_seconds
        settings = {name: str(value) for name, value in properties.items() if _OF_FILES.fullmatch(name)}
        self.key = owner, frozenset(item for item in settings.items() if not item[0].startswith(LOGIN))
        self._access, self._open_fallback = access, fallback
        access.sent[self.key] = properties

    @cached_property
    def _fallback(self) -> FileIO:
        return self._open_fallback()

    def _file(self, location: str) -> StoredFile | LocalFile | None:
        """Return a file; None where PyIceberg's file IO reads and writes it."""
        if local := _LOCAL.fullmatch(location):
            return LocalFile(location, Path(local[1]))
        parts = _IN_STORE.fullmatch(location)
        if parts is None or _ODD_KEY.search(parts[3]):
            return None
        opened = self._access.store(parts[1], parts[2], self)
        if opened.why_not:
            return None
        return StoredFile(
            location, opened.store, parts[3], self._access.kept, lambda: self._fallback.new_input(location)
        )

    def way(self, location: str) -> str:
        """Return through what the files at a location are read and written, and why; empty for files of this machine."""
        if _LOCAL.fullmatch(location):
            return ""
        parts = _IN_STORE.fullmatch(f"{location.rstrip('/')}/_")
        why_not = self._access.store(parts[1], parts[2], self).why_not if parts else "obstore has no such location"
        how = f"PyIceberg's file IO, because {why_not}" if why_not else f"obstore {version('obstore')}"
        return f"{location} through {how}"

    def new_input(self, location: str) -> InputFile:
        file = self._file(location)
        return self._fallback.new_input(location) if file is None else file

    def new_output(self, location: str) -> OutputFile:
        file = self._file(location)
        return self._fallback.new_output(location) if file is None else file

    def delete(self, location: str | InputFile | OutputFile) -> None:
        place = location if isinstance(location, str) else location.location
        file = self._file(place)
        if file is None:
            self._fallback.delete(place)
        else:
            file.delete()

    def delete_all(self, locations: Iterable[str], folder: str) -> None:
        """Delete files that nothing references. A server of S3 deletes up to a thousand files by one request, if it can.

        Args:
            folder: the location of a table. Whoever commits to the table names files; those elsewhere are left.
        """
        stored: dict[int, list[StoredFile]] = defaultdict(list)
        others: list[str] = []
        for location in locations:
            if not location.startswith(f"{folder.rstrip('/')}/") or ".." in location.split("/"):
                continue
            file = self._file(location)
            if isinstance(file, StoredFile) and location.startswith(_S3):
                stored[id(file._store)].append(file)
            else:
                others.append(location)
        for files in stored.values():
            try:
                with _errors("DELETE", files[0].location):
                    in_bulk(files[0]._store).delete([file._key for file in files])
            except OSError:
                others += (file.location for file in files)
        with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
            list(pool.map(self._try_to_delete, others))

    def _try_to_delete(self, location: str) -> None:
        # It may be deleted already, or deletion may be forbidden, or no file has such a name.
        with suppress(OSError, ValueError):
            self.delete(location)


class LocalFile(InputFile, OutputFile):  # type: ignore[misc]
    """A file of this machine."""

    def __init__(self, location: str, path: Path) -> None:
        super().__init__(location)
        self._path = path

    def __len__(self) -> int:
        return self._path.stat().st_size

    def exists(self) -> bool:
        return self._path.exists()

    def open(self, seekable: bool = True) -> Any:  # noqa: ARG002 (PyIceberg's)
        return self._path.open("rb")

    def to_input_file(self) -> LocalFile:
        return self

    def create(self, overwrite: bool = False) -> Any:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path.open("wb" if overwrite else "xb")

    def delete(self) -> None:
        self._path.unlink()


class StoredFile(InputFile, OutputFile):  # type: ignore[misc]
    """A file in an object store."""

    def __init__(
        self, location: str, store: Any, key: str, kept: Recent[bytes], fallback: Callable[[], InputFile]
    ) -> None:
        super().__init__(location)
        self._store, self._key, self._kept, self._fallback = store, key, kept, fallback
        self._size: int | None = None

    def __len__(self) -> int:
        if self._size is None:
            content = self._kept.get(self.location)
            self._size = len(content) if content is not None else self._head()
        return self._size

    def _head(self) -> int:
        with _errors("HEAD", self.location):
            return int(self._store.head(self._key)["size"])

    def exists(self) -> bool:
        try:
            self._head()
        except FileNotFoundError:
            return False
        return True

    def open(self, seekable: bool = True) -> Any:
        content = self._kept.get(self.location)
        if content is None:
            with _errors("GET", self.location):
                answer = self._store.get(self._key)
                if answer.meta["size"] > _KEPT_BYTES:
                    return self._fallback().open(seekable)
                content = bytes(answer.bytes())
            self._keep(content)
        return BytesIO(content)

    def to_input_file(self) -> StoredFile:
        return self

    def create(self, overwrite: bool = False) -> Any:
        return _Upload(self, overwrite)

    def put(self, content: bytes, *, overwrite: bool) -> None:
        """Write the file in one request.

        Raises:
            FileExistsError: it exists with another content, and `overwrite` is False.
        """
        try:
            with _errors("PUT", self.location):
                self._store.put(self._key, content, mode="overwrite" if overwrite else "create")
        except FileExistsError:
            # A request whose answer was lost is sent again, and then refused because of the first one.
            with self.open() as stream:
                if stream.read() != content:
                    raise
        self._size = len(content)
        self._keep(content)

    def _keep(self, content: bytes) -> None:
        if UUID.search(self.location):
            self._kept.keep(self.location, content)

    def delete(self) -> None:
        self._kept.drop(self.location)
        with _errors("DELETE", self.location):
            self._store.delete(self._key)


class _Upload(BytesIO):
    """The content of a new file, which is written when the stream is closed, unless the block that writes it fails."""

    def __init__(self, file: StoredFile, overwrite: bool) -> None:
        super().__init__()
        self._file, self._overwrite = file, overwrite

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            super().close()
        self.close()

    def close(self) -> None:
        if self.closed:
            return
        content = self.getvalue()
        super().close()
        self._file.put(content, overwrite=self._overwrite)


@contextmanager
def _errors(method: str, location: str) -> Iterator[None]:
    """Raise the errors of obstore as those that PyIceberg documents, with the words of the store and without its address.

    They replace their causes, because the innermost cause of an error is what a user reads.
    """
    from obstore import exceptions

    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"{location} does not exist") from None
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # Of a login or an address that no request can have.
        if not is_panic and not isinstance(error, exceptions.BaseError):
            raise
        text = str(error)
        refusal = [text.partition(f"<{name}>")[2].partition(f"</{name}>")[0] for name in _REFUSAL]
        words = ": ".join(refusal) if all(refusal) else text.partition("\n")[0].partition("?")[0]
        what = f"{method} {location}: {words}"
        if isinstance(error, exceptions.AlreadyExistsError):
            raise FileExistsError(what) from None
        if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
            raise PermissionError(what) from None
        raise OSError(what) from None
