"""`compare` on generated stories of several environments, against an oracle that knows why each part differs.

Each part of the table has a plot: what files and people do to it, in which order and where. The causes follow from the plot. The
files of a story hold the statements of all plots; so a file has variables for some parts, says the same of others, and may be
missing somewhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from glacierbase.capabilities.tables.compare.compare import EnvironmentState, compare
from glacierbase.capabilities.tables.compare.exporting import export
from glacierbase.capabilities.tables.compare.results import CompareResult
from glacierbase.capabilities.tables.compare.state import StateResult
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.record.live import LiveTables, TableRead
from tests.support.project_folder import ProjectFolder
from tests.support.story import Story
from tests.support.world import World

ENVIRONMENTS = ("dev", "staging", "prod")
# Cause, and the environment of a change from outside, or the version.
Why = tuple[str, str]
# The value of a part; None where the table does not have it.
Value = str | None


@dataclass(frozen=True)
class Step:
    """What happens to a part.

    Attributes:
        at: the version in whose file it stands, or after whose run a person does it.
        values: afterwards, by environment; those without one are left as they are.
        is_manual: whether a person does it.
    """

    at: int
    values: Mapping[str, Value]
    is_manual: bool = False


@dataclass(frozen=True)
class Plot:
    """One part of the table, what happens to it, and why it differs between two environments."""

    kind: str
    name: str
    steps: Sequence[Step]
    why: Callable[[str, str], set[Why]]


@dataclass
class Table:
    """The table of one environment. Ids are given as Iceberg gives them."""

    name: str
    values: dict[tuple[str, str], Value] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    last: int = 0

    def add(self, name: str, type: str = "string") -> None:
        self.last += 1
        self.columns.append(Column(self.last, name, type))

    def set(self, kind: str, name: str, value: Value) -> None:
        self.values[kind, name] = value
        if kind == "column" and value is None:
            self.columns = [each for each in self.columns if each.name != name]
        elif kind == "column" and not any(each.name == name for each in self.columns):
            self.add(name)
        elif kind in ("comment", "type"):
            change = {kind: value}
            self.columns = [replace(each, **change) if each.name == name else each for each in self.columns]  # type: ignore[arg-type]

    def rename(self, old: str, new: str) -> None:
        self.columns = [replace(each, name=new) if each.name == old else each for each in self.columns]
        self.values = {
            (kind, new if kind != "property" and name == old else name): value
            for (kind, name), value in self.values.items()
        }

    @property
    def shape(self) -> Shape:
        def of(kind: str) -> list[tuple[str, str]]:
            return [(name, value) for (each, name), value in sorted(self.values.items()) if each == kind and value]

        return Shape(
            self.name, f"uuid of {self.name}", "iceberg", 2, tuple(self.columns),
            tuple(PartitionField(1000, f"{name}_{value}", name, f"bucket[{value}]") for name, value in of("partitioning")),
            tuple(SortField(name, "identity", value, "last") for name, value in of("sorting")),
            (), dict(of("property")),
        )  # fmt: skip


def statement(table: str, kind: str, name: str, before: Value, value: Value) -> str:
    """Return the statement that changes a part; none where there is nothing to change."""
    clause = {
        "property": f"SET TBLPROPERTIES ('{name}' = '{value}')" if value else f"UNSET TBLPROPERTIES ('{name}')",
        "column": f"ADD COLUMN {name} STRING" if value else f"DROP COLUMN {name}",
        "comment": f"ALTER COLUMN {name} COMMENT '{value}'",
        "type": f"ALTER COLUMN {name} TYPE {value}",
        "partitioning": f"{'ADD' if value else 'DROP'} PARTITION FIELD bucket({value or before}, {name})",
        "sorting": f"WRITE ORDERED BY {name} {value} NULLS LAST",
    }[kind]  # fmt: skip
    return "" if kind == "column" and bool(before) == bool(value) else f"ALTER TABLE {table} {clause}"


class Author:
    """Makes up the plots of one story.

    Attributes:
        missing: by version, the environments that lack it.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.environments = ENVIRONMENTS[: self.chance.choice((2, 2, 3))]
        self.versions = range(2, self.chance.randint(4, 7))
        self.missing = {number: frozenset[str]() for number in self.versions}
        # Of the last file, it is known that all have it: what people did before is recorded by then.
        for number in self.versions[:-1]:
            if self.chance.random() < 0.4:
                lacking = self.chance.sample(self.environments, self.chance.randint(1, len(self.environments) - 1))
                self.missing[number] = frozenset(lacking)
        self.numbers = iter(range(10, 1000))

    def everywhere(self, *, before: int = 99) -> int:
        """Return a version that all environments have, older than another one."""
        found = [each for each in self.versions if not self.missing[each] and each < before]
        return self.chance.choice(found) if found else 1

    def value(self, kind: str) -> str:
        """Return a value that no other part has."""
        return str(next(self.numbers))

    def same(self, value: Value) -> dict[str, Value]:
        return dict.fromkeys(self.environments, value)

    def plots(self) -> Iterator[Plot]:
        kinds = ["property"] * 4 + ["column"] * 3 + ["comment"] * 3 + ["partitioning", "type", "sorting"]
        for number, kind in enumerate(kinds):
            makers = {"type": [self.by_variable], "column": [self.by_variable, self.behind, self.manual, self.both]}
            if kind in ("sorting", "partitioning"):
                makers[kind] = [self.by_variable, self.behind, self.constant, self.manual]
            every = [*makers["column"], self.constant, self.overwritten, self.by_variable_and_manual, self.no_effect]
            name = f"{kind[0]}{number}"
            if kind in ("comment", "type", "partitioning", "sorting"):
                name = f"c_{name}"
            yield self.chance.choice(makers.get(kind, every))(kind, name)

    def by_variable(self, kind: str, name: str) -> Plot:
        """A file sets it to a variable."""
        at = self.everywhere()
        if kind in ("column", "type", "sorting"):
            some = {"column": (None, "yes"), "type": ("bigint", "int"), "sorting": ("asc", "desc")}[kind]
            values: dict[str, Value] = {each: self.chance.choice(some) for each in self.environments}
            at = 1 if kind == "type" else at
        else:
            values = {each: self.value(kind) for each in self.environments}
        step = Step(at, values)
        return Plot(kind, name, [step], lambda a, b: {("variables", f"{at:04}")} if values[a] != values[b] else set())

    def constant(self, kind: str, name: str) -> Plot:
        value = "asc" if kind == "sorting" else self.value(kind)
        return Plot(kind, name, [Step(self.everywhere(), self.same(value))], lambda a, b: set())

    def behind(self, kind: str, name: str) -> Plot:
        """A file sets it that some environments lack."""
        at = self.chance.choice(self.versions)
        value = "asc" if kind == "sorting" else self.value(kind)
        return Plot(kind, name, [Step(at, self.same(value))], lambda a, b: self._behind(at, a, b))

    def _behind(self, at: int, a: str, b: str) -> set[Why]:
        lacking = self.missing.get(at, frozenset())
        return {("versions", f"{at:04}")} if (a in lacking) != (b in lacking) else set()

    def manual(self, kind: str, name: str) -> Plot:
        """A file sets it; then somebody changes it in one environment, maybe after the last file."""
        at = self.everywhere()
        who = self.chance.choice(self.environments)
        when = self.chance.choice([each for each in (1, *self.versions) if each >= at])
        by_hand = None if kind in ("column", "partitioning") else "desc" if kind == "sorting" else self.value(kind)
        value = "asc" if kind == "sorting" else self.value(kind)
        steps = [Step(at, self.same(value)), Step(when, {who: by_hand}, is_manual=True)]
        return Plot(kind, name, steps, lambda a, b: {("outside", who)} if who in (a, b) else set())

    def by_variable_and_manual(self, kind: str, name: str) -> Plot:
        plot, at = self.by_variable(kind, name), self.everywhere()
        who = self.chance.choice(self.environments)
        when = max(at, plot.steps[0].at)
        steps = [*plot.steps, Step(when, {who: self.value(kind)}, is_manual=True)]
        return Plot(kind, name, steps, lambda a, b: plot.why(a, b) | ({("outside", who)} if who in (a, b) else set()))

    def both(self, kind: str, name: str) -> Plot:
        """A file sets it that some environments lack; somebody changes it where it ran."""
        at = self.chance.choice(self.versions)
        who = self.chance.choice([each for each in self.environments if each not in self.missing[at]])
        by_hand, value = None if kind == "column" else self.value(kind), self.value(kind)
        steps = [Step(at, self.same(value)), Step(self.versions[-1] - 1, {who: by_hand}, is_manual=True)]
        if at == self.versions[-1]:
            steps[1] = replace(steps[1], at=at)

        def why(a: str, b: str) -> set[Why]:
            return self._behind(at, a, b) | ({("outside", who)} if who in (a, b) else set())

        # A column that is dropped by hand where it was added is nowhere.
        if kind == "column" and self.missing[at]:
            return self.behind(kind, name)
        return Plot(kind, name, steps, why)

    def overwritten(self, kind: str, name: str) -> Plot:
        """Somebody changes it, and a file that all have sets it later: nothing differs."""
        first, last = self.everywhere(before=self.versions[-1]), self.versions[-1]
        who = self.chance.choice(self.environments)
        steps = [Step(first, {each: self.value(kind) for each in self.environments})]
        steps += [Step(first, {who: self.value(kind)}, is_manual=True), Step(last, self.same(self.value(kind)))]
        return Plot(kind, name, steps, lambda a, b: set())

    def no_effect(self, kind: str, name: str) -> Plot:
        """A file sets it to a variable, which is what it is in one environment."""
        first, last = self.everywhere(before=self.versions[-1]), self.versions[-1]
        value = self.value(kind)
        values: dict[str, Value] = {each: self.value(kind) for each in self.environments}
        values[self.environments[0]] = value
        steps = [Step(first, self.same(value)), Step(last, values)]
        return Plot(kind, name, steps, lambda a, b: {("variables", f"{last:04}")})


