"""`layout advise`: how many prefixes a load needs, the statements that make them, or that nothing needs to be done.

Pure: nothing is read or contacted; `write` writes the migration file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.capabilities.load.rates import FILE_SIZE, Load
from glacierbase.capabilities.load.remedies import NAMES, AdvisedTable, Alternative, Remedy, remedy_of
from glacierbase.catalogs.folder import file_of
from glacierbase.errors import ConfigurationError
from glacierbase.layout.providers import AWS, QUIET, Provider
from glacierbase.migrations.new_files import FileCheck, git_user, write_migration
from glacierbase.model.amounts import amount, bytes_amount, long_time
from glacierbase.model.result import StandaloneResult
from glacierbase.model.text import Line, Mark, Verbatim, quoted
from glacierbase.record.template_names import template_of, varying_names

_BASE = 16
_MOST_DEPTH = 8
# A claim, and the address of its source in parentheses.
_ADDRESS = re.compile(r"(.*?)(?: \((https://\S+)\))?", re.DOTALL)
_KEYS_A_CALL = 1000
_SECONDS_A_CALL = 0.1


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the advised prefixes carry at the provider's limits.

    Attributes:
        objects: None where the provider limits no number of keys.
    """

    put_per_second: float
    get_per_second: float
    objects: float | None


@dataclass(frozen=True, slots=True)
class ListingCost:
    """What listing all keys takes, at 1,000 keys and 0.1 s a call.

    Attributes:
        series_seconds: call after call.
        parallel_seconds: all prefixes side by side.
    """

    calls: int
    series_seconds: float
    parallel_seconds: float


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a load.

    Attributes:
        verdict: `nothing`, `object-storage`, `bucket-first`, `random-prefix`, `hash`, `reversed-id`, `partition-order` or
            `flat-paths`.
        title: the verdict as a sentence.
        prefixes: 16^`depth`, at least `needed`; 1 where nothing is to do, unless keys are hashed already, or a target is given.
        needed: the most that one of the limits requires.
        utilisation: the share of a limit that `needed` plans with.
        put_per_second, get_per_second, objects: at the end of the growth; None where they are not known.
        objects_per_prefix: the target; None where there is none.
        statements: SQL, each without a semicolon.
        alternatives: other ways, in the order in which to try them.
        capacity, listing: of the prefixes that the statements make, else of `prefixes`; no listing where the number of objects
            is not known.
        documented, modelled, unknown: the sources of the claims; a source is at the end of its claim.
        written: the path of the migration file that holds the statements; None where none was written.
    """

    verdict: str
    title: str
    table: str
    format: str
    provider: str
    prefixes: int
    depth: int
    needed: float
    utilisation: float
    put_per_second: float | None
    get_per_second: float | None
    objects: float | None
    objects_per_prefix: float | None
    capacity: Capacity
    listing: ListingCost | None
    why: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    documented: tuple[str, ...] = ()
    modelled: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    written: str | None = None


@dataclass(frozen=True, slots=True)
class AdviseResult(StandaloneResult):
    """The document of `layout advise`."""

    advice: Advice

    def lines(self) -> Sequence[Line]:
        return list(_lines(self.advice))


def advise(load: Load, provider: Provider | None = None, table: AdvisedTable | None = None) -> Advice:
    """Return what to do about a load. Pure.

    The prefixes needed are the most of PUT/(u*limit), GET/(u*limit) and objects/target, rounded up to a power of 16; u is the
    provider's `utilisation`.

    Raises:
        ConfigurationError: `INVALID_VALUE`: more prefixes than any layout has.
    """
    provider, table = provider or AWS, table or AdvisedTable()
    target = load.objects_per_prefix or provider.objects_per_prefix
    needs = dict(_needs(load, provider, target))
    needed = max(needs.values(), default=0)
    depth = _depth(needed)
    reason = _nothing(load, depth, table)
    remedy = None if reason else remedy_of(table, needed, depth)
    if reason and table.hashed_by is None and load.objects_per_prefix is None:
        depth = 0
    prefixes = _BASE**depth
    made = (remedy and remedy.prefixes) or prefixes
    carried = capacity(made, provider)
    cost = listing(load.grown_objects, made) if load.grown_objects is not None else None
    return Advice(
        verdict=remedy.verdict if remedy else "nothing",
        title=remedy.title if remedy else f"Do nothing: {reason}",
        table=table.name,
        format=table.format,
        provider=provider.name,
        prefixes=prefixes,
        depth=depth,
        needed=needed,
        utilisation=provider.utilisation,
        put_per_second=load.peak_put,
        get_per_second=load.peak_get,
        objects=load.grown_objects,
        objects_per_prefix=target,
        capacity=carried,
        listing=cost,
        why=(
            *needs,
            *_rounded(needed, depth),
            *_sizes(load, provider),
            *table.facts,
            *(remedy.why if remedy else ()),
            *_consequences(made, carried, cost),
        ),
        statements=remedy.statements if remedy else (),
        alternatives=remedy.alternatives if remedy else (),
        warnings=remedy.warnings if remedy else (),
        documented=(_source(provider), *(remedy.documented if remedy else ())),
        modelled=tuple(_modelled(load, provider)),
        unknown=(*_unknown(remedy), *(remedy.unknown if remedy else ()), *table.notes),
    )


def capacity(prefixes: int, provider: Provider) -> Capacity:
    """Return what a number of prefixes carries at the provider's limits, if the store has split them all."""
    objects = provider.objects_per_prefix
    return Capacity(
        prefixes * provider.put_per_second, prefixes * provider.get_per_second, prefixes * objects if objects else None
    )


