"""How a result was made, for those who read it in a pull request or in another program."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from glacierbase.model.command import command, from_here
from glacierbase.run.git import work_tree


@dataclass(frozen=True, slots=True)
class Origin:
    """The command that made a result, and the place of the project.

    Attributes:
        command: the command that makes the result again.
        folder: the project's folder in its git work tree, `.` for the top: paths of the result are relative to it. Outside of git
            relative to the working directory.
    """

    command: str = ""
    folder: str = "."


def origin(root: Path, name: str, catalogs: Iterable[str], base: str | None) -> Origin:
    """Return the origin of the results of a command.

    Args:
        name: of the command.
        catalogs: those that were named.
        base: the git ref that was given, or None.
    """
    arguments = [*(("--base", base) if base is not None else ())]
    arguments += [part for catalog in catalogs for part in ("--catalog", catalog)]
    top = work_tree(root)
    folder = os.path.relpath(root.resolve(), top) if top else from_here(".")
    return Origin(command(name, *arguments), Path(folder).as_posix())
