"""`layout ls`: list the keys below a prefix of a bucket by many listings side by side, in the order of one listing."""

from __future__ import annotations

import json
import shlex
import string
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial

from glacierbase.capabilities.load.ahead import in_order
from glacierbase.capabilities.load.objectstore import KeyPlace, ObjectStore, Page, StoredObject, check_utf8, open_client
from glacierbase.capabilities.load.ranges import prefix_set, ranges
from glacierbase.errors import GlacierbaseError, Stopped
from glacierbase.model.escape import UNSAFE, on_one_line, printable_json
from glacierbase.run.activity import doing

# Pages of 1,000 keys that are kept in memory for their turn: about 100 MB.
_PAGES_AHEAD = 256


def ls(
    place: KeyPlace, prefixes: str | None, after: str | None, parallel: int, form: str, write: Callable[[str], object]
) -> None:
    """List the keys, ascending.

    Args:
        prefixes: a set of prefixes, by which the keys are divided; None for one listing.
        after: the key after which the listing starts; None for its start.
        parallel: how many listings are side by side.
        form: `text` or `json`.
        write: gets the text of the keys, page by page.

    Raises:
        ConfigurationError: `PREFIXES_INVALID`, `S3_URL_INVALID`, `S3_BUCKET_NOT_FOUND`, `S3_CREDENTIALS_MISSING`.
        EngineUnavailable: `S3_ACCESS_DENIED`, `S3_UNREACHABLE`, `S3_LISTING_FAILED`.
        Stopped: after the first page.
    """
    parts = ranges(place.prefix, prefix_set(prefixes) if prefixes else (), check_utf8(after) if after else None)
    store = ObjectStore(place, open_client(place, parallel))
    render, keys, last = _FORMS[form], 0, None
    pages = in_order([partial(store.pages, part) for part in parts], parallel, _PAGES_AHEAD)
    try:
        with doing(
            f"listing {place.url}", lambda: f"{keys:,} keys, {store.repeated:,} requests repeated", announce=False
        ):
            for page in pages:
                write(render(page))
                keys, last = keys + len(page), page[-1].key
    except (GlacierbaseError, KeyboardInterrupt) as error:
        state = f"{keys:,} keys were listed, the last is {on_one_line(last)}" if last else "no key was listed"
        hint = _resume(place, prefixes, parallel, form, last) if last else ""
        if isinstance(error, KeyboardInterrupt):
            raise (Stopped(state, hint) if hint else error) from error
        error.state, error.hint = state, hint or error.hint
        raise
    finally:
        store.stopped.set()
        pages.close()


def _resume(place: KeyPlace, prefixes: str | None, parallel: int, form: str, last: str) -> str:
    """Return the command that lists the keys after the last one."""
    given = {
        "--endpoint": place.endpoint, "--region": place.region, "--prefixes": prefixes, "--parallel": str(parallel),
        "--format": form, "--after": last,
    }  # fmt: skip
    options = [part for option, value in given.items() if value for part in (option, value)]
    return " ".join(map(_quoted, ["glacierbase", "layout", "ls", place.url, *options]))


def _quoted(word: str) -> str:
    """Return a word for a shell, with escapes of bash, zsh and POSIX 2024 for what no terminal shows as it is."""
    if not UNSAFE.search(word) and "\n" not in word:
        return shlex.quote(word)
    plain = string.ascii_letters + string.digits + "/=.-_"
    return f"$'{''.join(char if char in plain else _bytes_of(char) for char in word)}'"


def _bytes_of(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def _as_text(page: Page) -> str:
    """Return a line for each key, on which control characters are escaped."""
    return "\n".join(on_one_line(item.key) for item in page)


def _as_json_lines(page: Page) -> str:
    """Return a line of JSON for each object."""
    names = [part.name for part in fields(StoredObject)]
    lines = ({name: getattr(item, name) for name in names} for item in page)
    return printable_json("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))


_FORMS: Mapping[str, Callable[[Page], str]] = {"text": _as_text, "json": _as_json_lines}
