"""Reference entries: `lint` and its rules."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "LINT_FAILED",
        (MigrationFileError,),
        "A rule finds an error in a migration, and no comment allows it. Nothing was contacted and nothing ran.",
        "error: LINT_FAILED: catalog analytics: 1 error of DS103\n"
        "next: `glacierbase rules DS103` explains them, and how to allow one\n"
        "state: nothing ran",
        (
            "Read the findings above the error: each names the file, the line, why and a fix.",
            "Fix the statement, if the file is not applied anywhere.",
            "If the change is wanted, write `-- GLACIERBASE_ALLOW: CODE reason` on a line above the statement. The history "
            "keeps the reason.",
            "If the rule does not fit your project, set its severity in the catalog file: `lint: {rules: {CODE: off}}`.",
        ),
    ),
    Entry(
        "UNKNOWN_RULE",
        (ConfigurationError,),
        "A catalog file sets the severity of a rule that does not exist. Nothing was contacted.",
        "error: UNKNOWN_RULE: catalogs/analytics.yaml, line 10: lint.rules: there is no rule SD103\n"
        "next: did you mean DS103?\n"
        "state: nothing ran",
        (
            "Correct the code; `glacierbase rules` lists all.",
            "If the rule comes from a package, install the package where `lint` runs.",
        ),
    ),
    Entry(
        "BROKEN_RULES",
        (ConfigurationError,),
        "An installed package adds rules to `lint`, and they cannot be loaded. Nothing was contacted.",
        "error: BROKEN_RULES: the rules acme (acme_rules:RULES) of the package acme-rules cannot be used: ModuleNotFoundError:"
        " No module named 'acme_rules'\n"
        "next: correct the package, or uninstall it\n"
        "state: nothing ran",
        (
            "Run `python -c 'import MODULE'` with the module of the message, and correct what fails.",
            "An entry point of the group `glacierbase.rules` names a rule, which `statement_rule` or `file_rule` returns, "
            "or a list of rules. Their codes are two to eight capital letters and three digits, and no rule of another "
            "package has them.",
            "To go on without them: `pip uninstall PACKAGE`.",
        ),
    ),
)
