"""Find files of the history that are deleted or edited here: the commit from which git restores each with its recorded content."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from glacierbase.migrations.git_files import inside_work_tree, next_object
from glacierbase.migrations.new_files import draft_of
from glacierbase.model.migration import checksum
from glacierbase.run.files import FileReader, FileRefused
from glacierbase.run.git import GitFailed, git, work_tree

# Commits to check for each file, and seconds for all files together: git may walk the whole history for each.
_MOST_COMMITS, _LONGEST = 10, 3.0
_MOST_BYTES = 10 * 2**20
_COMMIT = re.compile("^[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file of the history that is not in the work tree, or is edited there.

    Attributes:
        path: as recorded, or of the edited file; relative to the project.
        checksum: as recorded.
        commit: recorded by the run that applied the file, or None.
    """

    path: str
    checksum: str | None
    commit: str | None


@dataclass(frozen=True, slots=True)
class Trace:
    """What is left of a lost file, in git or as a draft.

    Attributes:
        commit: it holds the file with the recorded checksum; None if no checked commit does.
        was_here: whether the history of HEAD has the file, or the commit of the run that applied it, so that HEAD is not older.
        draft: the path of the file as a draft, which a command that was killed did not rename; None without one.
    """

    commit: str | None
    was_here: bool
    draft: str | None = None


def find_lost(root: Path, lost: Sequence[LostFile]) -> dict[str, Trace]:
    """Return what is left of lost files, by path; fewer than all where git is slow or fails. No remote is contacted."""
    traces = {file.path: Trace(None, was_here=False, draft=draft) for file in lost if (draft := _draft(root, file))}
    until = time.monotonic() + _LONGEST
    # Paths come from the history table; `cat-file --batch` reads one object per line.
    searched = [file for file in lost if file.path.isprintable()] if work_tree(root) else []
    with suppress(OSError, GitFailed):
        for file in searched:
            if file.path not in traces and time.monotonic() < until:
                traces[file.path] = _trace(root, file)
    return traces


def _draft(root: Path, file: LostFile) -> str | None:
    """Return the path of the draft with the recorded content, relative to the project; None without one."""
    draft = draft_of(Path(file.path))
    with suppress(FileRefused):
        content = FileReader(root, _MOST_BYTES, _MOST_BYTES).read(root / draft)
        return draft.as_posix() if checksum(content) == file.checksum else None
    return None


def _trace(root: Path, file: LostFile) -> Trace:
    full = str(inside_work_tree(root) / file.path)
    if _with_content(root, full, ["HEAD"], file.checksum):
        return Trace("HEAD", was_here=True)
    count = f"--max-count={_MOST_COMMITS}"
    commits = git(root, "--literal-pathspecs", "rev-list", count, "HEAD", "--", full).decode().split()
    recorded = _COMMIT.findall(file.commit or "")  # Without `+dirty`.
    # A commit that deleted the file lacks it, but its parent has it.
    names = [*(name for commit in commits for name in (commit, f"{commit}^")), *recorded]
    was_here = bool(commits) or any(_is_in_head(root, commit) for commit in recorded)
    return Trace(_with_content(root, full, names, file.checksum), was_here)


def _with_content(root: Path, path: str, commits: Sequence[str], recorded: str | None) -> str | None:
    """Return the first commit in which the file has the recorded checksum."""
    contents = _contents(root, [f"{commit}:{path}" for commit in commits])
    pairs = zip(commits, contents, strict=True)
    return next((_shortened(name) for name, content in pairs if content and checksum(content) == recorded), None)


def _is_in_head(root: Path, commit: str) -> bool:
    try:
        git(root, "merge-base", "--is-ancestor", commit, "HEAD")
    except GitFailed:
        return False
    return True


def _contents(root: Path, objects: Sequence[str]) -> Iterator[bytes | None]:
    """Return the content of each object; None if it is missing, too large or no file."""
    given = "".join(f"{object_id}\n" for object_id in objects).encode(errors="replace")
    blobs = [_blob(line) for line in git(root, "cat-file", "--batch-check", given=given).splitlines()]
    wanted = list(dict.fromkeys(blob for blob in blobs if blob))
    answer = BytesIO(git(root, "cat-file", "--batch", given=b"".join(blob + b"\n" for blob in wanted)))
    read: Mapping[bytes, bytes] = {blob: next_object(answer) for blob in wanted}
    return (read[blob] if blob else None for blob in blobs)


def _blob(line: bytes) -> bytes | None:
    """Return the id in a line of `cat-file --batch-check`, which is ID TYPE SIZE; None for what cannot be a migration."""
    name, *kind = line.split(b" ")
    is_file = len(kind) == 2 and kind[0] == b"blob" and int(kind[1]) <= _MOST_BYTES
    return name if is_file else None


def _shortened(name: str) -> str:
    """Return the name of a commit with twelve digits of its hash."""
    return name if name == "HEAD" else name[:12] + ("^" if name.endswith("^") else "")
