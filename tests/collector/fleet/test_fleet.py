import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.fleet.fleet import Fleet, FleetFull
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.v1 import telemetry_pb2 as pb

EPOCH = bytes(16)


@cache
def layout_of(count: int, name: str = "watts", scale: int = 10) -> KnownLayout:
    metric = gauge(name, "watts", "Draw.", ("gpu",), scale)
    return KnownLayout(Layout(tuple(Column(metric, (f"GPU-{i}",)) for i in range(count))))


def tick_of(
    host: str,
    sequence: int,
    layout: KnownLayout,
    values: list[int | None],
    *,
    epoch: bytes = EPOCH,
    extras: bytes = b"",
) -> Tick:
    known = np.array([value is not None for value in values], dtype=np.bool_)
    packed = np.array([value or 0 for value in values], dtype=np.int64)
    valid = None if known.all() else known
    return Tick(
        host, epoch, sequence, layout, packed, valid, 1, 1, sequence * 10**9, sequence * 10**9, 0, 0, extras, True
    )


def test_apply_scales_and_keeps_unknown_distinct_from_zero() -> None:
    """A reading is the packed integer divided by its scale; an invalid one is None, and zero is zero."""
    fleet, layout = Fleet(), layout_of(3)
    fleet.apply(tick_of("a", 0, layout, [123, 0, None]))
    state = fleet.get("a")
    assert state is not None
    assert [value for _, value in fleet.readings(state)] == [12.3, 0.0, None]
    assert [column.labels for column, _ in fleet.readings(state)] == [("GPU-0",), ("GPU-1",), ("GPU-2",)]


def test_apply_takes_only_newer_ticks_of_an_epoch() -> None:
    """An older tick of the same epoch changes nothing; a new epoch starts again."""
    fleet, layout = Fleet(), layout_of(1)
    fleet.apply(tick_of("a", 5, layout, [50]))
    fleet.apply(tick_of("a", 4, layout, [40]))
    state = fleet.ensure("a")
    assert fleet.values(state).tolist() == [5.0]
    fleet.apply(tick_of("a", 0, layout, [10], epoch=b"\1" * 16))
    assert fleet.values(state).tolist() == [1.0]
    assert state.sequence == 0


def test_a_host_without_records_has_no_readings() -> None:
    """A host that has only sent hello has none."""
    fleet = Fleet()
    state = fleet.ensure("a")
    assert fleet.readings(state) == []
    assert len(fleet.values(state)) == 0


def test_ensure_refuses_a_host_beyond_the_limit() -> None:
    """A new host is refused with the setting to raise; a known one is not."""
    fleet = Fleet(max_hosts=1)
    state = fleet.ensure("a")
    with pytest.raises(FleetFull, match=r"limits\.hosts is 1"):
        fleet.ensure("b")
    assert fleet.ensure("a") is state


def test_generation_grows_only_when_places_change() -> None:
    """A new host, another layout and a removal change the generation; a reading or an equal layout does not."""
    fleet = Fleet()
    seen = [fleet.generation]
    fleet.ensure("a")
    seen.append(fleet.generation)
    fleet.apply(tick_of("a", 0, layout_of(2), [1, 2]))
    seen.append(fleet.generation)
    fleet.apply(tick_of("a", 1, KnownLayout(layout_of(2).layout), [3, 4]))
    assert fleet.generation == seen[-1]
    fleet.apply(tick_of("a", 2, layout_of(2, "other_watts"), [None, 4]))
    seen.append(fleet.generation)
    assert fleet.remove("a")
    seen.append(fleet.generation)
    assert not fleet.remove("a")
    assert seen == sorted(set(seen))


def test_a_gpus_number_comes_from_its_hosts_newest_layout() -> None:
    """It may change at a reboot; unknown hosts and GPUs have none."""
    metric = gauge("gpu_power_watts", "watts", "Draw.", ("gpu", "index"))
    before, after = (
        KnownLayout(Layout(tuple(Column(metric, (gpu, str(number))) for number, gpu in enumerate(gpus))))
        for gpus in (("GPU-a", "GPU-b"), ("GPU-b",))
    )
    fleet = Fleet()
    fleet.ensure("fresh")
    fleet.apply(tick_of("a", 0, before, [1, 1]))
    assert [fleet.gpu_index_of("a", gpu) for gpu in ("GPU-a", "GPU-b", "GPU-c")] == [0, 1, None]
    fleet.apply(tick_of("a", 1, after, [1]))
    assert [fleet.gpu_index_of("a", gpu) for gpu in ("GPU-a", "GPU-b")] == [None, 0]
    assert fleet.gpu_index_of("fresh", "GPU-a") is fleet.gpu_index_of("nobody", "GPU-a") is None


