"""The commands by name, for the command line, the Python API, the JSON documents and the list of commands.

A command's modules are imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from glacierbase.executors.actions import Action


class Section(Enum):
    """The sections of the list of commands, in order."""

    WRITE = "Write migrations"
    CHECK = "Check files and connections"
    APPLY = "Apply migrations"
    READ = "Read (nothing is changed)"
    RECOVER = "Recover and look up"


class Command(NamedTuple):
    """A command.

    Attributes:
        section: the section in the list of commands; None for an action of another command.
        function: `module:name` in this package; takes keyword arguments. None where the command line alone has it.
        result: `module:name` of the type of its results; None where its document is about no catalog.
        is_group: whether it only groups commands, which are rows of their own: `layout-explain`.
        needs_values: whether it contacts the catalog, so that every reference in the catalog file must have a value.
        answer: `module:name` of the type of its answer, where its document is about no catalog.
        reads_files: whether an error in a migration file ends the command; otherwise files are read when they are needed.
        check: `module:name` of the function that checks each of several catalogs before any of them runs. It returns the result
            of one that cannot run, which prevents all of them, else None. Its arguments are those of `function`.
        not_run: `module:name` of the function that completes the result of a catalog that does not run, because another one
            failed; its third argument says why. None where an error of one catalog does not stop the others.
    """

    section: Section | None
    function: str | None = None
    result: str | None = None
    reads_files: bool = True
    needs_values: bool = True
    is_group: bool = False
    answer: str | None = None
    check: str | None = None
    not_run: str | None = None

    def load(self) -> Callable[..., Any]:
        """Import the function, and return it."""
        function: Callable[..., Any] = imported(self.function)
        return function

    def result_type(self) -> Any:
        """Import the type of the results, and return it."""
        return imported(self.result)

    def answer_type(self) -> Any:
        """Import the type of the answer, and return it."""
        return imported(self.answer)


def imported(path: str | None) -> Any:
    """Import an object of this package that is named as `module:name`, and return it."""
    module, _, name = (path or "").partition(":")
    return getattr(import_module(f"glacierbase.{module}"), name)


# The functions of the actions in `sql.actions`.
_ACTIONS: Mapping[str, str] = {
    "rekey_backfill": "capabilities.rekey.actions:backfill",
    "rekey_clean_up": "capabilities.rekey.actions:clean_up",
    "rekey_cutover": "capabilities.rekey.actions:cutover",
    "rekey_validate": "capabilities.rekey.actions:validate",
    "rekey_verify_dual_write": "capabilities.rekey.actions:verify_dual_write",
}


def open_action(name: str) -> Action:
    """Import the function of an action."""
    action: Action = imported(_ACTIONS[name])
    return action


# In the order of the list of commands.
COMMANDS: Mapping[str, Command] = {
    "new": Command(Section.WRITE, "capabilities.authoring.new:new", "model.result:WrittenResult"),
    "rebase": Command(
        Section.WRITE, "capabilities.authoring.rebase:rebase", "capabilities.authoring.rebase:RebaseResult"
    ),
    "squash": Command(
        Section.WRITE,
        "capabilities.authoring.squash.squash:squash",
        "capabilities.authoring.squash.squash:SquashResult",
    ),
    "import": Command(
        Section.WRITE, "capabilities.adopt.baselining:import_baseline", "capabilities.adopt.results:ImportResult"
    ),
    "import-tables": Command(
        None, "capabilities.adopt.tables:import_tables", "capabilities.adopt.table_results:ImportTablesResult"
    ),
    "rekey": Command(Section.WRITE, is_group=True),
    "rekey-plan": Command(None, "capabilities.rekey.plan:plan", "capabilities.rekey.plan:RekeyPlanResult"),
    "rekey-approve": Command(None, answer="capabilities.rekey.approval:RekeyApproveResult"),
    "init": Command(Section.WRITE, "capabilities.authoring.init:init", "capabilities.authoring.init:InitResult"),
    "check": Command(Section.CHECK, "capabilities.review.check:check", "capabilities.review.results:CheckResult"),
    "validate": Command(Section.CHECK, "inspect.validate:validate", "inspect.results:ValidateResult"),
    "render": Command(Section.CHECK, "inspect.validate:render", "inspect.results:RenderResult"),
    "doctor": Command(Section.CHECK, "inspect.doctor:doctor", "inspect.results:DoctorResult"),
    "lint": Command(Section.CHECK, "capabilities.review.lint:lint", "capabilities.review.results:LintResult"),
    "rules": Command(Section.CHECK),
    "review": Command(Section.CHECK, "capabilities.review.review:review", "capabilities.review.results:ReviewResult"),
    "layout": Command(Section.CHECK, is_group=True),
    "layout-advise": Command(None, answer="capabilities.load.advise:AdviseResult"),
    "layout-explain": Command(
        None, "capabilities.load.explain:explain", "capabilities.load.explain:ExplainResult", reads_files=False
    ),
    "layout-profile": Command(None, answer="capabilities.load.profile:ProfileResult"),
    "layout-simulate": Command(None, answer="capabilities.load.simulation:Simulation"),
    "layout-ls": Command(None),
    "sharding": Command(Section.CHECK, is_group=True),
    "sharding-advise": Command(None, answer="capabilities.sharding.advise:ShardingAdvice"),
    "access": Command(
        Section.CHECK, "capabilities.access.access:plan", "capabilities.access.access:AccessResult", needs_values=False
    ),
    "schemas": Command(Section.CHECK),
    "completion": Command(Section.CHECK),
    "migrate": Command(
        Section.APPLY,
        "apply.migrator:migrate",
        "apply.results:MigrateResult",
        check="apply.several:check",
        not_run="apply.several:not_run",
    ),
    "baseline": Command(Section.APPLY, "apply.baseline:baseline_catalog", "apply.results:BaselineResult"),
    "env": Command(Section.APPLY, "apply.env:env", "apply.results:EnvResult", reads_files=False, needs_values=False),
    "warm": Command(Section.APPLY, "apply.env:warm", "apply.results:WarmResult"),
    "pending": Command(Section.READ, "apply.migrator:pending", "apply.results:PendingResult"),
    "plan": Command(Section.READ, "apply.migrator:plan", "apply.results:PlanResult"),
    "status": Command(Section.READ, "inspect.status:status", "inspect.results:StatusResult"),
    "history": Command(Section.READ, "inspect.history:history", "inspect.history:HistoryResult", reads_files=False),
    "show": Command(Section.READ, "inspect.show:show", "inspect.show:ShowResult"),
    "schema": Command(
        Section.READ, "capabilities.tables.schema:schema", "capabilities.tables.schema:SchemaResult", reads_files=False
    ),
    "blame": Command(
        Section.READ, "capabilities.tables.blame:blame", "capabilities.tables.blame:BlameResult", reads_files=False
    ),
    "compare": Command(
        Section.READ,
        "capabilities.tables.compare.compare:compare_sources",
        "capabilities.tables.compare.results:CompareResult",
    ),
    "export-state": Command(
        Section.READ, "capabilities.tables.compare.exporting:export", "capabilities.tables.compare.state:StateResult"
    ),
    "drift": Command(
        Section.READ, "capabilities.tables.drift:drift", "capabilities.tables.drift:DriftResult", reads_files=False
    ),
    "new-matching": Command(None, "capabilities.tables.match:new_matching", "model.result:WrittenResult"),
    "drift-adopt": Command(
        None, "capabilities.tables.drift_files:adopt", "capabilities.tables.drift_files:DriftFileResult"
    ),
    "drift-revert": Command(
        None, "capabilities.tables.drift_files:revert", "capabilities.tables.drift_files:DriftFileResult"
    ),
    "drift-ignore": Command(
        None, "capabilities.tables.drift_files:ignore", "capabilities.tables.drift_files:DriftIgnoreResult"
    ),
    "report": Command(
        Section.READ, "capabilities.tables.report.page:report", "capabilities.tables.report.results:ReportResult"
    ),
    "repair": Command(Section.RECOVER, "apply.repair:repair_catalog", "apply.results:RepairResult"),
    "unlock": Command(Section.RECOVER, "apply.unlock:unlock_catalog", "apply.results:UnlockResult"),
    "explain": Command(Section.RECOVER),
    "help": Command(Section.RECOVER),
}
# The commands of every day, in the order of use.
DAILY: Sequence[str] = (
    "init", "new", "check", "pending", "plan", "migrate", "status", "blame", "compare", "repair",
)  # fmt: skip
