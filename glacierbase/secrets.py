"""Secret values, and the masking of text that leaves the program.

A `Secrets` holds the secrets of one project. Loading a catalog file registers them; `mask` then replaces them in every message,
log line, document and history row. Each verb of a `Project` runs with the project's `Secrets` in use. Text that is masked outside
of a verb is masked with the secrets of all projects of the process, so that a text of unknown origin never shows one.

Of a registered value, these forms are replaced:

- the value without the white space around it, and each of its lines of four or more characters;
- both also with folded white space, and with characters escaped as in JSON, Python's `repr`, XML or a URL (`%2F` or `%2f`);
- a single line of six bytes or more in base64, whatever precedes and follows it there, as in `Authorization: Basic …`;
- of a JSON key file, also each value under a secret key.

A value of fewer than four characters is replaced as a whole word only. One of more than 4,000 characters is replaced only where
it occurs unchanged. `true`, `false`, `null`, `none` and numbers of up to five digits are not replaced. The password of a URI
(`https://user:password@host`) is replaced whether it is registered or not. Values that would take minutes to mask are refused.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from html import escape
from threading import Lock
from typing import Any
from urllib.parse import quote, unquote
from weakref import WeakSet

MASK = "***"

# Values of keys that only look secret ("token-refresh-enabled: true"). Masking them would spoil half of the output.
_HARMLESS = re.compile(r"(?i)true|false|null|none|\d{1,5}")
# A shorter secret is masked as a whole word only: "a" must not turn "table" into "t***ble".
_SHORT = 4
# A longer secret is masked only where it occurs unchanged: a pattern of its escaped forms would take a second to compile.
_LONG = 4_000
# Base64 of fewer bytes occurs by chance.
_SHORTEST_ENCODED = 6

# The value of such a key is a secret, whether it is literal or a reference.
_SECRET_KEY = re.compile(
    r"(?i)password|passwd|passphrase|passcode|pwd|secret|token|credential|private|authorization|cookie"
    r"|(?:account|access|api|encryption|sse)[._-]?key"
    r"|(?<![a-z])sas(?![a-z])"  # A shared access signature; not a part of `cassandra` or `sasl`.
)
# The value of such a key is the path of a file, which is shown; `${secret:…}` and `${file:…}` in it are masked all the same.
_PATH_KEY = re.compile(r"(?i:(?:[._-]|key|token)(?:file|path|file[._-]path))$|[a-z](?:File|Path)$")
_LONGEST_PATH = 255
# Spark puts the values of these keys on the command line of a JVM; those of `hooks` are a command line.
_COMMAND_LINE_KEY = re.compile(r"(?:extra|default)(?:JavaOptions|ClassPath|LibraryPath)$|^hooks\.")

_LOGIN = re.compile(r"""(?<=://)([^/?#\s"<>:@]*):([^/?#\s"<>]*)@""")
_MASKED_LOGIN = rf"\1:{MASK}@"
# `;token=…` of Spark Connect, `?password=…` of JDBC, ` -Dx.password=…` of Java.
_PARAMETER = re.compile(r"(?:^|[;?&\s])([^=;?&\s]+)=([^;&#\s]*)")

# Values under secret keys that are no secrets, beside `_HARMLESS`: classes, addresses without a login, names of AWS.
_NOT_SECRET = re.compile(r"(?:[a-z]\w*\.)+[A-Z]\w*|[a-z]+://[^\s@?]*|arn:[\w:/.-]*", re.ASCII)
# Keys that look secret and describe how one is used.
_ABOUT_SECRET = re.compile(r"(?i)[._-](?:ms|seconds|enabled|type|provider|ur[il]|endpoint|impl|class|at|id)$")
# The last words of the path of a variable whose value is a secret. Others name tables and columns: `token_table`.
_SECRET_VARIABLE = re.compile(
    r"(?i)(?:password|passwd|passphrase|passcode|pwd|secret|token|credentials?|(?:private|account|access|api)[._-]?key)$"
)
# Secrets in SQL: keys of cloud providers and code hosts, private keys, passwords in addresses, and values of secret names. Each
# group is a secret; without one, the whole match.
_IN_SQL = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[0-9A-Za-z]{36}\b|-----BEGIN [A-Z ]*PRIVATE KEY[^'\"]*|AccountKey=([\w+/=]{40,})|"
    r"(?i:[a-z][\w+.-]{1,20}://[^\s/:@'\"]{1,64}:([^\s/@'\"]{3,})@|[?&]sig=([\w%+/-]{20,})|"
    r"(?:master|private)_key\s*=\s*'([^']{16,})|"
    r"(?:password|passwd|secret|(?:access|api)[._-]?key|(?:auth|sas|refresh|bearer|access)[._-]?token)"
    r"[\w.-]{0,50}['\"]?\s*=>?\s*['\"](?!(?:y|n|yes|no|true|false|none|null)['\"])([^'\"]+)['\"])"
)
# A text without these words has none of them, and no property with a secret name. The search for words costs a tenth.
_WORDS_IN_SQL = (
    "://", "akia", "asia", "authorization", "cookie", "credential", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "key", "passcode",
    "passphrase", "passw", "private", "pwd", "sas", "secret", "sig=", "token",
)  # fmt: skip
# The properties of a table or a namespace, and each of them with its value.
_PROPERTIES = re.compile(r"(?i)\b(?:TBL|DB)?(?:PROPERTIES|OPTIONS)\s*\(")
_PROPERTY = re.compile(r"""(?<![\w.'"-])['"]?([\w.-]{1,200})['"]?(?:\s*=)?\s*['"]([^'"]+)['"]""")
# A user of Snowflake, whose password needs no quotes if it is one word.
_USER = re.compile(r"(?i)(?:CREATE|ALTER)\s+(?:OR\s+REPLACE\s+)?USER\b")
_UNQUOTED_PASSWORD = re.compile(r"(?i)\bPASSWORD\s*=\s*([^\s'\",;()]+)")

# A backslash, which each level of escaping doubles. The bound is for hostile texts with thousands of them.
_ESCAPE = r"\\{1,8}"
_NAMED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v"}

# How many forms of secrets that servers issued are masked.
_MOST_ISSUED = 200
# What a server issues, in JSON: the value of a secret key. https://iceberg.apache.org/rest-catalog-spec/
_ISSUING = (b"token", b"secret", b"password", b"credential", b"access-key")
_ISSUED = re.compile(
    rb'(?:token|secret|password|credential|access-key)[\w.-]{0,60}"\s*:\s*("(?!urn:)(?=[^"]*[^"\d])(?:[^"\\]|\\.){8,9000}")'
)

# The limit of all patterns together, which compile in some seconds; the second number is added for each pattern.
_MOST_CHARACTERS, _CHARACTERS_PER_PATTERN = 4_000_000, 500


class TooManySecrets(Exception):
    """A secret was not registered, because masking all of them would take too long."""


class Secrets:
    """The registered secrets of one project."""

    def __init__(self) -> None:
        self._patterns: dict[str, str] = {}  # By the text that they match.
        self._characters = 0
        self._compiled = (0, re.compile(""))  # With the number of its patterns.
        self._issued: tuple[str, ...] = ()
        with _projects_lock:
            _projects.add(self)

    def register(self, value: str) -> None:
        """Mask `value` from now on, in the forms that the module lists.

        Raises:
            TooManySecrets: some of the forms are not masked.
        """
        whole = value.strip()
        lines = [line for raw in whole.splitlines() if len(line := raw.strip()) >= _SHORT]
        for text in (whole, *lines):
            if text and text not in self._patterns and not _HARMLESS.fullmatch(text):
                encoded = _in_base64(text) if text is whole and len(lines) <= 1 else ()
                for form in (text, *encoded):
                    self._add(form)
        for inner in _secrets_of_key_file(whole):
            self.register(inner)

    def register_issued(self, values: Iterable[str]) -> None:
        """Mask secrets that a server issued: the last ones, unchanged or as in a URL, because a run may get any number of them."""
        known = self._issued
        new = [form for value in values for form in dict.fromkeys((value, quote(value, safe=""))) if form not in known]
        self._issued = (*known, *new)[-_MOST_ISSUED:]

    def _add(self, text: str) -> None:
        if text in self._patterns:
            return
        pattern = _pattern(text)
        if self._characters + len(pattern) + _CHARACTERS_PER_PATTERN > _MOST_CHARACTERS:
            raise TooManySecrets
        self._characters += len(pattern) + _CHARACTERS_PER_PATTERN
        self._patterns[text] = pattern

    def mask(self, text: str) -> str:
        """Return `text` with every registered secret, and the password of every URI, replaced by `***`."""
        if self._patterns:
            count, compiled = self._compiled
            if count != len(self._patterns):
                compiled = self._compile()
            text = compiled.sub(MASK, text)
        return _without_logins(_without(self._issued, text))

    def patterns(self) -> dict[str, str]:
        """Return the pattern of each registered text, by the text: for `add_patterns` in another process of this user."""
        return self._patterns.copy()

    def add_patterns(self, patterns: Mapping[str, str]) -> None:
        """Mask from now on what the patterns match, as `patterns` returned them."""
        self._patterns.update(patterns)

    def __deepcopy__(self, _memo: object) -> Secrets:
        return self

    def __copy__(self) -> Secrets:
        return self

    def __reduce__(self) -> tuple[Callable[[], Secrets], tuple[()]]:
        """Pickle no secret: the copy refers to the secrets in use where it is read."""
        return secrets_in_use, ()

    def _compile(self) -> re.Pattern[str]:
        patterns = dict(self._patterns)  # Another thread may register meanwhile.
        compiled = _any_of(patterns)
        self._compiled = len(patterns), compiled
        return compiled

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Use these secrets in the functions of this module, in this thread and those that it starts with `start_thread`."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


class _EveryProject(Secrets):
    """The secrets in use outside of a project's verbs: those of all projects of the process."""

    def __init__(self) -> None:
        super().__init__()
        self._compiled_all: tuple[dict[str, str], re.Pattern[str]] = {}, re.compile("")

    def patterns(self) -> dict[str, str]:
        """Return those of all projects of the process."""
        with _projects_lock:
            return {key: pattern for secrets in _projects for key, pattern in secrets._patterns.copy().items()}

    def mask(self, text: str) -> str:
        # In one pattern: the secret of one project may be part of another's.
        patterns = self.patterns()
        known, compiled = self._compiled_all
        if known != patterns:
            compiled = _any_of(patterns)
            self._compiled_all = patterns, compiled
        text = compiled.sub(MASK, text) if patterns else text
        with _projects_lock:
            issued = [form for secrets in _projects for form in secrets._issued]
        return _without_logins(_without(issued, text))


_projects_lock = Lock()
_projects: WeakSet[Secrets] = WeakSet()
_current: ContextVar[Secrets] = ContextVar("glacierbase_secrets", default=_EveryProject())  # noqa: B039


def secrets_in_use() -> Secrets:
    """Return the secrets that the functions of this module use."""
    return _current.get()


def register(value: str) -> None:
    """Mask `value` from now on; see `Secrets.register`."""
    _current.get().register(value)


def register_answer(content: bytes | bytearray) -> None:
    """Mask from now on the secrets that a server issued in an answer in JSON."""
    if any(word in content for word in _ISSUING):
        _current.get().register_issued(filter(None, map(_text, _ISSUED.findall(content))))


def mask(text: str) -> str:
    """Return `text` with every registered secret, and the password of every URI, replaced by `***`."""
    return _current.get().mask(text)


def register_setting(key: str, value: str) -> None:
    """Register the secrets in a setting of a catalog file: the value of a secret key, and the secrets inside a URI.

    Raises:
        TooManySecrets: as `Secrets.register` does.
    """
    # A key itself in place of its path has several lines, or is longer than the name of a file may be.
    is_key = _SECRET_KEY.search(key) and ("\n" in value.strip() or len(value) > _LONGEST_PATH)
    if is_secret(key) or is_key:
        register(value)
    for secret in _secrets_inside(value):
        register(secret)
        register(unquote(secret))


def _secrets_inside(value: str) -> Iterator[str]:
    """Yield the passwords of addresses in a value, and the parameters with secret names."""
    yield from (password for _, password in _LOGIN.findall(value) if password)
    yield from (text.strip("\"'") for name, text in _PARAMETER.findall(value) if is_secret(name) and text)


def is_secret(key: str) -> bool:
    """Return whether the value of a key of this name is a secret."""
    return _SECRET_KEY.search(key) is not None and not _PATH_KEY.search(key)


def is_written_out(key: str, value: str) -> bool:
    """Return whether a value without references under this key is a secret, or contains one."""
    text = value.strip()
    is_value = text and not _HARMLESS.fullmatch(text) and not _NOT_SECRET.fullmatch(text)
    if is_value and is_secret(key) and not _ABOUT_SECRET.search(key):
        return True
    return any(True for _ in _secrets_inside(text)) or resembles_secret(text)


def is_secret_variable(path: str, value: Any) -> bool:
    """Return whether the value of a variable is a secret, or contains one."""
    if not isinstance(value, str) or not value or _HARMLESS.fullmatch(value):
        return False
    return bool(_SECRET_VARIABLE.search(path)) or resembles_secret(value)


def resembles_secret(sql: str) -> bool:
    """Return whether the text of a statement contains a literal that looks like a secret."""
    return any(True for _ in literal_secrets(sql))


def literal_secrets(sql: str) -> Iterator[str]:
    """Yield the literals in the text of a statement that look like secrets."""
    folded = sql.casefold()
    if not any(word in folded for word in _WORDS_IN_SQL):
        return
    for match in _IN_SQL.finditer(sql):
        yield next(filter(None, match.groups()), match[0])
    if _USER.match(sql):
        yield from _UNQUOTED_PASSWORD.findall(sql)
    properties = _PROPERTIES.search(sql)
    for key, value in _PROPERTY.findall(sql, properties.end()) if properties else ():
        if is_secret(key) and is_written_out(key, value):
            yield value


def reaches_command_line(key: str) -> bool:
    """Return whether the value of this key is put on a command line, which every user of the machine can read."""
    return _COMMAND_LINE_KEY.search(key) is not None


def shown(key: str, value: str | None) -> str:
    """Return the value of a setting for a message."""
    return MASK if is_secret(key) and value is not None else repr(value)


def address(uri: str) -> str:
    """Return scheme, host and port of a URI, without its user, path and parameters."""
    scheme, separator, rest = uri.partition("://")
    return scheme + separator + re.split(r"[/;?#]", rest, maxsplit=1)[0].rpartition("@")[2]


def masked(document: Any) -> Any:
    """Return a JSON document with its texts masked. Its keys are names of the format and are kept."""
    if isinstance(document, str):
        return mask(document)
    if isinstance(document, dict):
        return {key: masked(value) for key, value in document.items()}
    return [masked(item) for item in document] if isinstance(document, list) else document


def _text(written: bytes) -> str:
    """Return a text that is written in JSON; empty if it is none."""
    with suppress(ValueError):
        return str(json.loads(written))
    return ""


def _any_of(patterns: Mapping[str, str]) -> re.Pattern[str]:
    """Compile the patterns, longest text first: a secret that contains another one is replaced as a whole."""
    return re.compile("|".join(patterns[secret] for secret in sorted(patterns, key=len, reverse=True)))


def _without(issued: Iterable[str], text: str) -> str:
    for form in sorted(issued, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _without_logins(text: str) -> str:
    return _LOGIN.sub(_MASKED_LOGIN, text) if "://" in text else text


def _secrets_of_key_file(text: str) -> Iterator[str]:
    try:
        document = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        yield from (value for key, value in document.items() if isinstance(value, str) and is_secret(key))


def _in_base64(text: str) -> Iterator[str]:
    """Yield the base64 of `text` inside a longer text, for each of the three offsets in a group of three bytes."""
    content = text.encode("utf-8", "surrogatepass")
    if _SHORTEST_ENCODED <= len(content) <= _LONG:
        for before in range(3):
            # A character holds six bits; the outermost ones also hold bits of the neighbours.
            first, end = (before * 8 + 5) // 6, (before + len(content)) * 8 // 6
            for encode in (b64encode, urlsafe_b64encode):
                yield encode(bytes(before) + content).decode()[first:end]


def _pattern(text: str) -> str:
    parts = re.findall(r"\s+|\\+|[A-Za-z0-9]+|.", text)
    pattern = "".join(map(_part, parts)) if len(text) <= _LONG else re.escape(text)
    return rf"(?<!\w)(?:{pattern})(?!\w)" if len(text) < _SHORT else pattern


def _part(text: str) -> str:
    """Return the pattern of one character, or of a run of letters and digits, white space or backslashes."""
    if text.isascii() and text.isalnum():
        return text
    if text.isspace():  # Also in folded form.
        return rf"(?:\s|\+|{'|'.join(map(_escaped, dict.fromkeys(text)))})+"
    if text[0] == "\\":
        return rf"(?:\\{{{len(text)},{8 * len(text)}}}|(?:{_escaped(text[0])}){{{len(text)}}})"
    return rf"(?:\\{{0,8}}{re.escape(text)}|{_escaped(text)})"


@cache
def _escaped(character: str) -> str:
    """Return the pattern of a character's escaped forms in a URL, JSON, Python and XML."""
    code, content = ord(character), character.encode("utf-8", "surrogatepass")
    forms = ["".join(f"%{byte:02x}" for byte in content), f"{_ESCAPE}[ux]0*{code:x}", f"&#(?:{code}|x0*{code:x});"]
    if code > 0x7F:
        forms.append("".join(f"{_ESCAPE}x{byte:02x}" for byte in content))
    if code > 0xFFFF:
        units = character.encode("utf-16-be")
        forms.append(f"{_ESCAPE}u{units[:2].hex()}{_ESCAPE}u{units[2:].hex()}")
    if character in _NAMED:
        forms.append(_ESCAPE + _NAMED[character])
    if escape(character) != character:
        forms.append(escape(character))
    return f"(?i:{'|'.join(forms)})"
