"""The keys of a data set of objects, before and after its re-key: two templates below one prefix of a bucket.

A template is text with variables: `date={date}/id={id}/{file}`. The value of a variable has no `/`. In the new keys, a variable may
have a function: `{id:reversed}`, or `{id:hash 2}`, the first hexadecimal digits of its MD5 (`layout.keys`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from glacierbase.errors import StatementRefused
from glacierbase.layout.expressions import DIALECTS
from glacierbase.layout.keys import LEVELS, hash_prefix, reversed_id

_VARIABLE = re.compile(
    r"\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::(?:(?P<reversed>reversed)|hash (?P<digits>[0-9]{1,2})))?\}"
)
_SQL = DIALECTS["spark"]


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable in a template; `digits` is 0 where it is no hash."""

    name: str
    is_reversed: bool = False
    digits: int = 0

    @property
    def pattern(self) -> str:
        return f"[0-9a-f]{{{self.digits}}}" if self.digits else "[^/]+"

    def sql(self, value: str) -> str:
        if self.digits:
            return _SQL.hash_prefix(value, self.digits)
        return _SQL.reversed_id(value) if self.is_reversed else value

    def of(self, value: str) -> str:
        if self.digits:
            return hash_prefix(value, self.digits)
        return reversed_id(value) if self.is_reversed else value


@dataclass(frozen=True)
class RekeyedObjects:
    """The objects below a prefix whose keys match one template, and their keys by another.

    Raises:
        StatementRefused: `CANNOT_REKEY`: the address or a template is wrong, a new key would not be that of one object alone, or
            a key could match both templates.
    """

    address: str
    old_keys: str
    new_keys: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"s3://[a-z0-9.-]{3,63}/(?:[^\0]*/)?", self.address):
            raise _refused(f"{self.address} is not the address of a prefix, s3://BUCKET/PREFIX/")
        for template in (self.old_keys, self.new_keys):
            _check(template)
        if functions := [part for part in _variables(self.old_keys) if part.digits or part.is_reversed]:
            raise _refused(f"{self.old_keys} has a function of {functions[0].name}, which only new keys may have")
        names = [variable.name for variable in _variables(self.old_keys)]
        if len(names) > len({*names}):
            raise _refused(f"{self.old_keys} has a variable twice")
        whole = {variable.name for variable in _variables(self.new_keys) if not variable.digits}
        if missing := [name for name in names if name not in whole]:
            raise _refused(f"{self.new_keys} lacks {{{missing[0]}}}: two objects could get one key")
        if unknown := [part.name for part in _variables(self.new_keys) if part.name not in names]:
            raise _refused(f"{self.old_keys} has no {{{unknown[0]}}}, of which {self.new_keys} is made")
        if not _differ(self.old_keys, self.new_keys):
            raise _refused(
                f"a key may match both {self.old_keys} and {self.new_keys}; begin the new keys with other text"
            )

    @property
    def bucket(self) -> str:
        return self.address.split("/")[2]

    @property
    def prefix(self) -> str:
        return self.address.split("/", 3)[3]

    @cached_property
    def old_start(self) -> str:
        """What all old keys begin with."""
        return self.prefix + _start(self.old_keys)

    @cached_property
    def new_start(self) -> str:
        """What all new keys begin with."""
        return self.prefix + _start(self.new_keys)

    @cached_property
    def old_pattern(self) -> str:
        """The regular expression of an old key, with a group for each variable; Java reads it as Python does."""
        return rf"\A{_pattern(self.prefix + self.old_keys)}\z"

    @cached_property
    def new_pattern(self) -> str:
        """The regular expression of a new key."""
        return rf"\A{_pattern(self.prefix + self.new_keys)}\z"

    @cached_property
    def is_one_to_one(self) -> bool:
        """Whether the templates show that no two objects get one key, because no folder of the new one has two variables.

        `{a}-{b}` has one key for `x-y`, `z` and for `x`, `y-z`. A hash has its number of digits.
        """
        folders = map(_variables, self.new_keys.split("/"))
        return all(sum(not variable.digits for variable in variables) < 2 for variables in folders)

    def new_key_sql(self, key: str, quoted: Callable[[str], str]) -> str:
        """Return the expression of Spark SQL for the new key of an old one.

        Args:
            quoted: returns the literal of a text.
        """
        groups = {variable.name: number for number, variable in enumerate(_variables(self.old_keys), start=1)}
        parts = []
        for part in _parts(self.prefix + self.new_keys):
            if isinstance(part, str):
                parts.append(quoted(part))
            else:
                parts.append(part.sql(f"regexp_extract({key}, {quoted(self.old_pattern)}, {groups[part.name]})"))
        return f"concat({', '.join(parts)})"

    def new_key(self, key: str) -> str | None:
        """Return the new key of an old one; None where the key is no old one."""
        match = re.fullmatch(_pattern(self.prefix + self.old_keys), key)
        if match is None:
            return None
        values = dict(zip((variable.name for variable in _variables(self.old_keys)), match.groups(), strict=True))
        return _filled(self.prefix + self.new_keys, values)

    def old_key(self, key: str) -> str | None:
        """Return the old key of a new one; None where the key is no new one."""
        match = re.fullmatch(_pattern(self.prefix + self.new_keys), key)
        if match is None:
            return None
        parts = zip(_variables(self.new_keys), match.groups(), strict=True)
        # A text that is reversed twice is the text.
        values = {part.name: part.of(value) for part, value in parts if not part.digits}
        old = _filled(self.prefix + self.old_keys, values)
        return old if self.new_key(old) == key else None

    @cached_property
    def folders(self) -> RekeyedObjects:
        """The folders of the objects: the files of one, and no others, get their keys in another one.

        Raises:
            StatementRefused: `CANNOT_REKEY`: the folders have not the same variables.
        """
        return RekeyedObjects(self.address, self.old_keys.rpartition("/")[0], self.new_keys.rpartition("/")[0])


