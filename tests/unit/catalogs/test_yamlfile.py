"""YAML files are read as YAML 1.2 defines, with lines, and merged."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.catalogs.yamlfile import MappingNode, Node, ScalarNode, load_yaml, merge, yaml_files
from glacierbase.errors import ConfigurationError, SeveralErrors

# Prints by how many KiB the largest size of the process grew, and the error.
MEASURED = """
import resource, sys
from pathlib import Path
from glacierbase.catalogs.yamlfile import load_yaml, yaml_files
from glacierbase.errors import ConfigurationError
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
folder, before = Path(sys.argv[1]), size()
try:
    load_yaml(folder / "a.yaml", "catalogs/a.yaml", yaml_files(folder))
except ConfigurationError as error:
    print(size() - before, error.message)
"""


def load(tmp_path: Path, text: str) -> MappingNode:
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return load_yaml(path, "catalogs/a.yaml", yaml_files(tmp_path))


def plain(node: Node) -> Any:
    if isinstance(node, MappingNode):
        return {key: plain(value) for key, value in node.values.items()}
    return node.value if isinstance(node, ScalarNode) else [plain(item) for item in node.items]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("4", 4), ("-4", -4), ("0x1F", 31), ("0o17", 15), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ("0", 0), ("0.0", 0.0),
        ("true", True), ("FALSE", False), ("null", None), ("~", None), ("", None),
        # Where YAML 1.1 has booleans, numbers to the base of 60, and dates.
        ("yes", "yes"), ("on", "on"), ("n", "n"), ("1_000", "1_000"), ("12:30:00", "12:30:00"), ("2026-01-01", "2026-01-01"),
        ("012345678901", "012345678901"), ("'4'", "4"), ('"true"', "true"), ("!!str 4", "4"), ("1.12.0", "1.12.0"), (".", "."),
        ("9" * 40, "9" * 40),
    ],
)  # fmt: skip
def test_a_scalar_has_the_type_that_yaml_1_2_defines(written: str, value: object, tmp_path: Path) -> None:
    """Quotes matter, digits with a leading zero are text, and the text as written is kept beside the value."""
    node = load(tmp_path, f"a: {written}\n").values["a"]
    assert isinstance(node, ScalarNode)
    assert node.value == value
    assert type(node.value) is type(value)
    assert node.text == written.removeprefix("!!str ").strip("'\"")


def test_values_and_keys_know_their_lines(tmp_path: Path) -> None:
    """Lines of values and keys count from 1."""
    root = load(tmp_path, "a:\n  b:\n    - 1\n    - 2\n")
    inner = root.values["a"]
    assert isinstance(inner, MappingNode)
    assert (root.keys["a"].line, inner.keys["b"].line, inner.values["b"].place.line) == (1, 2, 3)


def test_merging_goes_by_key_replaces_lists_and_removes_by_null(tmp_path: Path) -> None:
    """Null removes a key, and is valid where there is none to remove."""
    base = load(tmp_path, "a: {b: 1, c: 2, d: {e: 1}}\nlist: [1, 2]\nx: 1\ny: {z: 1}\n")
    over = load(tmp_path, "a: {b: 3, c: null, d: {f: 2}}\nlist: [3]\nx: {z: 1, w: null}\ny: 2\nnone: null\n")
    assert plain(merge(base, over)) == {
        "a": {"b": 3, "d": {"e": 1, "f": 2}},
        "list": [3],
        "x": {"z": 1},
        "y": 2,
    }
    assert plain(base)["a"] == {"b": 1, "c": 2, "d": {"e": 1}}


def test_every_duplicate_key_is_reported_with_both_lines(tmp_path: Path) -> None:
    """YAML forbids duplicate keys, though most parsers silently use the last one."""
    with pytest.raises(SeveralErrors) as caught:
        load(tmp_path, "a: 1\nb: {c: 1,\n c: 2}\na: 2\n")
    assert [error.data["line"] for error in caught.value.errors] == [3, 4]
    assert "first defined on line 2" in caught.value.errors[0].message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [\n", 2), ("a: 1\n b: 2\n", 2), ("- 1\n", 1), ("word", 1), ("a: 1\n---\nb: 2\n", 2), ("a: &x [*x]\n", 1),
        ("a: 1\nb: !odd 2\n", 2), ("b: &b {c: 1}\na:\n  <<: *b\n", 3), ("? [a]\n: 1\n", 1), ("a: \x07", 1), ("[" * 5000, 1),
        ("a: !!int x\n", 1), ("\ud800", 1),
    ],
)  # fmt: skip
def test_invalid_yaml_is_one_error_with_its_line(text: str, line: int, tmp_path: Path) -> None:
    """Every exception of the parser becomes one error with a line."""
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    assert (caught.value.code, caught.value.data["line"]) == ("INVALID_YAML", line)


def test_aliases_that_expand_to_too_much_are_refused(tmp_path: Path) -> None:
    """Nine levels of nine aliases would expand to four hundred million values."""
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
    with pytest.raises(ConfigurationError, match="aliases"):
        load(tmp_path, f"a0: &a0 x\n{levels}")


def test_an_empty_file_is_an_empty_mapping(tmp_path: Path) -> None:
    """A catalog file may be empty, with everything in `_shared.yaml`."""
    assert load(tmp_path, "# nothing\n").values == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"# \n?,<~0x.%@"), max_size=40))
def test_no_text_raises_anything_else(tmp_path: Path, text: str) -> None:
    """Any text is a mapping or one configuration error."""
    with suppress(ConfigurationError, SeveralErrors):
        assert isinstance(load(tmp_path, text), MappingNode)


@pytest.mark.parametrize("text", ['a: "\\U00110000"', 'a: "\\UFFFFFFFF"', 'a: "\\ud800"', '"\\ud800": 1'])
def test_an_escape_that_is_not_a_character_is_reported(text: str, tmp_path: Path) -> None:
    """An escape that is not a character cannot be printed or sent, and is refused."""
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_yaml(tmp_path / "x.yaml", "x.yaml", yaml_files(tmp_path))
    assert caught.value.code == "INVALID_YAML"


@pytest.mark.parametrize(
    "text",
    [
        "{" + "a: b," * 80_000 + "}",
        "a: [" + "b," * 200_000 + "]",
        "a: &a b\nc: [" + "*a," * 200_000 + "]",
    ],
)
def test_a_file_of_very_many_values_is_refused_before_they_are_held(text: str, tmp_path: Path) -> None:
    """The parser needs a kilobyte for each value, so it stops at the limit. A new process shows how much memory it took."""
    (tmp_path / "a.yaml").write_text(text)
    done = subprocess.run([sys.executable, "-c", MEASURED, tmp_path], capture_output=True, text=True, check=True)
    grown, _, message = done.stdout.partition(" ")
    assert "more than 100000 values" in message
    assert int(grown) < 90 * 2**10


def test_a_number_with_very_many_digits_is_refused(tmp_path: Path) -> None:
    """Python refuses to write such a number as text."""
    with pytest.raises(ConfigurationError, match="is not of type int"):
        load(tmp_path, "a: !!int 0x" + "f" * 10_000)


def test_a_file_of_wrong_keys_is_a_hundred_errors(tmp_path: Path) -> None:
    """Of a thousand wrong keys, a hundred are reported."""
    (tmp_path / "catalogs").mkdir()
    for text in ("a: 1\n" * 1_000, "".join(f"k{number}: 1\n" for number in range(1_000))):
        (tmp_path / "catalogs/shop.yaml").write_text(text)
        with pytest.raises(SeveralErrors) as caught:
            load_catalog_files(tmp_path / "catalogs", tmp_path)
        assert len(caught.value.errors) == 100


def test_a_catalog_has_at_most_a_thousand_environments(tmp_path: Path) -> None:
    """Every file is rendered in every environment, so their number is limited."""
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs/shop.yaml").write_text("environments:\n" + "".join(f"  e{n}: {{}}\n" for n in range(1_001)))
    with pytest.raises(ConfigurationError, match="at most 1000"):
        load_catalog_files(tmp_path / "catalogs", tmp_path)
