"""Each rule objects to its bad example and to nothing in its good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.capabilities.review import rules
from glacierbase.capabilities.review.catalogue import FAMILIES, all_rules
from glacierbase.capabilities.review.rule import Rule
from glacierbase.model.keys import RULE_CODE
from glacierbase.prose import sections
from tests.support.rules import facts_of, findings, options_of

EACH_RULE = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@EACH_RULE
def test_the_bad_example_of_a_rule_raises_it_and_only_it(rule: Rule) -> None:
    """No other rule objects to the bad example, except by a note."""
    found = findings(rule.bad, facts=facts_of(rule), options=options_of(rule))
    objections = [finding for finding in found if finding.allowed is None]
    assert [finding.code for finding in objections if not finding.is_note or finding.code == rule.code] == [rule.code]


@EACH_RULE
def test_the_good_example_of_a_rule_does_not_raise_it(rule: Rule) -> None:
    """The good example is what the fix says."""
    found = findings(rule.good, facts=facts_of(rule), options=options_of(rule))
    assert rule.code not in [finding.code for finding in found]


@EACH_RULE
def test_a_rule_says_why_and_how_to_fix_it_in_a_sentence_each(rule: Rule) -> None:
    """The reason and the fix of each rule are sentences, and the code fits its family."""
    for text in (rule.why, rule.fix):
        assert text[0].isupper()
        assert text.endswith(".")
    assert RULE_CODE.convert(rule.code) == rule.code
    assert rule in FAMILIES[rule.family][1]


def test_every_text_of_a_rule_belongs_to_one_rule() -> None:
    """The Markdown files describe no rule twice, and none that does not exist."""
    files = Path(rules.__file__).parent.glob("*.md")
    described = sorted(heading.split()[0] for path in files for heading, _ in sections(path))
    assert described == sorted(rule.code for _, family in FAMILIES.values() for rule in family)


def test_codes_and_names_are_unique() -> None:
    """A code names one rule; a name does so within its family."""
    every = all_rules()
    assert len({rule.code for rule in every}) == len(every)
    assert len({(rule.family, rule.name) for rule in every}) == len(every)
