"""Joins advice with what was tried: the changes of the same lever on the run, in progress or with their effect."""

from collections.abc import Iterable

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.shown.wording import in_progress_text, tried_text
from flyball_collector.advice.advice import Advice
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_answers import AdviceAnswer, advice_answer

LEVERS = {
    "batch_calls": ("calls_per_batch",),
    "checkpoint_interval": ("checkpoint_steps",),
    "grow_micro_batch": ("micro_batch",),
    "mixed_precision": ("precision",),
    "more_workers": ("loader_workers", "loader_prefetch"),
    "parallel_workers": ("workers",),
    "pause_to_cool": ("throttle", "pause"),
    "resize_workers": ("loader_workers",),
    "shrink_micro_batch": ("micro_batch", "explicit_reduction", "activation_checkpointing"),
    "tune_pool": ("pool",),
    "use_mains": ("throttle",),
}
"""The levers of the rules of advice that a machine can follow."""


def advice_answers(parts: CollectorParts, advice: Iterable[Advice]) -> list[AdviceAnswer]:
    """Return the answers for advice, with what is or was tried on the runs that it is about."""
    return [advice_answer(one, _experience(parts, one)) for one in advice]


def _experience(parts: CollectorParts, advice: Advice) -> str:
    """Return what happens now, or what was tried before."""
    found, names_run = _adjustments(parts, advice), not advice.subject.run
    return in_progress_text(found, names_run=names_run) or tried_text(found, names_run=names_run)


def _adjustments(parts: CollectorParts, advice: Advice) -> list[Adjustment]:
    """Return the adjustments of the same levers that are in progress, or were made."""
    if parts.adjustments is None or advice.rule not in LEVERS:
        return []
    subject, levers = advice.subject, LEVERS[advice.rule]
    runs = [subject.run] if subject.run else parts.fleet.runs.of_host(subject.host)
    known = [each for run in runs for each in parts.adjustments.find(run=run) if not each.is_over]
    known += [each for run in runs for each in parts.adjustments.tried(run)]
    return [each for each in known if each.lever in levers]
