"""Facts of many hosts and runs computed together equal those computed one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from flyball_collector.advice.rank_facts import Membership, facts_of, medians, shares
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb

_SECONDS = st.one_of(st.just(float("nan")), st.floats(0.0, 1e6, width=32))
_TABLE = npst.arrays(np.float32, (4, 6), elements=_SECONDS)
_GROUPS = npst.arrays(np.int64, 6, elements=st.integers(0, 3))


@given(values=_TABLE, of=_GROUPS)
def test_medians_are_those_of_each_group(values: np.ndarray, of: np.ndarray) -> None:
    """This holds for any unknown values and any positions of the group's ranks."""
    found = medians(values, of, 4)
    for group in range(4):
        known = values[:, of == group]
        known = known[~np.isnan(known)]
        expected = np.median(known.astype(np.float64)) if len(known) else np.nan
        assert found[group] == pytest.approx(expected, nan_ok=True)


@given(part=_TABLE, whole=_TABLE, of=_GROUPS)
def test_shares_use_reports_with_both_values(part: np.ndarray, whole: np.ndarray, of: np.ndarray) -> None:
    """They are at most one, and unknown if no report has the step time."""
    found = shares(part, whole, of, 4)
    for group in range(4):
        one, all_of_it = part[:, of == group].astype(np.float64), whole[:, of == group].astype(np.float64)
        both = ~np.isnan(one) & ~np.isnan(all_of_it)
        total = all_of_it[both].sum()
        expected = min(1.0, one[both].sum() / total) if total > 0 else np.nan
        assert found[group] == pytest.approx(expected, nan_ok=True)


def test_facts_are_separate_for_each_host_and_run() -> None:
    """A host with two runs names none; a host without ranks has no facts, whatever its neighbours have."""
    fleet = SimulatedFleet()
    for host in ("a", "b", "c"):
        fleet.host(host)
    for second in range(1, 9):
        for host, run, rank, seconds in (("a", "r", 0, 1.0), ("b", "r", 1, 3.0)):
            step = pb.StepReport(run=run, rank=rank, world_size=2, step=second, steps=1, step_seconds=seconds)
            others = [pb.StepReport(run="s", rank=0, world_size=1, step=second, steps=1, step_seconds=0.5)]
            fleet.report(step, *(others if host == "b" else []), host=host)
        fleet.step()
    members = Membership(fleet.view.ranks.keys)
    groups = [members.of(subject) for subject in (Subject("a"), Subject("b"), Subject("c"), Subject(run="r"))]
    first, second_host, third, whole = facts_of(fleet.view.ranks, groups)
    assert first == {"world_size": 2, "step_seconds": 1.0}
    assert second_host == {"world_size": 2, "step_seconds": pytest.approx(1.75)}
    assert third == {}
    assert whole == {"world_size": 2, "step_seconds": pytest.approx(2.0)}
    assert [members.run_of(group) for group in groups] == ["r", "", "", "r"]
