"""References inside the strings of a catalog file: `${env:NAME}`, `${secret:NAME}`, `${variables.a.b}` and the others.

`$${` is a literal `${`. References in the value of a reference are not resolved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, SequenceNode, YamlPlace, is_null
from glacierbase.errors import ConfigurationError, GlacierbaseError, collected
from glacierbase.model.keys import ValueType
from glacierbase.model.text import did_you_mean
from glacierbase.run.files import FileRefused, read_anywhere
from glacierbase.secrets import (
    TooManySecrets,
    is_secret_variable,
    is_written_out,
    reaches_command_line,
    register,
    register_setting,
)

_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_SECRET = re.compile("secret:|file:")
_LONGEST, _LONGEST_IN_ALL, _DEEPEST = 1_000_000, 10_000_000, 50
# Patterns of what may be between `${` and `}`.
KNOWN_PLAIN = ("env:[^{}]+", r"variables\.[^{}]+", "projectRoot", "environment", "catalog")
KNOWN_SECRET = ("secret:[^{}]+", "file:[^{}]+")
_KNOWN = ("env:NAME", "secret:NAME", "file:PATH", "projectRoot", "variables.NAME", "environment", "catalog")
KINDS = ("env", "secret", "file")

_LARGEST = 2**20


class References:
    """Resolve the references of one catalog, for one environment."""

    def __init__(self, names: Mapping[str, str], variables: MappingNode, external: ExternalValues) -> None:
        """Args:
        names: the values of `environment`, `catalog` and `projectRoot`.
        variables: the catalog's, with references in them.
        external: the values of `env`, `secret` and `file`.
        """
        self._names = names
        self._variables = variables
        self._external = external
        self._open: list[str] = []
        self._variable_values: dict[str, str | int | float | bool | None] = {}
        self._reads_outside = False  # Whether the text that is being resolved has a value from outside of the file.
        self._from_outside: set[str] = set()  # The variables that have one.
        self._length = 0  # Of all resolved values together.

    def text(self, node: ScalarNode, key: str = "") -> str:
        """Return the text of a scalar with its references resolved; a secret of the setting `key` is masked from now on.

        Raises:
            ConfigurationError: `UNSET_REFERENCE`, `UNKNOWN_REFERENCE`, `CYCLIC_REFERENCE`, `INVALID_VALUE` for a secret that
                would reach a command line, or `SECRET_IN_CATALOG_FILE`.
        """
        if reaches_command_line(key) and (secret := _secret(node.text)):
            raise node.place.error(
                "INVALID_VALUE",
                f"{key}: {secret} would be on a command line, which every user of the machine can read",
                "write it as a separate property, or let the program read it from its environment or a file",
            )
        if key:
            self._reads_outside = False
        text = _REFERENCE.sub(lambda match: self._resolve(match[1], node.place), node.text)
        if key and not self._reads_outside and is_written_out(key, text):
            raise node.place.error(
                "SECRET_IN_CATALOG_FILE",
                f"{key}: the value is a secret, which everybody who may read the project would know",
                "write ${secret:NAME} or ${file:PATH} in its place, and revoke the secret",
            )
        if len(text) > _LONGEST:
            what = "with its references resolved it holds more than a million characters"
            raise node.place.error("INVALID_VALUE", what, "shorten them")
        if key and not self.is_unread(text):
            try:
                register_setting(key, text)
            except TooManySecrets as error:
                raise too_many_secrets(node.place) from error
        return text

    def parsed(self, node: ScalarNode, name: str, value_type: ValueType, default: Any) -> Any:
        """Return the value of the key `name`; `default` if a reference in it was not read.

        Raises:
            ConfigurationError: `INVALID_VALUE`, with the text as written; also as `text`.
        """
        text = self.text(node, name)
        try:
            return value_type.convert(text)
        except ValueError as error:
            if self.is_unread(text):
                return default
            what = f"{name}: {node.text!r} is not {value_type.expected}"
            raise node.place.error("INVALID_VALUE", what, "correct the value") from error

    def is_unread(self, text: str) -> bool:
        """Return whether a reference in this text was not read, so that its real value is not known."""
        return self._external.is_unread(text)

    def variable(self, node: ScalarNode, path: str) -> str | int | float | bool | None:
        """Return a variable's value; a reference to another variable, and nothing else, has the type of that variable.

        Args:
            path: its name, with those of the mappings that it is in.

        Raises:
            ConfigurationError: as `text`, and `SECRET_IN_VARIABLES`.
        """
        if not isinstance(node.value, str):
            return node.value
        secret = _secret(node.text)
        if secret or is_secret_variable(path, node.text):
            raise node.place.error(
                "SECRET_IN_VARIABLES",
                f"{secret or path} is a secret: in a variable it would reach SQL, checksums and query logs",
                "use it under migrationExecutor.conf, or ${env:NAME} for a value that is not secret",
            )
        whole = _REFERENCE.fullmatch(node.text)
        if whole and (whole[1] or "").startswith("variables."):
            return self._variable(whole[1], node.place)
        return self.text(node)

    def _resolve(self, name: str | None, place: YamlPlace) -> str:
        text = self._text_of(name, place) if name is not None else "${"
        self._length += len(text)
        if self._length > _LONGEST_IN_ALL:
            what = "the references up to here resolve to more than ten million characters"
            raise place.error("INVALID_VALUE", what, "shorten their values")
        return text

    def _text_of(self, name: str, place: YamlPlace) -> str:
        if name in self._names:
            return self._names[name]
        kind, _, rest = name.partition(":")
        if kind in KINDS and rest:
            self._reads_outside = True
            return self._external.value(kind, rest, place)
        if name.startswith("variables."):
            return _as_text(self._variable(name, place))
        allowed = f"allowed: {', '.join(_KNOWN)}; $${{ is a literal ${{"
        raise place.error(
            "UNKNOWN_REFERENCE",
            f"unknown reference ${{{name}}}",
            did_you_mean(name, (*_KNOWN, *self._names), allowed, "${{{}}}"),
        )

    def _variable(self, name: str, place: YamlPlace) -> str | int | float | bool | None:
        node = self._variables.get(*name.split(".")[1:])
        if node is None or is_null(node):
            raise unset(place, name, "write it under `variables`")
        if not isinstance(node, ScalarNode):
            raise unset(place, name, "name a single value below it", "is a mapping or a list")
        if name in self._variable_values:
            self._reads_outside |= name in self._from_outside
            return self._variable_values[name]
        if len(self._open) > _DEEPEST:
            what = f"{name} is referenced through more than {_DEEPEST} other variables"
            raise place.error("CYCLIC_REFERENCE", what, "give one of them a value")
        if name in self._open:
            cycle = " → ".join([*self._open[self._open.index(name) :], name])
            raise place.error("CYCLIC_REFERENCE", f"{cycle} is a cycle", "give one of them a value")
        self._open.append(name)
        before, self._reads_outside = self._reads_outside, False
        try:
            self._variable_values[name] = self.variable(node, name.partition(".")[2])
            if self._reads_outside:
                self._from_outside.add(name)
            return self._variable_values[name]
        finally:
            self._reads_outside |= before
            self._open.pop()


def resolved(node: Node, references: References, errors: list[GlacierbaseError], path: str = "") -> Any:
    """Return variables as Python's dict, list, str, int, float, bool and None; append their errors to `errors`.

    Args:
        path: the names of the mappings that the node is in.
    """
    if isinstance(node, MappingNode):
        prefix = f"{path}." if path else ""
        return {key: resolved(value, references, errors, f"{prefix}{key}") for key, value in node.values.items()}
    if isinstance(node, SequenceNode):
        return [resolved(item, references, errors, path) for item in node.items]
    with collected(errors):
        return references.variable(node, path)
    return None


def _secret(text: str) -> str | None:
    """Return the first reference to a secret in `text`, or None."""
    secrets = (reference[0] for reference in _REFERENCE.finditer(text) if _SECRET.match(reference[1] or ""))
    return next(secrets, None)


def _as_text(value: str | int | float | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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


PLACEHOLDER = re.compile(r"\b(?:env|secret|file)_\w+")


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


class KnownValues(Placeholders):
    """Values as `RealValues` reads them; words in place of those that are not set."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._real = RealValues(root)

    def value(self, kind: str, name: str, place: YamlPlace) -> str:
        try:
            return self._real.value(kind, name, place)
        except ConfigurationError as error:
            if error.code != "UNSET_REFERENCE":
                raise
            return super().value(kind, name, place)


