"""The table of keys: what the reference is written from is what files are checked against."""

from __future__ import annotations

import pytest

from glacierbase.catalogs.keys import FILE_KEYS, KEYS, wrong_keys
from glacierbase.catalogs.yamlfile import parse_yaml
from glacierbase.model.keys import Key, Kind

EXAMPLES = {
    Kind.VALUE: "x",
    Kind.VALUES: "{a: x}",
    Kind.KEYS: "{a: {b: [x]}}",
    Kind.GROUP: "{}",
    Kind.LIST: "[x]",
    Kind.MAPPINGS: "[{}]",
    Kind.ENVIRONMENTS: "{dev: {}}",
}


def written(path: str, value: str) -> str:
    """A catalog file that holds one value."""
    *above, name = path.split(".")
    text = f"{{{name}: {value}}}"
    for key in reversed(above):
        text = f"{{{key[:-2]}: [{text}]}}" if key.endswith("[]") else f"{{{key}: {text}}}"
    return text


@pytest.mark.parametrize(("path", "key"), KEYS.items())
def test_a_key_of_the_table_is_accepted_with_a_value_of_its_kind_only(path: str, key: Key) -> None:
    """A value of any other kind is one error that names the kind; a misspelt key is one error that names the key."""
    assert list(wrong_keys(parse_yaml(written(path, EXAMPLES[key.kind]).encode(), "a.yaml"), FILE_KEYS)) == []
    other = "[x]" if key.kind is not Kind.LIST else "x"
    [error] = wrong_keys(parse_yaml(written(path, other).encode(), "a.yaml"), FILE_KEYS)
    assert (error.code, path.replace("[]", "") in error.message) == ("INVALID_VALUE", True)
    [error] = wrong_keys(parse_yaml(written(path + "s", "x").encode(), "a.yaml"), FILE_KEYS)
    assert (error.code, f"unknown key {key.name}s" in error.message) == ("UNKNOWN_KEY", True)


@pytest.mark.parametrize(("path", "key"), KEYS.items())
def test_a_key_of_the_table_has_a_meaning_and_a_default_of_its_type(path: str, key: Key) -> None:
    """The reference page shows them as they are."""
    assert key.meaning.endswith(".")
    assert key.type.expected
    assert key.default is None or key.type.convert(key.default) is not None
