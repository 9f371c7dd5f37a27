"""The commands that change a catalog, and `pending` and `plan`, which show what `migrate` would do."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from glacierbase.cli.completion import complete_file, complete_version
from glacierbase.cli.group import DIFFERENCES, cli
from glacierbase.cli.options import CommandOptions, with_lock_timeout, with_options, with_yes

if TYPE_CHECKING:
    from glacierbase.apply.results import PlanResult
    from glacierbase.model.result import Result
    from glacierbase.project.project import Project

F = TypeVar("F", bound=Callable[..., Any])

_SELECTION = [
    click.option("--to", metavar="VERSION", help="The last version to run.", shell_complete=complete_version),
    click.option(
        "--only",
        metavar="VERSION",
        help="Run this version alone (a hotfix); requires --reason.",
        shell_complete=complete_version,
    ),
    click.option("--reason", metavar="TEXT", help="Why --only; recorded in the history."),
    click.option(
        "--allow-out-of-order",
        metavar="VERSION",
        multiple=True,
        help="Run this version although a higher one is applied; repeat for several.",
        shell_complete=complete_version,
    ),
]


def _with_selection(function: F) -> F:
    return functools.reduce(lambda made, option: option(made), reversed(_SELECTION), function)


@cli.command()
@with_options()
@_with_selection
@with_lock_timeout
@click.option(
    "--plan", metavar="PATH", help="Apply the plan in this file, or nothing if anything changed since it was made."
)
@click.option("--dry-run", is_flag=True, help="Show what would run, as `plan` does.")
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    help="How many catalogs run at the same time (default 1).",
)
@click.option("--yes", is_flag=True, help="Do not ask for the name of a protected environment.")
def migrate(
    options: CommandOptions,
    lock_timeout: float,
    plan: str | None,
    dry_run: bool,
    parallel: int,
    yes: bool,
    **selection: Any,
) -> None:
    """Apply pending migrations in order, under the lock.

    A failed file resumes at the statement that failed.
    """
    if plan and (dry_run or any(selection.values())):
        options_of_a_plan = "--dry-run, --to, --only, --reason and --allow-out-of-order"
        raise click.UsageError(f"--plan excludes {options_of_a_plan}", click.get_current_context())

    if dry_run:
        options.report(lambda project: project.plan(options.catalogs, **selection), command="plan")
        return
    from glacierbase.apply.results import MigrateResult

    lines = MigrateResult.summary if options.terminal.is_one_screen else None
    with options.reporting(lines) as report, options.loaded() as project:
        given = _read_plan(plan) if plan else None
        catalogs = options.catalogs or (given.catalogs if given else ())
        if not yes and (protected := project.protected(catalogs)):
            planned = given.plans if given else _planned(project, catalogs, selection)
            _confirm(options, protected, planned, is_file=given is not None)
            given, selection = given or planned, {}
        with options.terminal.signals.cancelling() as cancel:
            report.results = project.migrate(
                catalogs, **selection, plan=given, lock_timeout=lock_timeout, cancel=cancel, parallel=parallel
            )


def _read_plan(path: str) -> Any:
    from glacierbase.apply.planfile import read_plan  # Only runs that apply a plan load its reader.

    return read_plan(path)


def _planned(project: Project, catalogs: Sequence[str], selection: Mapping[str, Any]) -> Sequence[PlanResult]:
    """Return what `migrate` would run. It reports the errors."""
    from glacierbase.errors import GlacierbaseError

    try:
        return project.plan(catalogs, **selection)
    except GlacierbaseError as error:
        return error.results


def _confirm(
    options: CommandOptions, protected: Sequence[str], planned: Sequence[PlanResult], *, is_file: bool
) -> None:
    """Show what is about to run in a protected environment, and prompt for its name. `migrate` refuses what needs a plan file."""
    affected = [
        result for result in planned if result.environment in protected and (is_file or not result.plan_required)
    ]
    if any(result.plan for result in affected):
        options.terminal.confirm(protected, affected)


@cli.command()
@with_options(several=True)
@click.option("--exit-code", is_flag=True, help="Exit with 7 if something is pending.")
def pending(options: CommandOptions, exit_code: bool) -> None:
    """List what `migrate` would apply, in order. Writes nothing."""
    results = options.report(lambda project: project.pending(options.catalogs))
    if exit_code and any(result.pending for result in results):
        sys.exit(DIFFERENCES)


@cli.command()
@with_options(several=True)
@_with_selection
@click.option("--output", metavar="PATH", help="Also write the plan to this file, for `migrate --plan`.")
def plan(options: CommandOptions, output: str | None, **selection: Any) -> None:
    """Show the rendered statements that `migrate` would run. Writes nothing but --output."""
    if output and len(options.environments) > 1:
        raise click.UsageError("--output takes one environment", click.get_current_context())
    options.report(lambda project: project.plan(options.catalogs, output=output, **selection))


@cli.command()
@with_options()
@click.option(
    "--as",
    "as_",
    type=click.Choice(["done", "not-done", "abandoned", "edited", "removed", "withdrawn"]),
    help="The outcome to record. Default: only show what is known.",
)
@click.option("--reason", metavar="TEXT", help="How you found out; recorded in the history.")
@click.option(
    "--environment-was",
    metavar="OLD",
    help="Accept a history of environment OLD: renamed, cloned or moved.",
)
@click.option("--engine-stopped", is_flag=True, help="Confirm that the lost run's engine has stopped; recorded.")
@with_lock_timeout
@with_yes
@click.argument("versions", nargs=-1, shell_complete=complete_file)
def repair(options: CommandOptions, versions: Sequence[str], lock_timeout: float, yes: bool, **decision: Any) -> None:
    """Record the outcome of VERSIONS that need a decision.

    These are versions with an unknown outcome, and failed, edited and removed files; the name of a repeatable counts as a version.
    Without --as, show what is known of them: the statement, who ran it and when, and the evidence of it in the engine. Default:
    all that need a decision.

    --as withdrawn ends a version in every environment of the catalog, where no statement of it took effect in any of them.

    The state after each other decision; any other --as is refused:

    \b
    state        --as       state afterwards
    unknown      done       applied after its last statement, else interrupted
    unknown      not-done   interrupted, once the engine has stopped
    unknown      abandoned  abandoned
    failed       done       applied after its last statement, else interrupted
    failed       abandoned  abandoned
    interrupted  abandoned  abandoned
    waiting      abandoned  abandoned
    changed      edited     what it was, with the checksum of the file
    missing      removed    applied if it was, else abandoned
    ahead        removed    applied if it was, else abandoned
    """

    with options.reporting() as report, options.loaded() as project:
        from glacierbase.model.arguments import check_reason

        if not yes and (decision["as_"] or decision["environment_was"]):
            check_reason(decision["reason"])
            protected = project.protected(options.catalogs, everywhere=decision["as_"] == "withdrawn")
            options.terminal.check_keyboard(protected)
            has_cases = not decision["environment_was"]
            cases = project.repair(versions, options.catalogs, dry_run=True, **decision) if has_cases else ()
            options.terminal.confirm(protected, cases)
        report.results = project.repair(versions, options.catalogs, lock_timeout=lock_timeout, **decision)


@cli.command()
@with_options()
@click.option("--reason", metavar="TEXT", help="Why the lock is released; recorded in the history.")
@click.option("--force", is_flag=True, help="Also if the run may be alive; it then runs nothing more.")
@click.option("--rebuild", is_flag=True, help="First replace the rows of a damaged lock table by one (LOCK_DAMAGED).")
@with_yes
def unlock(options: CommandOptions, reason: str | None, force: bool, rebuild: bool, yes: bool) -> None:
    """Release the lock of a run that died.

    Shows the lock holder first.
    """

    with options.reporting() as report, options.loaded() as project:
        if not yes:
            report.results = held = project.unlock(options.catalogs, rebuild=rebuild, dry_run=True)
            if not rebuild and not any(result.lock for result in held):
                return
            options.terminal.confirm(project.protected(options.catalogs), held)
        report.results = project.unlock(options.catalogs, force=force, rebuild=rebuild, reason=reason)


@cli.command()
@with_options()
@click.option(
    "--to",
    metavar="VERSION",
    required=True,
    help="The last version whose tables exist already.",
    shell_complete=complete_version,
)
@click.option("--reason", metavar="TEXT", required=True, help="Why; recorded in the history.")
@click.option(
    "--accept",
    metavar="WHAT",
    multiple=True,
    help="A difference that does not matter, such as 'partitioning'; recorded.",
)
@click.option("--leave-missing", is_flag=True, help="Leave files pending whose tables do not exist.")
@with_lock_timeout
@with_yes
def baseline(options: CommandOptions, to: str, yes: bool, **decision: Any) -> None:
    """Adopt existing tables: record migrations as applied.

    The migrations do not run. Refused if a table that they create does not exist, or is not as the files declare it.
    """

    with options.reporting() as report, options.loaded() as project:
        if not yes and (unstarted := _not_started(project, options.catalogs, to)):
            options.terminal.confirm(project.protected(options.catalogs), unstarted)
        report.results = project.baseline(to, options.catalogs, **decision)


def _not_started(project: Project, catalogs: Sequence[str], to: str) -> Sequence[Result]:
    """Return the results of catalogs with pending files up to version `to`, with these files only."""
    from dataclasses import replace

    from glacierbase.errors import GlacierbaseError
    from glacierbase.model.arguments import version_given

    last = version_given(to)
    try:
        results = project.pending(catalogs)
    except GlacierbaseError as error:
        error.results = ()  # They are the results of another command.
        raise
    recorded = [
        replace(result, pending=tuple(f for f in result.pending if f.version and f.number <= last))
        for result in results
    ]
    return [pending_result for pending_result in recorded if pending_result.pending]


@cli.command()
@with_options()
@click.option("--check", is_flag=True, help="Change nothing; fail if one is missing or out of date.")
@click.option("--clean", is_flag=True, help="Delete those that the catalog files do not use any more.")
def env(options: CommandOptions, check: bool, clean: bool) -> None:
    """Install the packages of catalogs in virtual environments.

    For catalogs with `migrationExecutor.packages`. Writes lock files beside the catalog files. Contacts no catalog.
    """
    options.report(lambda project: project.env(options.catalogs, check=check, clean=clean))


@cli.command()
@with_options()
def warm(options: CommandOptions) -> None:
    """Resolve dependencies and build Spark's class archive.

    For container images and CI caches. Contacts no catalog.
    """
    options.report(lambda project: project.warm(options.catalogs))
