"""Values from outside the catalog files: environment variables and other files, read or replaced by placeholders."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Protocol

from glacierbase.catalogs.yamlfile import Place
from glacierbase.errors import ConfigurationError
from glacierbase.secrets import TooManySecrets, register

KINDS = ("env", "secret", "file")

_LARGEST = 1024 * 1024
# Files below these say that they are regular, and hold what the kernel knows of processes and devices.
_KERNEL = (Path("/proc"), Path("/sys"))


class ExternalValues(Protocol):
    """What `${env:NAME}`, `${secret:NAME}` and `${file:PATH}` stand for."""

    def value(self, kind: str, name: str, place: Place) -> str:
        """Return the text that `${kind:name}`, written at `place`, stands for.

        Raises:
            ConfigurationError: `UNSET_REFERENCE`.
        """

    def is_unread(self, text: str) -> bool:
        """Return whether `text` holds a placeholder, so that its real value is not known."""


class RealValues:
    """Reads the environment and files; values of `secret` and `file` are masked from then on."""

    def __init__(self, root: Path) -> None:
        """Args:
        root: the folder that paths are relative to.
        """
        self._root = root

    def value(self, kind: str, name: str, place: Place) -> str:
        return _from_file(self._root, name, place) if kind == "file" else _from_environment(kind, name, place)

    def is_unread(self, text: str) -> bool:  # noqa: ARG002 (it reads everything)
        return False


class Placeholders:
    """Reads nothing: a placeholder is a word that fits into SQL as an identifier, and into an address."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def value(self, kind: str, name: str, place: Place) -> str:  # noqa: ARG002 (nothing can fail)
        word = f"{kind}_{re.sub('[^A-Za-z0-9_]', '_', name)}"
        self._written.add(word)
        return word

    def is_unread(self, text: str) -> bool:
        return any(word in text for word in self._written)


def unset(place: Place, name: str, hint: str, what: str = "is not set") -> ConfigurationError:
    """Return the error for a reference without a value."""
    return place.error("UNSET_REFERENCE", f"${{{name}}} {what}", hint)


def too_many_secrets(place: Place) -> ConfigurationError:
    """Return the error for a secret beyond those that can be masked."""
    what = "the secrets up to here, with their lines, are too many or too long to be masked"
    return place.error(
        "INVALID_VALUE", what, "shorten them, or give the engine the path of a file that it reads itself"
    )


def _from_environment(kind: str, name: str, place: Place) -> str:
    value = os.environ.get(name) if name.isprintable() else None
    # CI services hand over a secret that does not exist as an empty one.
    if value is None or (kind == "secret" and not value):
        raise unset(place, f"{kind}:{name}", f"set the environment variable {name}")
    if kind == "secret":
        _mask(value, place)
    return value


def _from_file(root: Path, name: str, place: Place) -> str:
    try:
        text = _content(root / name).decode().rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else _why(error)
        hint = "paths are relative to the project"
        raise unset(place, f"file:{name}", hint, f"cannot be read: {why}") from error
    _mask(text, place)
    return text


def _mask(value: str, place: Place) -> None:
    try:
        register(value)
    except TooManySecrets as error:
        raise too_many_secrets(place) from error


def _why(error: ValueError) -> str:
    return "not UTF-8 text" if isinstance(error, UnicodeError) else str(error)


def _content(path: Path) -> bytes:
    """Return the content of a regular file. The checks look at the open file: the path may lead elsewhere by then.

    Raises:
        OSError, ValueError: it cannot be opened, or is not a file to be read.
    """
    with open(path, "rb", opener=_opened) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file")
        if any(_place(file.fileno(), path).is_relative_to(folder) for folder in _KERNEL):
            raise ValueError("a file of the kernel")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("larger than 1 MiB")
    return content


def _opened(path: str, flags: int) -> int:
    # A named pipe would wait for its writer, a terminal become this process's own.
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _place(descriptor: int, path: Path) -> Path:
    """Return where an open file is: as Linux says, else as its path says."""
    link = Path(f"/proc/self/fd/{descriptor}")
    return (link if link.exists() else path).resolve()
