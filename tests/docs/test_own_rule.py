"""The rule that the guide about reviews shows is installed and applied."""

from __future__ import annotations

from tests.docs.pages import DOCS, blocks
from tests.support.project_folder import ProjectFolder
from tests.unit.capabilities.review.test_lint import CATALOG, install


def test_the_rule_of_the_guide_finds_tables_without_the_property(project: ProjectFolder) -> None:
    """The entry point is the one of the guide; a table that has the property raises no finding of the rule."""
    guide = DOCS / "guides" / "review.md"
    [module] = [block.text for block in blocks(guide, "python") if "Family" in block.text]
    [described] = [block.text for block in blocks(guide, "markdown")]
    entry = guide.read_text("utf-8").partition('`acme = "')[2].partition('"')[0]
    environ = install(project, module, entry, described)
    project.catalog(CATALOG)
    project.file("1_a.sql", "CREATE TABLE lake.a.t (id bigint) USING iceberg")
    project.file(
        "2_b.sql", "CREATE TABLE lake.a.u (id bigint) USING iceberg TBLPROPERTIES ('acme.team'='data platform')"
    )
    findings = project.ask("lint", environ=environ).entry()["findings"]
    assert [(each["path"], each["code"]) for each in findings if each["code"] == "ACME001"] == [
        ("migrations/shop/1_a.sql", "ACME001")
    ]
