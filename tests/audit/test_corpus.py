"""Every rule against the corpus: what is marked is found, what looks alike is not, tuned scripts stay silent."""

from collections import Counter
from collections.abc import Mapping

import pytest

from flyball_audit.finding import Severity
from flyball_audit.rules import RULES
from flyball_audit.run import audit
from tests.audit.expectations import SCRIPTS, Case, Spot, scripts, snippets, spots

KNOWN = frozenset(rule.id for rule in RULES)
FEWEST = 3
"""Snippets of each kind that a rule has at least."""

FAULTY = [each for each in snippets() if each.is_faulty]
CLEAN = [each for each in snippets() if not each.is_faulty]
FAULTY_SCRIPTS = [each for each in scripts() if each.is_faulty]
TUNED_SCRIPTS = [each for each in scripts() if not each.is_faulty]


def _found(case: Case, rules: frozenset[str]) -> dict[Spot, Severity]:
    report = audit([case.path], rules=[rule for rule in RULES if rule.id in rules])
    assert not report.unreadable
    assert not report.failures
    return spots(report.findings)


def _told(case: Case, found: Mapping[Spot, Severity]) -> list[str]:
    inside = case.path.parent
    return [f"{spot.file.relative_to(inside)}:{spot.line} {spot.rule}@{found[spot]}" for spot in sorted(found)]


@pytest.mark.parametrize("case", FAULTY, ids=str)
def test_a_faulty_snippet_shows_its_fault_on_the_marked_lines_and_nowhere_else(case: Case) -> None:
    """A rule finds exactly what the comments of its faulty snippets say, as severe as they say."""
    found = _found(case, frozenset({case.rule}))
    expected = case.expected
    assert found.keys() == expected.keys(), _told(case, found)
    wrong = {spot: found[spot] for spot, severity in expected.items() if severity not in {None, found[spot]}}
    assert not wrong, _told(case, wrong)


@pytest.mark.parametrize("case", CLEAN, ids=str)
def test_what_only_looks_like_a_fault_is_left_in_peace(case: Case) -> None:
    """A rule finds nothing at all in its clean snippets."""
    found = _found(case, frozenset({case.rule}))
    assert not found, _told(case, found)


@pytest.mark.parametrize("case", FAULTY_SCRIPTS, ids=str)
def test_a_faulty_script_shows_all_its_faults_and_no_warning_besides(case: Case) -> None:
    """Each marked fault of a whole script is found, and whatever else is found is a note."""
    found = _found(case, KNOWN)
    expected = case.expected
    missing = expected.keys() - found.keys()
    assert not missing, sorted((spot.line, spot.rule) for spot in missing)
    besides = {spot: found[spot] for spot in found.keys() - expected.keys() if found[spot] is not Severity.NOTE}
    assert not besides, _told(case, besides)
    wrong = {spot: found[spot] for spot, severity in expected.items() if severity not in {None, found[spot]}}
    assert not wrong, _told(case, wrong)


@pytest.mark.parametrize("case", TUNED_SCRIPTS, ids=str)
def test_a_tuned_script_is_silent_at_warning_level(case: Case) -> None:
    """Nothing above a note is said of a script that was tuned."""
    above = {spot: severity for spot, severity in _found(case, KNOWN).items() if severity is not Severity.NOTE}
    assert not above, _told(case, above)


@pytest.mark.parametrize("rule", sorted(KNOWN))
def test_every_rule_has_snippets_of_both_kinds(rule: str) -> None:
    """A rule is shown by at least three faulty and three clean snippets; each faulty one is marked."""
    count = Counter(case.is_faulty for case in snippets() if case.rule == rule)
    assert count[True] >= FEWEST, count
    assert count[False] >= FEWEST, count
    unmarked = [str(case) for case in FAULTY if case.rule == rule and {spot.rule for spot in case.expected} != {rule}]
    assert not unmarked


def test_everything_in_the_corpus_belongs_to_a_rule() -> None:
    """Each folder of snippets is a rule's, and each mark in a script names a rule: nothing is left untried."""
    assert {case.rule for case in snippets()} == KNOWN
    assert {spot.rule for case in scripts() for spot in case.expected} <= KNOWN


def test_every_script_is_there_before_and_after_tuning() -> None:
    """Each folder of scripts holds a faulty one, marked, and a tuned one, unmarked."""
    for folder in SCRIPTS.iterdir():
        marked = {case.path.name: bool(case.expected) for case in scripts() if case.path.parent == folder}
        assert marked == {"faulty.py": True, "tuned.py": False}, folder.name