def listing(objects: float, prefixes: int) -> ListingCost:
    """Return what listing all keys takes."""
    calls = math.ceil(objects / _KEYS_A_CALL)
    series, parallel = (round(count * _SECONDS_A_CALL, 1) for count in (calls, math.ceil(calls / prefixes)))
    return ListingCost(calls, series, parallel)


def _needs(load: Load, provider: Provider, target: float | None) -> Iterator[tuple[str, float]]:
    """Yield the prefixes that each limit requires, each after the sentence about it."""
    rates = (("PUT", load.peak_put, provider.put_per_second), ("GET", load.peak_get, provider.get_per_second))
    for name, rate, limit in rates:
        if rate is not None:
            planned = provider.utilisation * limit
            count = rate / planned
            share = f", {provider.utilisation:.0%} of the limit" if planned < limit else ""
            yield f"{amount(rate)} {name}/s need {_prefixes(count)} at {amount(planned)}{share}", count
    objects = load.grown_objects
    if objects is not None and target is not None:
        count = objects / target
        yield f"{amount(objects)} objects need {_prefixes(count)} of {amount(target)}", count


def _prefixes(count: float) -> str:
    return f"{amount(count)} prefix{'' if count == 1 else 'es'}"


def _depth(needed: float) -> int:
    """Return the smallest depth whose 16^depth prefixes are enough."""
    depth = next((depth for depth in range(_MOST_DEPTH + 1) if _BASE**depth >= needed), None)
    if depth is None:
        what = f"{amount(needed)} prefixes are needed, more than 16^{_MOST_DEPTH}, which no layout has"
        raise ConfigurationError("INVALID_VALUE", what, "check the numbers: rates are per second, not per day")
    return depth


def _rounded(needed: float, depth: int) -> Iterator[str]:
    if depth:
        yield f"{_prefixes(math.ceil(needed))} needed, rounded up to 16^{depth} = {amount(_BASE**depth)}"


def _nothing(load: Load, depth: int, table: AdvisedTable) -> str | None:
    """Return why nothing is to do, or None."""
    if table.hashed_by is not None:
        return f"its keys are hashed already, by {table.hashed_by}"
    rates = [rate for rate in (load.peak_put, load.peak_get) if rate is not None]
    if rates and sum(rates) < QUIET:
        return f"below {QUIET} requests/s no layout is needed"
    if depth == 0:
        return "one prefix carries this load" if rates else "no rate is given, and one prefix holds these objects"
    return None


def _sizes(load: Load, provider: Provider) -> Iterator[str]:
    """Yield what the rates are in bytes: well-sized files seldom reach a limit."""
    put, size = load.peak_put, load.file_size
    if put is not None and size is not None:
        yield f"{amount(put)} PUT/s of {bytes_amount(size)} files is {bytes_amount(put * size)}/s"
        if size < FILE_SIZE:
            yield f"in files of {bytes_amount(FILE_SIZE)} the same bytes are {amount(put * size / FILE_SIZE)} PUT/s: compact them"
    limit, good = provider.put_per_second, max(size or 0, FILE_SIZE)
    rate = f"{amount(limit)} PUT/s of {bytes_amount(good)} files is {bytes_amount(limit * good)}/s"
    yield f"{rate}: large files rarely reach the limit"