def test_a_snapshot_does_not_change_afterwards() -> None:
    """The copy for another thread stays as it was."""
    fleet, layout = Fleet(), layout_of(1)
    fleet.apply(tick_of("b", 0, layout, [10]))
    fleet.apply(tick_of("a", 0, layout, [20]))
    snapshot = fleet.snapshot(0)
    fleet.apply(tick_of("a", 1, layout, [99]))
    fleet.remove("b")
    assert [host.name for host in snapshot.hosts] == ["a", "b"]
    assert [snapshot.arena[host.start] for host in snapshot.hosts] == [2.0, 1.0]


def test_a_snapshot_of_some_hosts_holds_only_them() -> None:
    """A host's readings begin at its own start, and unknown names are left out."""
    fleet = Fleet()
    for index, name in enumerate("abc"):
        fleet.apply(tick_of(name, 0, layout_of(index + 1), [index * 10] * (index + 1)))
    snapshot = fleet.snapshot(0, ["c", "a", "nobody"])
    assert [(host.name, host.start) for host in snapshot.hosts] == [("a", 0), ("c", 1)]
    assert snapshot.arena.tolist() == [0.0, 2.0, 2.0, 2.0]


def test_forget_before_keeps_connected_hosts() -> None:
    """Hosts without recent records are removed, except those with an open stream."""
    fleet, layout = Fleet(), layout_of(1)
    for name, sequence in (("old", 1), ("open", 1), ("new", 9)):
        fleet.apply(tick_of(name, sequence, layout, [1]))
    fleet.ensure("open").connected = True
    assert fleet.forget_before(5 * 10**9) == ["old"]
    assert [host.name for host in fleet.hosts()] == ["new", "open"]


def test_step_reports_are_summed_for_each_rank() -> None:
    """Steps, seconds and tokens are sums over the live ticks; values never reported stay unknown."""
    fleet, layout = Fleet(), layout_of(1)
    for sequence in (1, 2):
        report = pb.StepReport(run="r", rank=3, step=10 * sequence, steps=10, step_seconds=0.5, tokens=100)
        extras = pb.Record(steps=[report]).SerializeToString()
        fleet.apply(tick_of("a", sequence, layout, [1], extras=extras))
    (totals,) = fleet.snapshot(2 * 10**9).hosts[0].steps
    assert (totals.run, totals.rank, totals.step, totals.steps) == ("r", 3, 20, 20)
    assert (totals.step_seconds, totals.tokens, totals.samples, totals.data_wait_seconds) == (1.0, 200.0, None, None)
    assert fleet.snapshot(2 * 10**9 + 301 * 10**9).hosts[0].steps == ()


def test_ranks_are_limited_and_invalid_amounts_ignored() -> None:
    """Beyond the limit the rank with the oldest report is dropped; negative and infinite amounts are not added."""
    fleet, layout = Fleet(), layout_of(1)
    reports = [
        pb.StepReport(run=f"r{i}", steps=1, step_seconds=-math.inf, tokens=-1, loss=math.nan) for i in range(300)
    ]
    fleet.apply(tick_of("a", 1, layout, [1], extras=pb.Record(steps=reports).SerializeToString()))
    totals = fleet.snapshot(0).hosts[0].steps
    assert len(totals) == 256
    assert totals[-1].run == "r299"
    assert {(t.step_seconds, t.tokens, t.loss) for t in totals} == {(0.0, None, None)}


def test_extras_that_do_not_parse_leave_the_readings() -> None:
    """Broken extras are dropped, the tick's readings are applied; a later tick without extras clears them."""
    fleet, layout = Fleet(), layout_of(1)
    fleet.apply(tick_of("a", 0, layout, [10], extras=b"\xff\xff"))
    state = fleet.ensure("a")
    assert (fleet.values(state).tolist(), state.extras) == ([1.0], None)
    fleet.apply(
        tick_of("a", 1, layout, [10], extras=pb.Record(gpu_processes=[pb.GpuProcess(pid=1)]).SerializeToString())
    )
    assert state.extras is not None
    fleet.apply(tick_of("a", 2, layout, [10]))
    assert state.extras is None


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.sampled_from((0, 1, 40, 150, 200)),
            st.integers(0, 4).map(lambda n: n == 0),
            st.integers(0, 10**6),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_a_host_never_gets_the_readings_of_another(moves: list[tuple[int, int, bool, int]]) -> None:
    """Whatever layouts come and go, each host has exactly its own newest values."""
    fleet = Fleet()
    values_of: dict[str, list[float]] = {}
    for sequence, (host, count, leave, value) in enumerate(moves):
        name = f"host-{host}"
        if leave:
            assert fleet.remove(name) == (name in values_of)
            values_of.pop(name, None)
            continue
        layout = layout_of(count, scale=1)
        values: list[int | None] = list(range(value, value + count))
        fleet.apply(tick_of(name, sequence, layout, values))
        values_of[name] = [float(value + i) for i in range(count)]
    snapshot = fleet.snapshot(0)
    assert {state.name: fleet.values(state).tolist() for state in fleet.hosts()} == values_of
    assert {
        host.name: snapshot.arena[host.start :][: len(values_of[host.name])].tolist() for host in snapshot.hosts
    } == values_of
