"""The comment of a pull request: the effects, the findings and the statements of new migrations.

A bot finds the comment of an earlier run by its first line, and replaces it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from itertools import islice, zip_longest
from typing import Any, TypeAlias

from glacierbase.model.differences import tables_in_words
from glacierbase.model.text import counted, ended, split_lines
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.review.links import Links
from glacierbase.output.review.markdown_blocks import Block, assembled, code, fenced, prose, sql, value
from glacierbase.output.review.problems import Document, Problem, cleaned, path_in_tree, problems, summary

# GitHub's limit is 65,536, and GitLab's is higher. Nobody reads a longer comment.
_MOST = 30_000
_LONGEST_SHOWN_SQL = 600
_SIGNS = (("-", "before"), ("+", "after"))
_STATE = "destroys state"
# The start of a view among what a table breaks.
_VIEW = "view "
Entry: TypeAlias = Mapping[str, Any]


def render(outcome: CommandOutcome) -> str:
    """Return the comment, of at most 30,000 characters."""
    document = outcome.document()
    findings = problems(document)
    entries = document["catalogs"]
    links = Links.of_environment()
    written = _written(entries)
    notes = [problem for problem in findings if problem.is_note]
    shown = [problem for problem in findings if not problem.is_note]
    sections, others = _sections(entries, shown, written, links)
    blocks = [
        *_notes(entries),
        *_files(entries, links),
        *sections,
        *_findings(others, written, links),
        *_state(entries, links),
        *_explanations(shown),
        *_folded(notes, links),
        *_views(entries),
        *_differences(entries),
        *_unread(entries, links),
        *_statements(entries),
    ]
    first = (
        f"<!-- glacierbase:{outcome.command} -->\n\n**glacierbase {outcome.command}**: {_verdict(document, findings)}"
    )
    return assembled(first, blocks, _command(entries), _MOST)


def _verdict(document: Document, findings: Sequence[Problem]) -> str:
    entries = document["catalogs"]
    if not entries:
        return summary(findings)
    if isinstance(entries[0]["files"], int):  # The count of `lint`.
        return f"{summary(findings)} in {counted(sum(entry['files'] for entry in entries), 'migration')}"
    files = {(entry["catalog"], file["path"]) for entry in entries for file in entry["files"]}
    tables = {(entry["catalog"], table["table"]): table for entry in entries for table in entry["tables"]}
    if not files and "checked" in entries[0]:  # `check`, whose findings may be about all migrations.
        checked = {entry["catalog"]: entry["checked"] for entry in entries}
        return f"{summary(findings)} in {counted(sum(checked.values()), 'migration')}"
    if not files:
        return f"no new migrations{f', {summary(findings)}' if findings else ''}"
    words = tables_in_words((table["change"], _loses_rows(table)) for table in tables.values())
    counts = f"{summary(findings)} in {counted(len(files), 'new migration')}"
    return "; ".join([*([words] if words else []), counts, _how(entries)])


def _loses_rows(table: Entry) -> bool:
    lost = any(difference["destructive"] and difference["what"] == "table" for difference in table["diff"])
    return lost or bool(table["change"] == "dropped")


def _how(entries: Sequence[Entry]) -> str:
    changed = [entry for entry in entries if entry["files"]]
    replayed = [entry for entry in changed if entry["replay"]]
    if not replayed:
        return "rendered and not replayed"
    only = "" if len(replayed) == len(changed) else "in part "
    return f"{only}replayed on a throw-away copy, no real table was changed"


def _title(entry: Entry) -> str:
    environments = f" ({', '.join(map(code, entry['environments']))})" if entry["environments"] else ""
    return f"{code(entry['catalog'])}{environments}"


def _notes(entries: Sequence[Entry]) -> Iterator[Block]:
    notes = [f"- {_title(entry)}: {code(text)}" for entry in entries for text in entry["warnings"]]
    notes += [f"- {_title(entry)}: skipped, {code(entry['skipped'])}" for entry in entries if entry["skipped"]]
    if notes:
        yield Block("note", tuple(notes))


def _files(entries: Sequence[Entry], links: Links) -> Iterator[Block]:
    """Yield a table of the new migrations of each catalog."""
    for catalog, groups in _by_catalog(entries).items():
        rows: dict[tuple[str, ...], list[str]] = {}
        for entry in groups:
            for file in entry["files"]:
                rows.setdefault(_row(entry, file, links), []).extend(map(code, entry["environments"]))
        names = ["version", "file", "kind", "author", "description", *(["environments"] if len(groups) > 1 else [])]
        lines = (cells if len(groups) == 1 else (*cells, ", ".join(where)) for cells, where in rows.items())
        title = f"{code(catalog)} ({', '.join(code(environment) for entry in groups for environment in entry['environments'])})"
        head = f"### {title}\n\n{_cells(names)}\n{_cells(['---'] * len(names))}"
        yield Block("migration", tuple(map(_cells, lines)), head)


def _row(entry: Entry, file: Entry, links: Links) -> tuple[str, ...]:
    kind = prose(file["kind"] or "not replayed")
    name = links.to(path_in_tree(entry, file["path"]), code(file["path"].rpartition("/")[2]))
    return (code(file["version"] or file["name"]), name, kind, code(file["author"]), code(file["description"]))


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _by_catalog(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the entries with new migrations by catalog; an entry is a group of environments that render them equally."""
    groups: dict[str, list[Entry]] = {}
    for entry in _reviewed(entries):
        groups.setdefault(entry["catalog"], []).append(entry)
    return groups


