"""The list of all rules."""

import re

import pytest

from flyball_collector.adjustments.rules.catalogue import GROUPS, RULES
from flyball_collector.adjustments.rules.rule import AdjustmentRule
from flyball_collector.adjustments.rules.rules_document import document
from flyball_collector.advice.rules.catalogue import BY_NAME as ADVICE
from flyball_collector.diagnosis.kinds import BY_NAME as KINDS
from tests.collector.adjustments.rules.runs import case, ranks, situation, value


def test_every_rule_is_listed_once() -> None:
    """The catalogue has the rules of all groups, each with a name of its own."""
    assert [rule for group in GROUPS for rule in group.RULES] == list(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_names_in_texts_exist(rule: AdjustmentRule) -> None:
    """Each name in the texts of a rule is a kind of condition, a rule of advice or a rule of adjustments."""
    known = {*KINDS, *ADVICE, *(other.name for other in RULES)}
    assert set(re.findall(r"`(\w+)`", f"{rule.evidence} {rule.inverse}")) <= known


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nothing_is_proposed_without_evidence(rule: AdjustmentRule) -> None:
    """If all facts are unknown, no rule finds a change."""
    unknown = situation(
        hosts=(), world_size=None, step_seconds=None, gpus=0, gpu_busy_share=None, peak_bytes=None,
        memory_total_bytes=None, temperature_celsius=None, temperature_margin_celsius=None, slowed_by_heat=None,
    )  # fmt: skip
    of = case(ranks([value(rule.lever)], step_seconds=None), unknown)
    assert rule.find(of, of.values[0]) is None


def test_the_page_has_one_row_for_each_rule() -> None:
    """No rule is missing from the generated page."""
    page = document()
    for rule in RULES:
        assert page.count(f"\n| `{rule.name}` |") == 1, rule.name