def told(author: Author, plots: Sequence[Plot], environment: str) -> tuple[Story, str]:
    """Return the story of one environment, and the name of its table."""
    is_moved = author.chance.random() < 0.5
    name = f"lake.{environment if is_moved else 'a'}.t"
    table, story = Table(name), Story()
    table.add("id", "bigint")
    owned = [plot for plot in plots if plot.name.startswith("c_")]
    for plot in owned:
        table.add(plot.name, "int")
    rename = next((plot.name for plot in owned if plot.kind == "comment"), None)
    for number in (1, *author.versions):
        is_missing = environment in author.missing.get(number, ())
        statements = [f"INSERT INTO {name} VALUES ('{environment}')"]
        if number == 1:
            types = {plot.name: plot.steps[0].values[environment] for plot in owned if plot.kind == "type"}
            declared = ", ".join(f"{plot.name} {types.get(plot.name, 'INT')}" for plot in owned)
            statements.insert(0, f"CREATE TABLE {name} (id BIGINT, {declared}) USING iceberg")
        for plot in plots:
            for step in plot.steps:
                if step.at != number or step.is_manual or is_missing or environment not in step.values:
                    continue
                before, value = table.values.get((plot.kind, plot.name)), step.values[environment]
                if not (plot.kind == "type" and number == 1):
                    statements.append(statement(name, plot.kind, plot.name, before, value))
                table.set(plot.kind, plot.name, value)
        if not is_missing:
            sql = ";\n".join(filter(None, statements))
            story.file(number, {name: table.shape}, sql=sql)
        for plot in plots:
            for step in plot.steps:
                if step.at == number and step.is_manual and environment in step.values:
                    table.set(plot.kind, plot.name, step.values[environment])
        story.outside({name: table.shape})
    if rename:  # By a file that all have: what differs keeps its cause.
        table.rename(rename, f"{rename}_new")
        story.file(98, {name: table.shape}, sql=f"ALTER TABLE {name} RENAME COLUMN {rename} TO {rename}_new")
    return story, name


