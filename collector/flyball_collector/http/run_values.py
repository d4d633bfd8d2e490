"""Makes the answer about the adjustable values of a run."""

from flyball_collector.http.adjustment_answers import RunValuesAnswer, adjustment_answer, value_answers
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.run_lookup import find_run

_NEWEST = 20  # adjustments


def run_values(parts: CollectorParts, run: str, *, may_change: bool) -> RunValuesAnswer:
    """Return the values that the ranks of a run can change, its policy and its newest adjustments.

    Raise an error for a run that is not known at all.
    """
    source = parts.adjustments
    values = source.values(run) if source is not None else None
    newest = source.find(run=run, limit=_NEWEST) if source is not None else []
    if values is None and not newest:
        find_run(parts, run)
    limit = parts.settings.adjustments.policy if adjustments_enabled(parts) else "off"
    return RunValuesAnswer(
        run=run,
        enabled=adjustments_enabled(parts),
        policy=source.policy(run) if source is not None and adjustments_enabled(parts) else "off",
        requested_policy=None if values is None else values.policy,
        limit=limit,
        may_change=may_change,
        attempt=None if values is None else values.attempt,
        world_size=None if values is None else values.world_size,
        complete=values is not None and values.is_complete,
        register=None if values is None else values.register,
        step=None if values is None else values.step,
        values=value_answers(values),
        adjustments=[adjustment_answer(each) for each in newest],
    )


def adjustments_enabled(parts: CollectorParts) -> bool:
    """Return True if the settings allow adjustments."""
    return parts.adjustments is not None and parts.settings.adjustments.enabled
