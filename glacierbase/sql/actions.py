"""Framework actions: `CALL glacierbase.NAME(name => literal, …)`, which glacierbase executes itself before an engine gets it.

The functions are those of capabilities; what a call may look like is here, so that files are checked without them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from glacierbase.errors import MigrationFileError
from glacierbase.model.text import did_you_mean
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.maintenance import call_part, is_action
from glacierbase.sql.statement import Argument, Call

_NUMBER = re.compile(r"[0-9]{1,18}")


class Parameters(NamedTuple):
    """The parameters of an action. The values of `numbers` and `positive` are integers, those of others strings."""

    all: tuple[str, ...]
    optional: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


def _of_objects(
    *own: str,
    optional: tuple[str, ...] = ("journal",),
    positive: tuple[str, ...] = ("tasks",),
    numbers: tuple[str, ...] = (),
) -> Parameters:
    names = ("objects", "old_keys", "new_keys", *own, *numbers, *positive, *optional)
    return Parameters(names, optional, positive, numbers)


_HOLD = ("percent", "hold_seconds")
# The forms of each action: a call has the one with most of its parameters.
ACTIONS: Mapping[str, tuple[Parameters, ...]] = {
    "rekey_backfill": (
        Parameters(("table", "ranges", "bytes_per_range"), ("ranges",), ("bytes_per_range",)),
        _of_objects(optional=("journal", "journal_rows"), numbers=("lag_seconds",)),
    ),
    "rekey_clean_up": (_of_objects(numbers=("lag_seconds", "soak_seconds")),),
    "rekey_cutover": (
        _of_objects("view", "old_table", "new_table", "by", positive=(), numbers=_HOLD),
        _of_objects("table", positive=(), numbers=_HOLD),
    ),
    "rekey_validate": (Parameters(("table", "ranges"), ("ranges",)), _of_objects(numbers=("lag_seconds",))),
    "rekey_verify_dual_write": (_of_objects(optional=(), numbers=("lag_seconds", "window_seconds")),),
}


@dataclass(frozen=True, slots=True)
class ActionCall:
    """A call of an action: its name, and its arguments, numbers too, as texts."""

    name: str
    arguments: Mapping[str, str]


class WrongCall(Exception):
    """A call of an action is not one that runs; the message says why, as a clause."""


def action_call(sql: str, dialect: str) -> ActionCall | None:
    """Return the action that a statement calls; None where it is another statement.

    Raises:
        WrongCall: the statement calls a procedure in the namespace `glacierbase`, which must not reach the engine.
    """
    try:
        cursor = Cursor(sql, dialect)
        is_call = cursor.take("CALL") and is_action(cursor.part_to_end().table().parts)
    except (UnsupportedClause, MigrationFileError):
        return None
    if not is_call:
        return None
    try:
        call = call_part(cursor)
    except UnsupportedClause as error:
        raise WrongCall(f"it has {error}") from error
    # An engine with another dialect has none of these tables.
    known = ACTIONS if cursor.dialect is SPARK else {}
    if call.name not in known:
        listed = f"the actions are {', '.join(known)}" if known else "this dialect has none"
        raise WrongCall(f"there is no action {call.name}: {did_you_mean(call.name, known, listed)}")
    forms = known[call.name]
    given = {argument.name for argument in call.arguments}
    form = max(forms, key=lambda form: len(given & {*form.all}))
    return ActionCall(call.name, _arguments(call, form))


def _arguments(call: Call, parameters: Parameters) -> Mapping[str, str]:
    given: dict[str, str] = {}
    for argument in call.arguments:
        name = argument.name
        if name is None:
            raise WrongCall(f"the argument {argument.text} has no name; write name => literal")
        if name not in parameters.all:
            listed = f"its parameters are {', '.join(parameters.all)}"
            raise WrongCall(f"{call.name} has no parameter {name}: {did_you_mean(name, parameters.all, listed)}")
        if name in given:
            raise WrongCall(f"the argument {name} is given twice")
        given[name] = _literal(argument, parameters)
    if missing := [name for name in parameters.all if name not in (*given, *parameters.optional)]:
        raise WrongCall(f"the argument {missing[0]} is missing")
    return given


def _literal(argument: Argument, parameters: Parameters) -> str:
    is_positive = argument.name in parameters.positive
    is_number = is_positive or argument.name in parameters.numbers
    if is_number and _NUMBER.fullmatch(argument.text) and int(argument.text) >= is_positive:
        return argument.text
    if not is_number and argument.string:
        return argument.string
    wanted = "a positive integer" if is_positive else "an integer" if is_number else "a string literal"
    raise WrongCall(f"the argument {argument.name} is not {wanted}")