def of_arguments(arguments: Mapping[str, str]) -> RekeyedObjects:
    """Return the objects that the call of an action names. Raises as `RekeyedObjects`."""
    return RekeyedObjects(arguments["objects"], arguments["old_keys"], arguments["new_keys"])


def _parts(template: str) -> Iterator[str | _Variable]:
    at = 0
    for match in _VARIABLE.finditer(template):
        if text := template[at : match.start()]:
            yield text
        yield _Variable(match["name"], match["reversed"] is not None, int(match["digits"] or 0))
        at = match.end()
    if text := template[at:]:
        yield text


def _variables(template: str) -> list[_Variable]:
    return [part for part in _parts(template) if isinstance(part, _Variable)]


def _filled(template: str, values: Mapping[str, str]) -> str:
    return "".join(part if isinstance(part, str) else part.of(values[part.name]) for part in _parts(template))


def _pattern(template: str) -> str:
    parts = _parts(template)
    return "".join(re.escape(part) if isinstance(part, str) else f"({part.pattern})" for part in parts)


def _start(template: str) -> str:
    first = next(_parts(template))
    return first if isinstance(first, str) else ""


def _check(template: str) -> None:
    """Check that a template has variables that are apart from each other, and nothing else in braces."""
    if not _variables(template) or "{" in _VARIABLE.sub("", template) or "}" in _VARIABLE.sub("", template):
        raise _refused(f"{template} is not a template such as date={{date}}/id={{id:reversed}}/{{file}}")
    if template.startswith("/") or "//" in template or template.endswith("/"):
        raise _refused(f"{template} has a folder without a name")
    if "}{" in template:
        raise _refused(f"{template} has two variables without text between them")
    if wrong := [part.digits for part in _variables(template) if part.digits and part.digits not in LEVELS]:
        raise _refused(f"{template} has {wrong[0]} digits of a hash; MD5 has {LEVELS[-1]}")


def _differ(first: str, second: str) -> bool:
    """Return whether no key matches both templates, as far as their text shows: other folders, or another text at a place."""
    folders = first.split("/"), second.split("/")
    if len(folders[0]) != len(folders[1]):
        return True
    texts = ([_start(folder) for folder in template] for template in folders)
    return any(not (first.startswith(other) or other.startswith(first)) for first, other in zip(*texts, strict=True))


def _refused(why: str) -> StatementRefused:
    return StatementRefused("CANNOT_REKEY", why)
