"""Errors as statements raise them, and as the program prints them."""

from __future__ import annotations

from glacierbase.errors import EngineError, GlacierbaseError
from glacierbase.executors import Session
from glacierbase.output.documents import text_errors


def text_error(error: GlacierbaseError) -> str:
    """Return the text of an error, without the last line, which names the command that explains its code."""
    return text_errors([error]).rpartition("\n")[0]


def error_of(session: Session, sql: str) -> tuple[str | None, str]:
    """Run a statement; return the class of its error, or None where it succeeds, and the message."""
    try:
        session.execute(sql)
    except EngineError as error:
        return error.error_class, error.message
    return None, ""
