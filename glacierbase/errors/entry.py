"""What a reference entry of an error holds."""

from __future__ import annotations

from dataclasses import dataclass

from glacierbase.errors import GlacierbaseError, Interrupted


@dataclass(frozen=True, slots=True)
class Entry:
    """The reference entry of one error code.

    Attributes:
        code: stable name in capitals.
        errors: the exception classes that carry the code.
        meaning: what happened, and the state of files, history and tables now. Its first sentence is a summary.
        example: the error as text, with its hint.
        remedy: the steps to take, in order.
    """

    code: str
    errors: tuple[type[GlacierbaseError], ...]
    meaning: str
    example: str
    remedy: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The first sentence of `meaning`."""
        return self.meaning.partition(". ")[0].removesuffix(".") + "."

    @property
    def exit_codes(self) -> tuple[int, ...]:
        """The exit codes of `errors`, ascending."""
        return tuple(sorted({code for error in self.errors for code in _exit_codes(error)}))


def _exit_codes(error: type[GlacierbaseError]) -> tuple[int, ...]:
    # 128 and the number of SIGHUP, SIGINT or SIGTERM.
    return (129, 130, 143) if error is Interrupted else (error.exit_code,)
