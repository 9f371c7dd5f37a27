"""Values from outside the catalog files: environment variables and other files, read or replaced by placeholders."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

from glacierbase.catalogs.nodes import YamlPlace
from glacierbase.errors import ConfigurationError
from glacierbase.run.files import FileRefused, read_anywhere
from glacierbase.secrets import TooManySecrets, register

KINDS = ("env", "secret", "file")

_LARGEST = 2**20


class ExternalValues(Protocol):
    """The values of `${env:NAME}`, `${secret:NAME}` and `${file:PATH}`."""

    def value(self, kind: str, name: str, place: YamlPlace) -> str:
        """Return the value of `${kind:name}`, written at `place`.

        Raises:
            ConfigurationError: `UNSET_REFERENCE`.
        """

    def is_unread(self, text: str) -> bool:
        """Return whether `text` holds a placeholder, so that its real value is not known."""


class RealValues:
    """Values read from the environment and from files; those of `secret` and `file` are masked from then on."""

    def __init__(self, root: Path) -> None:
        """Args:
        root: the folder that paths are relative to.
        """
        self._root = root

    def value(self, kind: str, name: str, place: YamlPlace) -> str:
        return _from_file(self._root, name, place) if kind == "file" else _from_environment(kind, name, place)

    def is_unread(self, text: str) -> bool:  # noqa: ARG002 (every value is read)
        return False


class Placeholders:
    """Words in place of values; each is valid in SQL as an identifier, and in an address."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def value(self, kind: str, name: str, place: YamlPlace) -> str:  # noqa: ARG002 (nothing can fail)
        word = f"{kind}_{re.sub('[^A-Za-z0-9_]', '_', name)}"
        self._written.add(word)
        return word

    def is_unread(self, text: str) -> bool:
        return any(word in text for word in self._written)


def unset(place: YamlPlace, name: str, hint: str, what: str = "is not set") -> ConfigurationError:
    """Return the error for a reference without a value."""
    return place.error("UNSET_REFERENCE", f"${{{name}}} {what}", hint)


def too_many_secrets(place: YamlPlace) -> ConfigurationError:
    """Return the error for a secret beyond those that can be masked."""
    what = "the secrets up to here, with their lines, are too many or too long to be masked"
    hint = "shorten them, or give the engine the path of a file that it reads itself"
    return place.error("INVALID_VALUE", what, hint)


def _from_environment(kind: str, name: str, place: YamlPlace) -> str:
    value = os.environ.get(name) if name.isprintable() else None
    # CI services pass an empty value for a secret that does not exist.
    if value is None or (kind == "secret" and not value):
        raise unset(place, f"{kind}:{name}", f"set the environment variable {name}")
    if kind == "secret":
        _mask(value, place)
    return value


def _from_file(root: Path, name: str, place: YamlPlace) -> str:
    try:
        text = read_anywhere(root / name, _LARGEST).decode().rstrip("\r\n")
    except (FileRefused, UnicodeDecodeError) as error:
        what = error.what if isinstance(error, FileRefused) else "cannot be read: not UTF-8 text"
        raise unset(place, f"file:{name}", "paths are relative to the project", what) from error
    _mask(text, place)
    return text


def _mask(value: str, place: YamlPlace) -> None:
    try:
        register(value)
    except TooManySecrets as error:
        raise too_many_secrets(place) from error
