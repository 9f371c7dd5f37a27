"""Plan files: the JSON document of `plan`, written to a file, read again, and applied as it is by `migrate`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from glacierbase.apply.plan import ApprovedPlan, Selection
from glacierbase.apply.results import PlanOptions, PlanResult
from glacierbase.errors import ConfigurationError, HistoryDisagrees
from glacierbase.history.target import CatalogRun
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.codec import InvalidDocument, from_json, parsed
from glacierbase.model.command import command, plan_commands
from glacierbase.model.migration import Migration, version_number
from glacierbase.model.result import document, json_text
from glacierbase.run.files import FileRefused, read_anywhere, replace_file, writing

_SCHEMA = "glacierbase/plan/1"
# Twice what all migrations of a project may hold: a document has their SQL with escapes.
_LARGEST = 512 * 2**20


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The plans that `migrate` was given, one for each catalog and environment.

    Attributes:
        path, digest: of their file, as it was given, and `sha256:…`; None for results of `Project.plan`.
    """

    plans: tuple[PlanResult, ...]
    path: str | None = None
    digest: str | None = None

    @property
    def catalogs(self) -> tuple[str, ...]:
        """The catalogs that were planned."""
        return tuple(dict.fromkeys(plan.catalog for plan in self.plans if not plan.skipped))

    def selection(self, target: CatalogRun) -> Selection:
        """Return what to run on a catalog: its plan, as it is.

        Raises:
            GlacierbaseError: there is no such plan; `PLAN_REQUIRED`: it is not in a file, and must be; or why there was no plan.
        """
        if target.catalog.plan_required and self.path is None:
            raise plan_required(target)
        plan = self._of(target)
        if plan.error:
            raise plan.error
        options = plan.options
        approved = ApprovedPlan(plan, self._again(target, options) if self.path else None, self.digest)
        return Selection(options.to, options.only, options.reason, options.allow_out_of_order, approved)

    def _of(self, target: CatalogRun) -> PlanResult:
        name, environment = target.catalog.name, target.catalog.environment
        plans = [plan for plan in self.plans if plan.catalog == name and not plan.skipped]
        for plan in plans:
            if plan.environment == environment:
                return plan
        again = self._again(target, PlanOptions()) if self.path else command("migrate")
        if not plans:
            what = f"catalog {name} is not in the plan; nothing ran"
            raise HistoryDisagrees("PLAN_OUTDATED", what, f"`{again}` makes a plan of it", changes=(what,))
        other = plans[0].environment
        raise HistoryDisagrees(
            "ENVIRONMENT_MISMATCH",
            f"catalog {name}: the plan belongs to environment {other}, this run to environment {environment}; nothing ran",
            f"use --env {other}, or a plan of this environment: `{again}`",
            recorded=other,
            environment=environment,
        )

    def _again(self, target: CatalogRun, options: PlanOptions) -> str:
        """Return the command that writes the file again, with all its catalogs."""
        chosen = _still_possible(options, target.migrations)
        pairs = [("--to", chosen.to), ("--only", chosen.only), ("--reason", chosen.reason)]
        pairs += [("--allow-out-of-order", version) for version in chosen.allow_out_of_order]
        arguments = [part for name, value in pairs if value is not None for part in (name, value)]
        catalogs = dict.fromkeys((*self.catalogs, target.catalog.name))
        is_all = set(catalogs) == {target.catalog.name, *target.siblings}
        return plan_commands(self.path or "", *arguments, catalogs=() if is_all else catalogs)[0]


def _still_possible(options: PlanOptions, files: Sequence[Migration]) -> PlanOptions:
    """Return the options that select the same as before, without versions whose file was deleted."""
    numbers = {file.number for file in files}
    below = [file for file in files if options.to is not None and file.number <= int(options.to)]
    to = max(below, key=lambda file: file.number).version if below else None
    only = options.only if options.only is not None and int(options.only) in numbers else None
    allowed = tuple(version for version in options.allow_out_of_order if int(version) in numbers)
    return PlanOptions(to, only, options.reason if only is not None else None, allowed)


def given_plan(plan: str | Path | PlanFile | Collection[PlanResult], selection: Selection) -> PlanFile:
    """Return the plan that a caller passes: the path of a plan file, one that was read, or results of `Project.plan`.

    Raises:
        ConfigurationError: as `read_plan`; `CONFLICTING_OPTIONS`: the caller also selects versions.
    """
    if selection != Selection():
        raise ConfigurationError(
            "CONFLICTING_OPTIONS",
            "--plan excludes --to, --only, --reason and --allow-out-of-order: those that the plan was made with apply",
            "leave them out, or use them to make a new plan",
        )
    if isinstance(plan, PlanFile):
        return plan
    return read_plan(plan) if isinstance(plan, (str, Path)) else PlanFile(tuple(plan))


def plan_required(target: CatalogRun) -> ConfigurationError:
    """Return the error for a run without a plan file in an environment that requires one."""
    catalog = target.catalog
    write, apply = plan_commands("plan.json")
    return ConfigurationError(
        "PLAN_REQUIRED",
        f"catalog {catalog.name}: environment {catalog.environment} runs only plan files (requirePlan); nothing ran",
        f"`{write}` writes one; `{apply}` applies it",
    )


def write_plan(path: str | Path, plans: Sequence[PlanResult]) -> None:
    """Write a plan file. An existing one is replaced as a whole.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`, `EMPTY_VALUE`, `INVALID_VALUE`.
    """
    check_not_empty("output", path)
    if str(path) == "-":
        hint = f"`{command('plan', '--format', 'json')}` prints the plan to stdout"
        raise ConfigurationError("INVALID_VALUE", "output is -, which is no file", hint)
    with writing(path):
        replace_file(Path(path), json_text(document("plan", plans, None)) + "\n")


def read_plan(path: str | Path) -> PlanFile:
    """Read a plan file.

    Raises:
        ConfigurationError: `PLAN_INVALID`: it is not a plan, or is incomplete; `UNREADABLE_FILE`, `EMPTY_VALUE`.
    """
    check_not_empty("plan", path)
    try:
        content = read_anywhere(Path(path), _LARGEST)
        plans = _plans(parsed(content))
    except FileRefused as error:
        raise ConfigurationError(error.code, f"{path}: {error.what}", _making(path), path=str(path)) from error
    except (ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, InvalidDocument) else f"it is no JSON ({error})"
        what = "it is nested too deeply" if isinstance(error, RecursionError) else what
        message = f"{path} is not a plan of glacierbase: {what}; nothing ran"
        raise ConfigurationError("PLAN_INVALID", message, _making(path), path=str(path)) from error
    return PlanFile(plans, str(path), f"sha256:{hashlib.sha256(content).hexdigest()}")


def _making(path: str | Path) -> str:
    return f"`{command('plan', '--output', str(path))}` makes a plan"


def _plans(content: object) -> tuple[PlanResult, ...]:
    """Return the plans in a document.

    Raises:
        InvalidDocument: it is not the document of a `plan` that succeeded.
    """
    if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
        raise InvalidDocument(f"its schema is not {_SCHEMA}")
    if content.get("ok") is not True or not isinstance(content.get("catalogs"), list):
        raise InvalidDocument("it is the document of a plan that failed")
    plans = tuple(from_json(PlanResult, plan, f"catalogs[{i}]") for i, plan in enumerate(content["catalogs"]))
    for plan in plans:
        options = plan.options
        for version in (options.to, options.only, *options.allow_out_of_order):
            if version is not None and version_number(version) is None:
                raise InvalidDocument("its options name a version that is none")
    return plans
