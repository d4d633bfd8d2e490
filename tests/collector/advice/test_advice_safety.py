"""No advice may harm a training, whatever the situation."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_collector.advice.advice import Safety
from flyball_collector.advice.ranking import ranked, without_superseded
from flyball_collector.advice.rules.catalogue import BY_NAME, RULES
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import KINDS, EventKind
from flyball_collector.diagnosis.subject import Subject

SHARE = st.one_of(st.none(), st.floats(0, 1))
BYTES = st.one_of(st.none(), st.floats(0, 2e12))
SECONDS = st.one_of(st.none(), st.floats(0, 1e5))
COUNT = st.one_of(st.none(), st.integers(0, 4096))
EVIDENCE = (
    "service_ratio", "clock_of_peers_ratio", "step_ratio", "work_spread_ratio", "checkpoint_ratio", "failed",
    "communication_ratio", "own_seconds", "peers_own_seconds",
)  # fmt: skip

MEANING_CHANGES = ("precision", "bfloat16", "learning rate", "micro-batch", "global batch", "batch norm", "skip data")
"""Words in changes that alter what is computed."""


@st.composite
def event(draw: st.DrawFn, kind: EventKind) -> Event:
    gpu = draw(st.sampled_from(["", "GPU-0"]))
    evidence = draw(st.dictionaries(st.sampled_from(EVIDENCE), st.floats(0, 5), max_size=3))
    return Event(
        condition="c",
        time_ns=1,
        state=State.RAISED,
        kind=kind,
        subject=Subject("a", gpu, run="r"),
        severity=kind.severity,
        confidence=draw(st.floats(0, 1)),
        level=draw(SHARE),
        seconds_left=draw(SECONDS),
        because="text",
        evidence=evidence | {"xid": float(draw(st.integers(0, 200)))},
    )


@st.composite
def situation(draw: st.DrawFn) -> Situation:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6, unique=True))
    facts: dict[str, Any] = {}
    for name, annotation in Situation.__annotations__.items():
        if name.endswith(("_share",)):
            facts[name] = draw(SHARE)
        elif name.endswith("_bytes"):
            facts[name] = draw(BYTES)
        elif name.endswith("_seconds"):
            facts[name] = draw(SECONDS)
        elif annotation == int | None:
            facts[name] = draw(COUNT)
    return Situation(
        subject=Subject("a"),
        active={kind.name: (draw(event(kind)),) for kind in kinds},
        gpus=draw(st.integers(0, 16)),
        cores=draw(st.one_of(st.none(), st.floats(0.5, 256))),
        capability=draw(st.one_of(st.none(), st.floats(5, 10))),
        calls_per_sample=draw(st.one_of(st.none(), st.floats(0, 1e4))),
        connections_opened_per_second=draw(st.one_of(st.none(), st.floats(0, 1e4))),
        power_source=draw(st.sampled_from(["", "mains", "battery"])),
        **facts,
    )


@settings(max_examples=150, deadline=None)
@given(situation())
def test_no_advice_harms(found: Situation) -> None:
    """Changes of results or pauses need consent; workers fit into memory; gains are valid intervals."""
    thresholds = AdviceSettings()
    given_advice = [one for rule in RULES if (one := rule.advise(found, thresholds)) is not None]
    for one in given_advice:
        if one.safety is Safety.SAFE:
            assert not one.changes_results
            assert not any(words in one.change for words in MEANING_CHANGES), one.change
        if one.changes_results:
            assert one.needs_consent
        if "pause_seconds" in one.proposed:
            assert one.proposed["pause_seconds"] <= thresholds.collective_timeout_seconds / 4
            assert found.world_size == 1 or (one.needs_consent and one.proposed["all_ranks"] == 1.0)
        if "workers_added" in one.proposed:
            free, total = found.memory_available_bytes, found.memory_total_bytes
            shared, all_shared = found.shared_memory_free_bytes, found.shared_memory_total_bytes
            assert free is not None
            assert total is not None
            assert shared is not None
            assert all_shared is not None
            reserve = thresholds.memory_reserve_share
            assert one.proposed["memory_bytes"] <= free - reserve * total + 1
            assert one.proposed["shared_memory_bytes"] <= shared - reserve * all_shared + 1
        if one.gain is not None and found.gpus and one.rule in {"more_workers", "faster_storage", "batch_calls"}:
            assert found.idle_share is not None, "advice has a gain although the GPU's idle time is unknown"
            assert one.gain.upper <= 1 / max(1e-3, 1 - found.idle_share) * 1.0001
    order = ranked(without_superseded(given_advice, BY_NAME))
    assert len(order) <= len(given_advice)
    added = [one for one in order if "workers_added" in one.proposed]
    assert len({one.subject.host for one in added}) == len(added), "two rules would fill the same memory"
