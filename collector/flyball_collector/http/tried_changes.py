"""Joins advice with what was tried: the changes of the same lever on the run, in progress or with their effect."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.shown.wording import in_progress_text, tried_text
from flyball_collector.advice.advice import Advice
from flyball_collector.diagnosis.kinds import BY_NAME as KINDS
from flyball_collector.diagnosis.kinds import Group
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_answers import AdviceAnswer, advice_answer
from flyball_collector.timeline.live_entries import live_entries

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
    """Return the answers for advice: with what was tried on its runs, and with the present state of its conditions."""
    found = list(advice)
    present = _present_confidence(parts, {name for one in found for name in one.conditions})
    return [_as_of_now(advice_answer(one, _experience(parts, one)), one, present) for one in found]


def _present_confidence(parts: CollectorParts, conditions: Collection[str]) -> dict[str, tuple[float, bool]]:
    """Return the present confidence of active bottlenecks, and if they are below their exit level."""
    entries = [
        entry
        for entry in parts.timeline.active()
        if entry.condition in conditions and KINDS[entry.kind].group is Group.BOTTLENECK
    ]
    return {
        entry.condition: (entry.confidence or 0.0, entry.clears_in_seconds is not None)
        for entry in live_entries(parts.diagnosis.conditions, entries)
    }


def _as_of_now(answer: AdviceAnswer, advice: Advice, present: Mapping[str, tuple[float, bool]]) -> AdviceAnswer:
    """Mark advice as fading while all of its bottlenecks are: they end soon, unless they come back."""
    known = [present[name] for name in advice.conditions if name in present]
    if len(known) < max(1, len(advice.conditions)) or not all(fading for _, fading in known):
        return answer
    confidence = min(answer.confidence, round(max(confidence for confidence, _ in known), 3))
    return msgspec.structs.replace(answer, because=f"fading: {answer.because}", confidence=confidence)


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