def state_of(world: World, story: Story, name: str, environment: str) -> StateResult:
    world.tables.histories["shop"] = story.events
    return export(world.target(), StateResult("shop", environment))


def found_in(result: CompareResult) -> dict[str, set[Why]]:
    """Return the causes of each part that differs."""
    found: dict[str, set[Why]] = {}
    for table in result.tables:
        for each in table.differences:
            part = f"{each.what} {each.name}".rstrip()
            whys = {(each.cause.value, version) for version in each.versions}
            if each.cause.value in ("outside", "unexplained"):
                whys = {(each.cause.value, each.environment)}
            found.setdefault(part, set()).update(whys)
    return found


def part_of(plot: Plot, plots: Sequence[Plot]) -> str:
    first = next((each.name for each in plots if each.kind == "comment"), None)
    name = f"{plot.name}_new" if plot.name == first else plot.name
    return plot.kind if plot.kind in ("partitioning", "sorting") else f"{plot.kind} {name}"


def expected(plots: Sequence[Plot], one: str, other: str) -> dict[str, set[Why]]:
    return {part_of(plot, plots): why for plot in plots if (why := plot.why(one, other))}


@pytest.fixture
def world(project: ProjectFolder) -> World:
    return World(project)


def check(world: World, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    author = Author(seed)
    plots = list(author.plots())
    sides = {}
    for environment in author.environments:
        story, name = told(author, plots, environment)
        now = {each: TableRead(shape) for each, shape in story.tables.items()}
        monkeypatch.setattr(
            LiveTables, "read", lambda _, names, now=now: {each: now.get(each, TableRead()) for each in names}
        )
        sides[environment] = EnvironmentState(environment, state_of(world, story, name, environment))
    for one in author.environments:
        for other in author.environments:
            if one != other:
                result = compare("shop", [sides[one], sides[other]])
                assert len(result.tables) == 1
                found = found_in(result)
                # Which column comes first follows from when it came.
                order = found.pop("order of columns", set())
                assert found == expected(plots, one, other), f"seed {seed}: {one}, {other}"
                assert "unexplained" not in {cause for cause, _ in order}, f"seed {seed}: {one}, {other}"
    if len(sides) > 2:
        everywhere = found_in(compare("shop", list(sides.values())))
        everywhere.pop("order of columns", None)
        candidates = []
        for reference in author.environments:
            whys: dict[str, set[Why]] = {}
            for other in author.environments:
                if other != reference:
                    for part, why in expected(plots, reference, other).items():
                        whys.setdefault(part, set()).update(why)
            candidates.append(whys)
        assert any(whys.items() <= everywhere.items() for whys in candidates), f"seed {seed}"


def test_each_difference_has_the_causes_that_its_story_gave_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part alone, whatever the same files say of the others."""
    for seed in range(40):
        check(world, seed, monkeypatch)


def test_long_each_difference_has_the_causes_that_its_story_gave_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many more stories."""
    for seed in range(1000, 6000):
        check(world, seed, monkeypatch)
