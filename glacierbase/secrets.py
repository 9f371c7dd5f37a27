"""Secret values, and the masking of text that leaves the program.

A value is registered once, when a catalog file is loaded. From then on `mask` takes it out of every message, log line,
document and history row.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote, quote_plus

MASK = "***"

# Values that stand under a secret-looking key by accident ("token-refresh-enabled: true") and would mask half of the output.
_HARMLESS = re.compile(r"(?i)true|false|null|none|\d{1,5}")
# A short secret is masked as a whole word only: "a" must not turn "table" into "t***ble".
_SHORT = 4

# A value under such a key is a secret, however it came there.
_SECRET_KEY = re.compile(r"(?i)password|secret|token|credential|private")

_patterns: dict[str, None] = {}
_compiled: re.Pattern[str] | None = None


def register(value: str) -> None:
    """Mask `value`, its URL-encoded and JSON-escaped forms and each of its lines from now on."""
    global _compiled
    for line in {value, *value.splitlines()}:
        text = line.strip()
        if text and not _HARMLESS.fullmatch(text):
            quoted = (quote(text, safe, errors="surrogatepass") for safe in ("/", ""))
            escaped = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
            for form in (text, *quoted, quote_plus(text, errors="surrogatepass"), *escaped):
                bounded = rf"(?<!\w){re.escape(form)}(?!\w)" if len(text) < _SHORT else re.escape(form)
                _patterns[bounded] = None
    # Longest first: of two secrets, one inside the other, the outer one goes as a whole.
    _compiled = re.compile("|".join(sorted(_patterns, key=len, reverse=True))) if _patterns else None


def is_secret(key: str) -> bool:
    """Whether what stands under a key of this name is a secret."""
    return _SECRET_KEY.search(key) is not None


def shown(key: str, value: str | None) -> str:
    """The value of a setting for a message."""
    return MASK if is_secret(key) and value is not None else repr(value)


def mask(text: str) -> str:
    """`text` with every registered secret replaced by `***`."""
    return _compiled.sub(MASK, text) if _compiled else text
