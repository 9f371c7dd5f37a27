"""A pseudo-terminal that records what is written to it, and what a person would see there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

from tests.support.project_folder import ProjectFolder

ERASE, ERASE_BELOW = "\x1b[K", "\x1b[J"
_CONTROL = re.compile(r"\x1b\[\d*[AJK]|.", re.DOTALL)
COLOUR = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Recording:
    """What was written to the terminal, and the stream that writes to it."""

    columns: int
    stream: TextIO
    text: str = ""

    @property
    def live(self) -> list[str]:
        """The texts of the line that is rewritten, in order."""
        parts = (part.partition(ERASE) for part in self.text.split("\r"))
        return [line for line, erased, _ in parts if erased and line]

    @property
    def screen(self) -> list[str]:
        """The lines that are left for a person to read, without those at the end that are empty."""
        lines, row, column = [""], 0, 0
        for part in _CONTROL.findall(COLOUR.sub("", self.text).replace("\r\n", "\n\r")):
            if part == "\n":
                row += 1
                lines += [""] * (row == len(lines))
            elif part == "\r":
                column = 0
            elif part == ERASE:
                lines[row] = lines[row][:column]
            elif part == ERASE_BELOW:
                lines[row:] = [lines[row][:column]]
            elif part.startswith("\x1b"):
                row = max(0, row - int(part[2:-1]))
            else:
                lines[row] = f"{lines[row][:column].ljust(column)}{part}{lines[row][column + 1 :]}"
                column += 1
        while lines and not lines[-1]:
            lines.pop()
        return lines


@contextmanager
def terminal(columns: int = 80, rows: int = 24) -> Iterator[Recording]:
    """Open a terminal of that size, and record what is written to it until the block ends."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    recording = Recording(columns, os.fdopen(slave, "w"))
    reader = threading.Thread(target=_read, args=(master, recording))
    reader.start()
    try:
        yield recording
    finally:
        with suppress(OSError):
            recording.stream.close()
        reader.join()
        os.close(master)


def run_on_terminal(
    project: ProjectFolder, *arguments: str, columns: int = 80, program: tuple[str, ...] = ("-m", "glacierbase")
) -> tuple[int, Recording]:
    """Run the program with its output on a terminal; return its exit code and the recording."""
    environment = {key: value for key, value in os.environ.items() if key not in ("CI", "COLUMNS")} | {"TERM": "xterm"}
    with terminal(columns) as recording:
        process = subprocess.Popen(
            [sys.executable, *program, *arguments], cwd=project.root, env=environment,
            stdin=subprocess.DEVNULL, stdout=recording.stream, stderr=recording.stream,
        )  # fmt: skip
        process.wait(300)
    return process.returncode, recording


def _read(master: int, recording: Recording) -> None:
    """Read until the last writer has closed the terminal, which Linux reports as an error (EIO)."""
    read = b""
    with suppress(OSError):
        while part := os.read(master, 65536):
            read += part
            recording.text = read.decode(errors="replace")
