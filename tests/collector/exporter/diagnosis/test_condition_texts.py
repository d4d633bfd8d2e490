"""The texts of conditions as labels: which ones there are, and how rarely they change."""

from dataclasses import replace

from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.condition_texts import LONGEST, MAX_TEXTS, RENEW_SECONDS, ConditionTexts


def condition(name: str = "c", severity: Severity = Severity.WARNING, because: str = "84 °C") -> ActiveCondition:
    kind = BY_NAME["thermal_slowdown"]
    return ActiveCondition(
        Event(
            condition=name, time_ns=0, state=State.RAISED, kind=kind, subject=Subject("a", "GPU-1"), gpu_index=3,
            severity=severity, confidence=0.934, because=because,
        )
    )  # fmt: skip


def condition_texts() -> ConditionTexts:
    return ConditionTexts(lambda active: active.event)


def test_a_text_has_the_evidence_and_the_confidence() -> None:
    """The sentence of the condition and how sure it is; notes have no text."""
    texts = condition_texts()
    (text,) = texts.of([condition(), condition("note", Severity.INFO)], 0)
    assert (text.because, text.confidence, text.gpu_index) == ("84 °C", "93 %", 3)


def test_a_text_is_renewed_rarely() -> None:
    """New words make a new series only after five minutes, or at once if the severity changes."""
    texts, active = condition_texts(), condition()
    texts.of([active], 0)
    active.event = replace(active.event, because="85 °C")
    assert [text.because for text in texts.of([active], RENEW_SECONDS - 1)] == ["84 °C"]
    assert [text.because for text in texts.of([active], RENEW_SECONDS)] == ["85 °C"]
    active.event = replace(active.event, because="91 °C", severity=Severity.CRITICAL)
    assert [text.because for text in texts.of([active], RENEW_SECONDS + 1)] == ["91 °C"]


def test_a_long_text_ends_with_an_ellipsis() -> None:
    """It fits into a label."""
    (text,) = condition_texts().of([condition(because="x" * 500)], 0)
    assert len(text.because) == LONGEST
    assert text.because.endswith("x…")


def test_a_storm_shows_the_worst() -> None:
    """There are at most so many texts, and critical conditions come first."""
    many = [condition(str(number)) for number in range(MAX_TEXTS)]
    worst = condition("worst", Severity.CRITICAL)
    found = condition_texts().of([*many, worst], 0)
    assert len(found) == MAX_TEXTS
    assert found[0].severity is Severity.CRITICAL


def test_a_condition_that_comes_again_has_its_new_text() -> None:
    """The text of a condition that has ended is forgotten."""
    texts = condition_texts()
    texts.of([condition()], 0)
    texts.keep_only([])
    assert [text.because for text in texts.of([condition(because="70 °C")], 1)] == ["70 °C"]
