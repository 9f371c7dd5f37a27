"""The forms of the tests: what each holds, by the recorded costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import is_selected
from tests.costs.__main__ import recorded
from tests.costs.forms import FETCHED, FETCHED_FIXTURE, KEPT, KEPT_LONG, LINT, Form, form, is_left_out
from tests.costs.table import Cost, Costs, costs, function_of, parsed, written
from tests.support.project_folder import REPOSITORY

# It needs an account.
NOT_MEASURED = {
    "tests/engines/test_migrate_snowflake.py::test_on_an_account_all_key_macros_compute_what_python_computes"
}
FUNCTION = re.compile(r"^def (test_\w+)", re.MULTILINE)
SOME = Costs(
    {
        "tests/a.py::test_cheap": Cost(0.29, 3),
        "tests/a.py::test_cheap[dear]": Cost(0.31, 1),
        "tests/a.py::test_shares": Cost(0.2, 10, ("tests::engine",)),
        "tests/b.py::test_dear": Cost(3, 2),
        "tests/c.py::test_fetched": Cost(0.1, 1, (FETCHED_FIXTURE,)),
    },
    {"tests::engine": 2.0},
)


def test_every_test_has_a_recorded_cost() -> None:
    """A test without one would run in the quick form, whatever it costs. `python -m tests.costs FILE` records it."""
    names = {
        f"{file.relative_to(REPOSITORY).as_posix()}::{name}"
        for file in (REPOSITORY / "tests").rglob("test_*.py")
        for name in FUNCTION.findall(file.read_text("utf-8"))
    }
    assert len(names) > 3000
    assert names ^ {function_of(node) for node in costs().tests} == NOT_MEASURED


def test_the_lists_name_tests_that_exist() -> None:
    """An entry that names none would keep nothing in the form."""
    assert [
        entry
        for entry in (*FETCHED, *KEPT, *KEPT_LONG, *LINT)
        if not any(node.startswith(entry) for node in costs().tests)
    ] == []


@pytest.mark.parametrize(
    ("node", "is_first", "expected"),
    [
        ("tests/a.py::test_cheap[1]", False, Form.QUICK),
        ("tests/a.py::test_cheap[dear]", False, Form.LONG),
        ("tests/a.py::test_shares[1]", False, Form.LONG),
        ("tests/b.py::test_dear[1]", True, Form.LONG),
        ("tests/b.py::test_dear[2]", False, Form.FULL),
        ("tests/b.py::test_new", False, Form.QUICK),
        (f"{KEPT[0]}[1]", False, Form.QUICK),
        (KEPT_LONG[0], True, Form.LONG),
        ("tests/docs/test_pages.py::test_a", False, Form.LINT),
        (f"{FETCHED[0]}::test_a", False, Form.LONG),
        ("tests/c.py::test_fetched", False, Form.LONG),
    ],
)
def test_the_form_follows_from_the_cost(node: str, is_first: bool, expected: Form) -> None:
    """A test that shares an engine with nine others costs a tenth of the engine more."""
    assert form(node, SOME, is_first) is expected


@pytest.mark.parametrize(
    ("text", "selected", "is_read"),
    [
        ("def test_cheap(): pass", Form.QUICK, True),
        ("def test_cheap(): pass", Form.FULL, False),
        ("def test_dear(): pass", Form.QUICK, False),
        ("def test_dear(): pass\ndef test_new(): pass", Form.QUICK, True),
    ],
)
def test_only_files_with_selected_tests_are_imported(text: str, selected: Form, is_read: bool, tmp_path: Path) -> None:
    """A file with a test that has no recorded cost is always imported."""
    file = tmp_path / "test_some.py"
    file.write_text(text)
    path = "tests/a.py" if "cheap" in text else "tests/b.py"
    assert is_left_out(file, path, {each: each is selected for each in Form}, SOME) is not is_read


@pytest.mark.parametrize(
    ("expression", "forms"),
    [
        ("quick", {Form.QUICK}),
        ("long or lint", {Form.LONG, Form.LINT}),
        ("not full", {Form.QUICK, Form.LINT, Form.LONG}),
        ("", set(Form)),
        ("snowflake and not full", set(Form)),
    ],
)
def test_an_expression_with_other_marks_may_select_any_form(expression: str, forms: set[Form]) -> None:
    """Which files hold those marks is known after their import only."""
    assert {form for form in Form if is_selected(form, expression)} == forms


def test_a_line_holds_for_the_items_that_cost_alike() -> None:
    """An item that is dear or shares another fixture has a line of its own.

    One that was not measured costs as those with the same fixtures.
    """
    nodes = [f"tests/a.py::test_a[{number}]" for number in range(6)]
    lines = [
        *({"collected": node, "shares": ["tests::cheap"]} for node in nodes[:4]),
        *({"collected": node, "shares": ["tests::cheap", "tests::dear"]} for node in nodes[4:]),
        *({"test": node, "seconds": 0.02} for node in nodes[:2]),
        {"test": nodes[2], "seconds": 0.5},
        {"test": nodes[5], "seconds": 0.8},
        {"fixture": "tests::cheap", "seconds": 0.01},
        {"fixture": "tests::dear", "seconds": 3},
    ]
    measured = recorded(lines)
    assert measured.tests == {
        "tests/a.py::test_a": Cost(0.02, 3),
        nodes[2]: Cost(0.5, 1),
        **dict.fromkeys(nodes[4:], Cost(0.8, 1, ("tests::dear",))),
    }
    assert measured.seconds(nodes[3]) == 0.02
    assert measured.seconds(nodes[4]) == pytest.approx(2.3)
    assert parsed(written(measured)) == measured
