"""The page about the pack is generated from its table of rules."""

from pathlib import Path

from policy import readme
from policy.rules.table import RULES


def test_the_page_is_that_of_the_table(golden):
    golden(Path("policy/README.md"), readme.text())


def test_every_rule_and_parameter_has_a_row():
    for rule in RULES:
        assert f"| `{rule.name}` | {rule.refuses} |" in readme.text()
        for parameter in rule.parameters:
            assert f"| `{rule.name}.{parameter.name}` | {parameter.about} |" in readme.text()
