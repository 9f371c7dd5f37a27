"""The key `headers` of a catalog file: which further headers its migration files may have."""

from __future__ import annotations

import pytest

from glacierbase.catalogs.folder import CatalogFile, load_catalog_files
from glacierbase.errors import GlacierbaseError, SeveralErrors
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder


def load(project: ProjectFolder, headers: str, shared: str | None = None) -> CatalogFile:
    project.catalog(LAKE.replace("WAREHOUSE", "/nowhere") + f"headers: {headers}\n", "shop")
    if shared is not None:
        (project.root / "catalogs" / "_shared.yaml").write_text(f"headers: {shared}\n")
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    return file


def test_each_header_is_required_or_optional(project: ProjectFolder) -> None:
    """The catalog of an environment has the names of the required ones."""
    file = load(project, "{TICKET: required, REVIEWED_BY: optional}")
    assert file.headers == {"TICKET": True, "REVIEWED_BY": False}
    assert file.for_environment(file.environments[0], project.root).required_headers == ("TICKET",)


def test_a_catalog_file_merges_over_the_shared_one(project: ProjectFolder) -> None:
    """Null removes a header of the shared file."""
    file = load(project, "{TICKET: optional, TEAM: null}", "{TICKET: required, TEAM: required, RISK: optional}")
    assert file.headers == {"TICKET": False, "RISK": False}


def test_no_headers_are_listed_by_default(project: ProjectFolder) -> None:
    """An absent and an empty key mean the same."""
    assert load(project, "{}").headers == {}
    assert load(project, "").headers == {}


@pytest.mark.parametrize(
    "name", ["ticket", "MIGRATION_TICKET", "AUTHOR", "DESCRIPTION", "SQUASHES", "T1", "A__B", "_A", "A" * 61]
)
def test_a_name_that_cannot_be_a_header_is_refused(name: str, project: ProjectFolder) -> None:
    """The error has the line of the name."""
    with pytest.raises(GlacierbaseError) as caught:
        load(project, f"{{{name}: required}}")
    assert caught.value.code == "INVALID_NAME"
    assert caught.value.data["path"] == "catalogs/shop.yaml"


def test_every_wrong_value_is_an_error(project: ProjectFolder) -> None:
    """A boolean is none of the two words."""
    with pytest.raises(SeveralErrors) as caught:
        load(project, "{TICKET: true, TEAM: requird, RISK: optional}")
    assert [error.code for error in caught.value.errors] == ["INVALID_VALUE", "INVALID_VALUE"]
    assert caught.value.errors[0].hint == "write TICKET: required, or TICKET: optional"


def test_headers_belong_to_the_file_and_not_to_an_environment(project: ProjectFolder) -> None:
    """One file is applied in every environment."""
    with pytest.raises(GlacierbaseError) as caught:
        load(project, "{}\nenvironments: {dev: {headers: {TICKET: required}}}")
    assert caught.value.code == "UNKNOWN_KEY"


def test_more_headers_than_anybody_needs_are_refused(project: ProjectFolder) -> None:
    """The nearest spelling of an unknown header is searched among them."""
    names = [a + b for a in "ABCDEFGHIJK" for b in "ABCDEFGHIJK"]
    with pytest.raises(GlacierbaseError) as caught:
        load(project, "{" + ", ".join(f"{name}: optional" for name in names) + "}")
    assert "at most 100" in caught.value.hint
