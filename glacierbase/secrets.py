"""Secret values, and the masking of text that leaves the program.

A value is registered once, when a catalog file is loaded. From then on `mask` replaces it in every message, log line,
document and history row:

- the value without the white space around it, and each of its lines of four or more characters by itself;
- the same with folded white space, and with characters escaped as in JSON, Python's `repr`, XML or a URL (`%2F` or `%2f`);
- a single line of six bytes or more in base64, whatever precedes and follows it there, as in `Authorization: Basic …`;
- of a JSON key file, the values under secret keys by themselves.

A value of fewer than four characters is replaced as a whole word only, one of more than 4,000 as it is only. `true`, `false`,
`null`, `none` and numbers of up to five digits are not replaced. The password of a URI (`https://user:password@host`) is
replaced whether it is registered or not. Values that would take minutes to mask are refused.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any
from urllib.parse import unquote

MASK = "***"

# Values under a secret-looking key by accident ("token-refresh-enabled: true"). They would mask half of the output.
_HARMLESS = re.compile(r"(?i)true|false|null|none|\d{1,5}")
# A shorter secret is masked as a whole word only: "a" must not turn "table" into "t***ble".
_SHORT = 4
# A longer one is masked as it is only: its pattern would take a second to compile.
_LONG = 4_000
# Base64 of fewer bytes occurs by chance.
_SHORTEST_ENCODED = 6

# A value under such a key is a secret, however it came there.
_SECRET_KEY = re.compile(
    r"(?i)password|passwd|passphrase|passcode|pwd|secret|token|credential|private|authorization|cookie"
    r"|(?:account|access|api|encryption|sse)[._-]?key"
    r"|(?<![a-z])sas(?![a-z])"  # A shared access signature; not a part of `cassandra` or `sasl`.
)
# These reach the command line of a JVM.
_COMMAND_LINE_KEY = re.compile(r"(?:extra|default)(?:JavaOptions|ClassPath|LibraryPath)$")

_LOGIN = re.compile(r"""(?<=://)([^/?#\s"<>:@]*):([^/?#\s"<>]*)@""")
# `;token=…` of Spark Connect, `?password=…` of JDBC, ` -Dx.password=…` of Java.
_PARAMETER = re.compile(r"(?:^|[;?&\s])([^=;?&\s]+)=([^;&#\s]*)")

# A backslash, which each further level of escaping doubles. Bounded: a hostile text may hold thousands of them.
_ESCAPE = r"\\{1,8}"
_NAMED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v"}

# Of all patterns together: what is compiled in some seconds. Each costs some more, because every character is compared with it.
_MOST_CHARACTERS, _CHARACTERS_EACH = 4_000_000, 500

# Each registered text and the pattern that finds it.
_patterns: dict[str, str] = {}
_characters = 0
_compiled: re.Pattern[str] | None = None


class TooManySecrets(Exception):
    """A secret that is not masked, because masking all of them would take too long."""


def register(value: str) -> None:
    """Mask `value` from now on, in the forms that the module names.

    Raises:
        TooManySecrets: not all of them are masked.
    """
    whole = value.strip()
    lines = [line for each in whole.splitlines() if len(line := each.strip()) >= _SHORT]
    for text in (whole, *lines):
        if text and text not in _patterns and not _HARMLESS.fullmatch(text):
            encoded = _in_base64(text) if text is whole and len(lines) <= 1 else ()
            for each in (text, *encoded):
                _add(each)
    for inner in _secrets_of_key_file(whole):
        register(inner)


def _add(text: str) -> None:
    global _compiled, _characters
    if text in _patterns:
        return
    pattern = _pattern(text)
    if _characters + len(pattern) + _CHARACTERS_EACH > _MOST_CHARACTERS:
        raise TooManySecrets
    _characters += len(pattern) + _CHARACTERS_EACH
    _patterns[text] = pattern
    _compiled = None


def register_setting(key: str, value: str) -> None:
    """Register the secrets of a catalog file's setting: all of it under a secret key, and what a URI in it keeps secret."""
    if is_secret(key):
        register(value)
    found = [password for _, password in _LOGIN.findall(value)]
    found += [text.strip("\"'") for name, text in _PARAMETER.findall(value) if is_secret(name)]
    for secret in found:
        register(secret)
        register(unquote(secret))


def is_secret(key: str) -> bool:
    """Whether the value of a key of this name is a secret."""
    return _SECRET_KEY.search(key) is not None


def reaches_command_line(key: str) -> bool:
    """Whether Spark puts the value of this key on a command line, which every user of the machine can read."""
    return _COMMAND_LINE_KEY.search(key) is not None


def shown(key: str, value: str | None) -> str:
    """The value of a setting for a message."""
    return MASK if is_secret(key) and value is not None else repr(value)


def address(uri: str) -> str:
    """Scheme, host and port of a URI, without its user, path and parameters."""
    scheme, separator, rest = uri.partition("://")
    return scheme + separator + re.split(r"[/;?#]", rest, maxsplit=1)[0].rpartition("@")[2]


def mask(text: str) -> str:
    """`text` with every registered secret, and the password of every URI, replaced by `***`."""
    global _compiled
    if _patterns:
        if _compiled is None:
            # Longest first: of two secrets, one inside the other, the outer one goes as a whole.
            _compiled = re.compile("|".join(_patterns[each] for each in sorted(_patterns, key=len, reverse=True)))
        text = _compiled.sub(MASK, text)
    return _LOGIN.sub(rf"\1:{MASK}@", text)


def masked(document: Any) -> Any:
    """A JSON document with its texts masked. Its keys are names of the format and stay."""
    if isinstance(document, str):
        return mask(document)
    if isinstance(document, dict):
        return {key: masked(value) for key, value in document.items()}
    return [masked(item) for item in document] if isinstance(document, list) else document


def _secrets_of_key_file(text: str) -> Iterator[str]:
    try:
        document = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        yield from (value for key, value in document.items() if isinstance(value, str) and is_secret(key))


def _in_base64(text: str) -> Iterator[str]:
    """What `text` contributes to the base64 of a longer text: it begins in one of three places of a group of three bytes."""
    content = text.encode("utf-8", "surrogatepass")
    if _SHORTEST_ENCODED <= len(content) <= _LONG:
        for before in range(3):
            # A character holds six bits; the outermost ones also hold bits of the neighbours.
            first, end = (before * 8 + 5) // 6, (before + len(content)) * 8 // 6
            for encode in (b64encode, urlsafe_b64encode):
                yield encode(bytes(before) + content).decode()[first:end]


def _pattern(text: str) -> str:
    parts = re.findall(r"\s+|\\+|[A-Za-z0-9]+|.", text)
    found = "".join(map(_part, parts)) if len(text) <= _LONG else re.escape(text)
    return rf"(?<!\w)(?:{found})(?!\w)" if len(text) < _SHORT else found


def _part(text: str) -> str:
    """The pattern of one character, or of a run of letters and digits, white space or backslashes."""
    if text.isascii() and text.isalnum():
        return text
    if text.isspace():  # Folded, or not.
        return rf"(?:\s|\+|{'|'.join(map(_escaped, dict.fromkeys(text)))})+"
    if text[0] == "\\":
        return rf"(?:\\{{{len(text)},{8 * len(text)}}}|(?:{_escaped(text[0])}){{{len(text)}}})"
    return rf"(?:\\{{0,8}}{re.escape(text)}|{_escaped(text)})"


@cache
def _escaped(character: str) -> str:
    """The pattern of the escaped forms of a character: in a URL, JSON, Python and XML."""
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