def _consequences(prefixes: int, carried: Capacity, cost: ListingCost | None) -> Iterator[str]:
    """Yield what prefixes carry, and what listing them takes."""
    many = prefixes > 1
    keys = f", and {amount(carried.objects)} keys" if carried.objects else ""
    rates = f"{amount(carried.put_per_second)} PUT/s and {amount(carried.get_per_second)} GET/s"
    yield f"{_prefixes(prefixes)} {'carry' if many else 'carries'} {rates} at the limit{keys}"
    if cost:
        times = f"{long_time(cost.series_seconds)} in series"
        if many:
            times += f", {long_time(cost.parallel_seconds)} over {amount(prefixes)} side by side"
        yield f"listing: {amount(cost.calls)} call{'' if cost.calls == 1 else 's'}, {times}"


def _source(provider: Provider) -> str:
    limits = f"{amount(provider.put_per_second)} PUT/s and {amount(provider.get_per_second)} GET/s a prefix"
    least = "at least " if provider.documented else ""
    return f"{provider.name}: {least}{limits} ({provider.source})"


def _modelled(load: Load, provider: Provider) -> Iterator[str]:
    yield f"a prefix is planned with {provider.utilisation:.0%} of its limit; keys and requests spread evenly"
    yield from load.assumptions()
    if load.objects is not None:
        yield f"listing: {_KEYS_A_CALL:,} keys and {_SECONDS_A_CALL:g} s a call"


def _unknown(remedy: Remedy | None) -> Iterator[str]:
    if remedy:
        yield "when and where the store splits its keys into partitions: 503s until it has"
    yield "requests beside one a file: parts of multipart uploads, retries, deletes"


def write(root: Path, folder: Path, advice: Advice, author: str | None, check: FileCheck) -> Advice:
    """Write the statements as the next migration of a catalog, and return the advice with its path. Nothing is run.

    Args:
        root: the root of the project.
        folder: the migrations folder of the catalog.
        author: default git's `user.name`.
        check: checks the file before it is written.
    """
    if not advice.statements:
        return replace(advice, warnings=(*advice.warnings, "there is no statement to write: no file was written"))
    statements = "".join(f"{statement};\n" for statement in advice.statements)
    file, sql = file_of(folder, root), template_of(statements, varying_names(root, folder.name, [advice.table])) + "\n"
    last = max(filter(Path.is_file, folder.glob("[0-9]*.sql")), default=None)
    if last and last.read_bytes().endswith(f"\n{sql}".encode()):  # Written before, and not applied yet.
        return replace(advice, warnings=(*advice.warnings, f"{last.name} has these statements: no file was written"))
    path = write_migration(
        folder,
        root,
        f"{advice.title} for {advice.table.replace('`', '')}",
        author or git_user(),
        sql=sql,
        headers=file.required_headers,
        versions=file.versions,
        check=check,
    )
    return replace(advice, written=str(path))


def _lines(advice: Advice) -> Iterator[Line]:
    yield Mark(f"{advice.title}.")
    yield from _listed_below("", advice.why)
    if advice.statements:
        yield from ("", Mark(f"For {advice.table}, {NAMES[advice.format]} (nothing was run):"))
        yield from _sql(advice.statements)
    for alternative in advice.alternatives:
        yield Mark(f"{alternative.title}:")
        yield from _sql(alternative.statements)
    yield from _listed_below("What breaks or costs:", advice.warnings)
    yield from _listed_below("Documented:", advice.documented)
    yield from _listed_below("Modelled:", advice.modelled)
    yield from _listed_below("Not known:", advice.unknown)
    if advice.written:
        yield from ("", f"wrote {os.path.relpath(advice.written)}")


def _listed_below(title: str, sentences: Sequence[str]) -> Iterator[Line]:
    """Yield a list with its title; addresses have lines of their own."""
    if sentences:
        yield from ("", Mark(title)) if title else ("",)
    for sentence in sentences:
        text, address = _ADDRESS.fullmatch(sentence).groups()  # type: ignore[union-attr]
        yield f"- {text}"
        if address:
            yield Verbatim(f"  {address}")


def _sql(statements: Sequence[str]) -> Iterator[Line]:
    for statement in statements:
        yield from map(Verbatim, quoted(f"{statement};"))