def unset(place: YamlPlace, name: str, hint: str, what: str = "is not set", **data: Any) -> ConfigurationError:
    """Return the error for a reference without a value."""
    return place.error("UNSET_REFERENCE", f"${{{name}}} {what}", hint, **data)


def with_unset_joined(errors: Sequence[GlacierbaseError]) -> list[GlacierbaseError]:
    """Return the errors, those about environment variables that are not set as one for each file."""
    by_file: dict[str | None, list[GlacierbaseError]] = {}
    for error in errors:
        by_file.setdefault(error.data["path"] if "references" in error.data else None, []).append(error)
    others = by_file.pop(None, [])
    return [*map(_joined, by_file.values()), *others]


def _joined(errors: Sequence[GlacierbaseError]) -> GlacierbaseError:
    """Return the error about all environment variables of one file that are not set."""
    references = tuple(dict.fromkeys(name for error in errors for name in error.data["references"]))
    if len(references) == 1:
        return errors[0]
    names = dict.fromkeys(reference.partition(":")[2] for reference in references)
    what = f"{', '.join(f'${{{reference}}}' for reference in references)} are not set"
    place = YamlPlace(errors[0].data["path"], errors[0].data["line"])
    return place.error(
        "UNSET_REFERENCE", what, f"set the environment variables {', '.join(names)}", references=references
    )


def too_many_secrets(place: YamlPlace) -> ConfigurationError:
    """Return the error for more or longer secrets than can be masked."""
    what = "the secrets up to here, with their lines, are too many or too long to be masked"
    hint = "shorten them, or give the engine the path of a file that it reads itself"
    return place.error("INVALID_VALUE", what, hint)


def _from_environment(kind: str, name: str, place: YamlPlace) -> str:
    value = os.environ.get(name) if name.isprintable() else None
    # CI services pass an empty value for a secret that does not exist.
    if value is None or (kind == "secret" and not value):
        reference = f"{kind}:{name}"
        raise unset(place, reference, f"set the environment variable {name}", references=(reference,))
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
