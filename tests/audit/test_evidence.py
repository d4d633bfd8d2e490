"""What measured facts do to findings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.evidence import Evidence, Measured, judged, load_evidence, read_evidence
from flyball_audit.facts import BEARINGS, FACTS, Verdict
from flyball_audit.finding import Finding, Severity, Time
from flyball_reports.errors import InputError

TEXT = """\
measured_on: node-17, 2 × H100, steps 200 to 1,400
facts:
  data_wait_ratio: 0.31
  gpu_busy_ratio:
    value: 0.55
    measured_on: one minute on GPU 0
"""


def _finding(rule: str, severity: Severity = Severity.NOTE, confidence: float = 0.5) -> Finding:
    return Finding(rule, "train.py", 3, 5, severity, confidence, "what", "why", "do", "gain", 3, 9)


def _evidence(**facts: float) -> Evidence:
    return Evidence({name: Measured(value, "run 7") for name, value in facts.items()})


def test_facts_are_read_with_what_they_were_measured_on() -> None:
    """A fact may say it for itself; JSON is read as well."""
    found = read_evidence(TEXT)
    assert found.facts["data_wait_ratio"] == Measured(0.31, "node-17, 2 × H100, steps 200 to 1,400")
    assert found.facts["gpu_busy_ratio"] == Measured(0.55, "one minute on GPU 0")
    same = read_evidence(json.dumps({"measured_on": "run 7", "facts": {"data_wait_ratio": 0.31}}))
    assert same.facts == {"data_wait_ratio": Measured(0.31, "run 7")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("facts: {data_wait_ratio: 0.3}", "facts.yaml: measured_on: is missing"),
        (
            "measured_on: a\nfacts:\n  data_wait: 0.3",
            "facts.yaml:3: facts.data_wait: unknown fact 'data_wait'; did you",
        ),
        ("measured_on: a\nfacts:\n  gpu_busy_ratio: 31", "facts.yaml:3: facts.gpu_busy_ratio: expected a number of at"),
        ("measured_on: a\nfacts:\n  loss_spikes: many", "facts.yaml:3: facts.loss_spikes: expected a number"),
        ("measured_on: a\nfacts:\n  gpu_busy_ratio: {on: b}", "facts.gpu_busy_ratio.value: is missing"),
        ("measured_on: a\nfacts: 3", "facts: expected measured facts such as"),
        ("measured_on: [\n", "facts.yaml:2: "),
        ("- 1", "facts.yaml:1: expected keys such as measured_on"),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, words: str) -> None:
    """And with the nearest known name."""
    with pytest.raises(InputError) as told:
        read_evidence(text, "facts.yaml")
    assert words in str(told.value)


def test_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    """Binary, huge, missing: what is wrong, in words."""
    binary, huge = tmp_path / "binary.yaml", tmp_path / "huge.yaml"
    binary.write_bytes(b"\xff\xfe")
    huge.write_bytes(b"#" * 1_000_001)
    for path, words in ((binary, "UTF-8"), (huge, "larger"), (tmp_path / "none.yaml", "there is no file")):
        with pytest.raises(InputError, match=words):
            load_evidence(path)


def test_a_fact_confirms_a_note() -> None:
    """It becomes a warning, surer, and says what was measured."""
    (found,) = judged([_finding("loader-without-workers")], _evidence(data_wait_ratio=0.31)).findings
    assert found.severity is Severity.WARNING
    assert found.confidence == pytest.approx(0.75)
    assert found.because == "why. Measured: data_wait_ratio 31 % (run 7)."


def test_a_fact_withdraws_a_finding() -> None:
    """Where nothing waits for data, workers are no matter; the reason is kept."""
    found = judged([_finding("loader-without-workers", Severity.WARNING)], _evidence(data_wait_ratio=0.002))
    assert found.findings == ()
    assert found.withdrawn[0].reason == "data_wait_ratio 0.2 % (run 7)"


def test_a_fact_lowers_a_warning() -> None:
    """It becomes a note."""
    (found,) = judged([_finding("sync-every-step", Severity.WARNING, 0.9)], _evidence(host_bound_ratio=0.01)).findings
    assert (found.severity, found.confidence) == (Severity.NOTE, 0.45)


def test_between_its_thresholds_a_fact_says_nothing() -> None:
    """Nor does one of another matter."""
    finding = _finding("loader-without-workers")
    assert judged([finding], _evidence(data_wait_ratio=0.03, evaluation_ratio=0.5)).findings == (finding,)


def test_facts_that_contradict_each_other_change_no_severity() -> None:
    """Both are told."""
    finding = _finding("small-batch")
    (found,) = judged([finding], _evidence(gpu_busy_ratio=0.4, data_wait_ratio=0.5)).findings
    assert (found.severity, found.confidence) == (finding.severity, finding.confidence)
    assert "gpu_busy_ratio 40 %" in found.because
    assert "data_wait_ratio 50 %" in found.because


def test_facts_are_told_by_what_they_were_measured_on() -> None:
    """Which is said once for all of them."""
    told = read_evidence(TEXT.replace("  gpu_busy_ratio", "  loss_spikes: 3\n  gpu_busy_ratio"))
    assert told.told(told.facts) == (
        "data_wait_ratio 31 %, loss_spikes 3 (node-17, 2 × H100, steps 200 to 1,400); "
        "gpu_busy_ratio 55 % (one minute on GPU 0)"
    )


def test_an_error_stays() -> None:
    """What is wrong for certain is wrong however fast it runs."""
    finding = _finding("data-parallel", Severity.ERROR)
    assert judged([finding], _evidence(communication_ratio=0.0)).findings == (finding,)


def test_shares_of_a_step_follow_from_facts() -> None:
    """Computing is what a busy GPU did besides collectives and the optimizer."""
    known = _evidence(data_wait_ratio=0.2, gpu_busy_ratio=0.7, communication_ratio=0.1, loss_spikes=3).shares()
    assert known == {Time.INPUT: 0.2, Time.COMMUNICATION: 0.1, Time.COMPUTE: pytest.approx(0.6)}


def test_no_value_of_a_fact_speaks_both_for_and_against_a_rule() -> None:
    """And every bearing is of a fact that there is."""
    names = {each.name for each in FACTS}
    for fact in names:
        for value in (0.0, 0.003, 0.03, 0.3, 0.99, 1.0, 2.0):
            held = [each for each in BEARINGS if each.fact == fact and each.holds(value)]
            rules = [rule for each in held for rule in each.rules]
            assert len(rules) == len(set(rules))
    assert {each.fact for each in BEARINGS} <= names


@given(st.dictionaries(st.sampled_from([each.name for each in FACTS]), st.floats(0.0, 1.0)))
def test_nothing_is_lost(facts: dict[str, float]) -> None:
    """Every finding is kept or withdrawn, and confidence stays a probability."""
    asked = [_finding(rule) for rule in sorted({rule for each in BEARINGS for rule in each.rules})]
    found = judged(asked, _evidence(**facts))
    assert sorted([*(each.rule for each in found.findings), *(each.finding.rule for each in found.withdrawn)]) == [
        each.rule for each in asked
    ]
    assert all(0 <= each.confidence <= 1 for each in found.findings)


def test_the_verdicts_are_all_used() -> None:
    """Otherwise the documents would promise what nothing does."""
    assert {each.verdict for each in BEARINGS} == set(Verdict)


WAITS = """\
measured_on: run 7
facts: {}
synchronising_calls: {"/home/a/project/train.py:3": 1.0, "lib/train.py:9": 0.2}
"""


@pytest.mark.parametrize(
    ("path", "line", "confirmed"),
    [
        ("train.py", 3, True),
        ("project/train.py", 3, True),
        ("/home/a/project/train.py", 3, True),
        ("/lib/train.py", 9, True),
        ("other/train.py", 3, False),
        ("rain.py", 3, False),
        ("train.py", 4, False),
    ],
)
def test_a_place_that_waits_confirms_a_finding_and_another_one_withdraws_it(
    path: str, line: int, confirmed: bool
) -> None:
    """By file and line; either path may be relative."""
    finding = replace(_finding("sync-every-step"), path=path, line=line, end_line=line)
    found = judged([finding], read_evidence(WAITS))
    assert [each.severity for each in found.findings] == ([Severity.WARNING] if confirmed else [])
    assert len(found.withdrawn) == (not confirmed)
    reason = found.findings[0].because if confirmed else found.withdrawn[0].reason
    assert ("times a step (run 7)" if confirmed else "no step waited for the GPU at this place (run 7)") in reason


def test_places_decide_only_what_they_can() -> None:
    """Explicit synchronisations are not seen, errors stay, and without a measurement nothing changes."""
    others = [_finding("synchronize-every-step"), _finding("sync-every-step", Severity.ERROR)]
    assert judged(others, read_evidence(WAITS)).findings == tuple(others)
    finding = _finding("sync-every-step")
    assert judged([finding], read_evidence("measured_on: run 7\nfacts: {}")).findings == (finding,)
    assert judged([finding], read_evidence(WAITS.replace("train.py:3", "train.py:4"))).withdrawn


@pytest.mark.parametrize("value", ["3", "[a]", "{train.py: 1}", "{'train.py:3': many}", "{'train.py:3': -1}"])
def test_wrong_places_are_reported_with_their_line(value: str) -> None:
    """With an example of a right one."""
    with pytest.raises(InputError, match=r"facts.yaml:3: synchronising_calls: expected "):
        read_evidence(f"measured_on: a\nfacts: {{}}\nsynchronising_calls: {value}", "facts.yaml")