def _reviewed(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with new migrations; entries of `lint` have no list of migrations."""
    return [entry for entry in entries if isinstance(entry["files"], list) and entry["files"]]


def _sections(
    entries: Sequence[Entry], findings: Sequence[Problem], written: Statements, links: Links
) -> tuple[list[Block], list[Problem]]:
    """Return the blocks of each table, those with errors first, and the findings that are about none of the tables."""
    others, sections = list(findings), []
    for catalog, groups in _by_catalog(entries).items():
        for (name, *_), section in _tables(groups).items():
            names = set(map(cleaned, _names(groups, name)))
            about: list[Problem] = []
            rest: list[Problem] = []
            for problem in others:
                is_about = problem.catalog == cleaned(catalog) and any(
                    _is_named(problem.table, known) for known in names
                )
                (about if is_about else rest).append(problem)
            others = rest
            first, *more = [*section, *_findings_block(about, written, links)]
            blocks = [first, *(replace(block, continues=True) for block in more)]
            sections.append((not any(problem.is_error for problem in about), blocks))
    return [block for _, blocks in sorted(sections, key=lambda section: section[0]) for block in blocks], others


def _names(groups: Sequence[Entry], name: str) -> Iterator[str]:
    """Yield the name of a table, its name before a rename, and the views that no longer work because of its changes."""
    yield name
    for table in (table for entry in groups for table in entry["tables"] if table["table"] == name):
        yield from (difference["before"] for difference in table["diff"] if _is_rename(difference, "table"))
        broken = table.get("breaks") or ()
        yield from (view.removeprefix(_VIEW) for view in broken if view.startswith(_VIEW))


def _is_named(written: str | None, table: str) -> bool:
    """Return whether a name in a statement may be that of a table: quotes and its first parts may be left out."""
    name, table = (f".{text or ''}".replace("`", "").lower() for text in (written, table))
    return bool(written) and (table.endswith(name) or name.endswith(table))


def _tables(groups: Sequence[Entry]) -> dict[tuple[str, ...], list[Block]]:
    """Return the blocks of each table's changes; once for environments with equal changes."""
    changes: dict[tuple[Any, ...], list[str]] = {}
    for entry in groups:
        for table in entry["tables"]:
            changed = tuple(line for difference in table["diff"] for line in _changed(difference))
            key = (table["table"], table["change"], tuple(_facts(table)), changed)
            changes.setdefault(key, []).extend(map(code, entry["environments"]))
    everywhere = sum(len(entry["environments"]) for entry in groups)
    shown: dict[tuple[str, ...], list[Block]] = {}
    for (name, change, facts, lines), where in changes.items():
        only = f" (in {', '.join(where)})" if len(where) < everywhere else ""
        section = shown.setdefault((name, *where), [])
        section.append(Block("fact", facts, f"### {code(name)}: {change}{only}\n"))
        section += [fenced("difference", lines, "diff")] if lines else []
    return shown


def _facts(table: Entry) -> Iterator[str]:
    """Yield what a change of a table costs, and how it is undone: a line of Markdown each."""
    broken = f"; breaks {' and '.join(table['affects'])}" if table["affects"] else ""
    views = f" (views on it: {', '.join(map(code, table['views']))})" if table["views"] else ""
    yield f"- **{table['cost']}**{broken}{views}"
    yield from (f"- {name}: {prose(str(table[name]))}" for name in ("files", "snapshots") if table.get(name))
    if not_working := table.get("breaks"):
        yield f"- fails on the copy: {', '.join(map(code, not_working))}"
    yield from (f"- undo: {_undo(undo)}" for undo in table["undo"])


def _undo(undo: Entry) -> str:
    how = code(undo["sql"]) if undo["sql"] else "cannot be undone"
    return f"{how}{', ' if undo['sql'] else ': '}{prose(undo['note'])}" if undo["note"] else how


def _changed(difference: Entry) -> Iterator[str]:
    before, after = difference["before"], difference["after"]
    if _is_rename(difference, "column", "table"):
        yield value(f"! {difference['what']} {before} → {after}")
        return
    subject = f"{difference['what']} {difference['name']}".rstrip()
    for sign, side in _SIGNS:
        if difference[side] is not None:
            yield value(f"{sign} {subject}: {difference[side]}")


def _is_rename(difference: Entry, *kinds: str) -> bool:
    is_change = difference["before"] is not None and difference["after"] is not None
    return is_change and difference["what"] in kinds and not (difference["name"] or difference["destructive"])


def _findings(findings: Sequence[Problem], written: Statements, links: Links) -> Iterator[Block]:
    """Yield the findings that are about no table of the comment."""
    yield from _findings_block(findings, written, links, "### Findings\n")


def _findings_block(findings: Sequence[Problem], written: Statements, links: Links, head: str = "") -> Iterator[Block]:
    """Yield the findings by statement; the first one of a statement has its text above it."""
    groups: dict[_Written | None, list[Problem]] = {}
    for problem in findings:
        groups.setdefault(_statement(written, problem), []).append(problem)
    varying = {code for code, texts in _advice(findings).items() if len(texts) > 1}
    items = [
        f"{_above(statement, links) if not number and statement else ''}{_finding(problem, statement, links, varying)}"
        for statement, shown in groups.items()
        for number, problem in enumerate(shown)
    ]
    if items:
        yield Block("finding", tuple(items), head)


@dataclass(frozen=True, slots=True)
class _Written:
    """A statement of a file, whose path is relative to the top of the work tree."""

    path: str
    line: int
    sql: str


# By catalog and path, each with its index.
Statements: TypeAlias = Mapping[tuple[str, str], Sequence[tuple[int, _Written]]]


def _written(entries: Sequence[Entry]) -> Statements:
    """Return the statements of each file in the order of their lines, each with its index."""
    written: dict[tuple[str, str], list[tuple[int, _Written]]] = {}
    for entry in _reviewed(entries):
        for file in entry["files"]:
            path = path_in_tree(entry, file["path"])
            written.setdefault((cleaned(entry["catalog"]), path), []).extend(
                (statement["index"], _Written(path, statement["line"], statement["sql"]))
                for statement in file["statements"]
            )
    return {key: sorted(statements, key=_line) for key, statements in written.items()}


def _line(statement: tuple[int, _Written]) -> int:
    return statement[1].line


def _statement(written: Statements, problem: Problem) -> _Written | None:
    """Return the statement that a finding is about; None for a finding about the whole file."""
    before = written.get((problem.catalog, problem.path), [])
    before = before[: bisect_right(before, problem.line, key=_line)]
    on_line = before[bisect_left(before, _line(before[-1]), key=_line) :] if before else []
    its = (statement for index, statement in on_line if index == problem.statement_index)
    return next(its, on_line[0][1] if on_line else None)


def _above(statement: _Written, links: Links) -> str:
    """Return the place and the text of a statement, for the lines above its findings."""
    text = fenced("statement", [ended(sql(statement.sql, _LONGEST_SHOWN_SQL))], "sql").text
    return f"\n{links.to(statement.path, code(f'{statement.path}:{statement.line}'), statement.line)}\n\n{text}\n\n"


def _finding(problem: Problem, statement: _Written | None, links: Links, varying: Iterable[str]) -> str:
    word = problem.severity if problem.allowed is None else "allowed"
    place = f" {_place(problem.path, problem.line, links)}" if problem.path and not statement else ""
    table = f" {code(problem.table)}" if problem.table and not statement else ""
    only = f" (in {', '.join(map(code, problem.environments))})" if problem.environments else ""
    line = f"- **{word} {prose(problem.code)}**{place}{table}{only}: {code(problem.message)}"
    if problem.allowed is not None:
        return f"{line}\n  - reason: {code(problem.allowed)}"
    return f"{line}\n  - fix: {prose(problem.fix)}" if problem.code in varying and problem.fix else line


def _advice(findings: Sequence[Problem]) -> dict[str, dict[tuple[str, str], None]]:
    """Return the pairs of why and fix by code."""
    advice: dict[str, dict[tuple[str, str], None]] = {}
    for problem in findings:
        if problem.allowed is None:
            advice.setdefault(problem.code, {})[problem.why, problem.fix] = None
    return advice


def _explanations(findings: Sequence[Problem]) -> Iterator[Block]:
    """Yield why findings matter, and the fix: once a code. Fixes that differ are below their findings."""
    items = []
    for name, texts in _advice(findings).items():
        [(why, fix), *more] = texts
        lines = [f"  - why: {prose(why)}" if why else "", f"  - fix: {prose(fix)}" if fix and not more else ""]
        if any(lines):
            items.append("\n".join([f"- **{prose(name)}**", *filter(None, lines)]))
    if items:
        yield Block("explanation", tuple(items), "### Why, and what to do\n")


def _folded(notes: Sequence[Problem], links: Links) -> Iterator[Block]:
    """Yield the notes, folded, each with its fix."""
    if notes:
        items = tuple(_finding(note, None, links, {note.code}) for note in notes)
        yield Block("note", items, f"<details><summary>{counted(len(notes), 'note')}</summary>\n", "\n</details>")


def _state(entries: Sequence[Entry], links: Links) -> Iterator[Block]:
    """Yield the statements that destroy state which is in no table."""
    lines = [
        f"- {_place_in(entry, {**file, **statement}, links)} {code(statement['sql'])}: {_undo(statement['undo'])}"
        for entry in _reviewed(entries)
        for file in entry["files"]
        for statement in file["statements"]
        if statement["cost"] == _STATE and statement["undo"]
    ]
    if lines:
        yield Block("statement that destroys state", tuple(dict.fromkeys(lines)), "### Destroys state\n")


def _place(path: str, line: int, links: Links) -> str:
    return links.to(path, code(f"{path}:{line}"), line)


def _views(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the change of each view; once for environments with equal changes."""
    for groups in _by_catalog(entries).values():
        changes: dict[str, list[str]] = {}
        for entry in groups:
            for view in entry["views"]:
                changes.setdefault(f"- {code(view['view'])}: {view['change']}", []).extend(
                    map(code, entry["environments"])
                )
        everywhere = sum(len(entry["environments"]) for entry in groups)
        lines = (
            f"{line} (in {', '.join(where)})" if len(where) < everywhere else line for line, where in changes.items()
        )
        if changes:
            yield Block("view", tuple(lines), "### Views\n")


def _differences(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the rendered lines in which each group of environments differs from the first group of its catalog."""
    for first, *others in _by_catalog(entries).values():
        for other in others:
            lines = [line for path in _paths(first, other) for line in _rendered_differently(path, first, other)]
            names = " and ".join(", ".join(map(code, side["environments"])) for side in (first, other))
            if lines:
                yield fenced("line", lines, "diff", f"### Differs between {names}")


def _paths(first: Entry, other: Entry) -> list[str]:
    return list(dict.fromkeys(file["path"] for entry in (first, other) for file in entry["files"]))


def _rendered_differently(path: str, first: Entry, other: Entry) -> Iterator[str]:
    pairs = zip_longest(_texts(first, path), _texts(other, path), fillvalue="")
    for index, (before, after) in enumerate(pairs, start=1):
        if before != after:
            yield value(f"@@ {path}, statement {index} @@")
            changes = unified_diff(split_lines(sql(before)), split_lines(sql(after)), n=0, lineterm="")
            yield from (value(line) for line in islice(changes, 2, None) if not line.startswith("@@"))


def _texts(entry: Entry, path: str) -> list[str]:
    return [statement["sql"] for file in entry["files"] if file["path"] == path for statement in file["statements"]]


def _unread(entries: Sequence[Entry], links: Links) -> Iterator[Block]:
    """Yield the statements that no rule checked, and the statements that were not replayed."""
    lines = [
        f"not understood, no rule applies: {_place_in(entry, statement, links)}"
        for entry in entries
        for statement in entry.get("not_understood", ())
    ]
    lines += [
        f"on the throw-away copy, not replayed: {_place_in(entry, statement, links)} {code(statement['why'])}"
        for entry in entries
        for statement in (entry.get("replay") or {}).get("skipped", ())
    ]
    if lines:
        yield Block("unread statement", tuple(f"- {line}" for line in dict.fromkeys(lines)), "### Not checked\n")


def _place_in(entry: Entry, statement: Entry, links: Links) -> str:
    return _place(path_in_tree(entry, statement["path"]), statement["line"], links)


def _statements(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the statements of each new migration, folded; if environments differ, the statements of the first."""
    for groups in _by_catalog(entries).values():
        shown: dict[str, tuple[Entry, Entry]] = {}
        for entry in groups:
            for file in entry["files"]:
                shown.setdefault(file["path"], (entry, file))
        for entry, file in shown.values():
            only = f" (in {', '.join(map(code, entry['environments']))})" if len(groups) > 1 else ""
            count = counted(len(file["statements"]), "statement")
            head = f"<details><summary>{count} of {code(file['path'])}{only}</summary>"
            yield fenced("statement", _with_ends(file["statements"]), "sql", head, "</details>")


def _with_ends(statements: Sequence[Entry]) -> Iterator[str]:
    for number, statement in enumerate(statements):
        yield f"{chr(10) if number else ''}{ended(sql(statement['sql']))}"


def _command(entries: Sequence[Entry]) -> str:
    commands = dict.fromkeys(entry["origin"]["command"] for entry in entries)
    return (
        fenced("command", [sql(next(iter(commands), ""))], "sh", "To see this on your machine:").text
        if any(commands)
        else ""
    )
