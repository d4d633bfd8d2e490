"""GPUs compared with their peers: groups, power caps, cooling, other users."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.peers.groups import Groups, Peers
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.engine.player import EPOCH, Key, Player
from flyball_collector.engine.testing.runs import gpu_key, host, play
from flyball_proto.v1 import telemetry_pb2 as pb

GPUS = 8


def board(second: int, **metrics: list[float]) -> Mapping[Key, float]:
    """Return readings of the GPUs of one host with sensor noise."""
    noise = np.random.default_rng(second).normal(0, 0.003, (len(metrics), GPUS))
    return {
        gpu_key(f"gpu_{name}", f"G{gpu}"): values[gpu] * (1 + noise[row, gpu])
        for row, (name, values) in enumerate(metrics.items())
        for gpu in range(GPUS)
    }


def summary(events: list[Event], kind: str) -> list[tuple[str, str]]:
    """Return (state, GPU) of the events of this kind."""
    return [(event.state.value, event.subject.gpu) for event in events if event.kind.name == kind]


def all_but(usual: float, **other: float) -> list[float]:
    return [other.get(f"G{gpu}", usual) for gpu in range(GPUS)]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.none() | st.sampled_from([1.0, 2.0, 2.0, 3.5, 7.0])), min_size=1, max_size=12
    )
)
def test_the_others_median_leaves_out_the_gpu_itself(pairs: list[tuple[int, float | None]]) -> None:
    """Ties and unknown values are included."""
    numbers = np.array([number for number, _ in pairs])
    values = np.array([np.nan if value is None else value for _, value in pairs])
    found = Groups(numbers, 3).others_median(values)
    for place, value in enumerate(values):
        others = [v for at, v in enumerate(values) if at != place and numbers[at] == numbers[place] and v == v]  # noqa: PLR0124  NaN
        if others and value == value:  # noqa: PLR0124  NaN
            assert found[place] == np.median(others)
        else:
            assert np.isnan(found[place])


def capped(second: int, *, clock: list[float], power: list[float], limit: list[float]) -> Mapping[Key, float]:
    return board(
        second,
        sm_clock_hertz=clock,
        power_watts=power,
        power_limit_watts=limit,
        utilization_ratio=all_but(1.0),
    )


def test_all_gpus_at_their_limit_is_normal() -> None:
    """A training reaches the power limit, and clocks fall when it starts."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        clock, power = (1.9e9, 300.0) if second < 120 else (1.4e9, 700.0)
        return capped(second, clock=all_but(clock), power=all_but(power), limit=all_but(700.0))

    events, _ = play(1, range(300), lambda *_: None, readings=readings)
    assert summary(events, "power_capped") == []


def test_a_lower_limit_than_the_peers_is_reported_and_cleared() -> None:
    """The GPU is at its limit and a quarter slower than the others."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        low = 60 <= second < 200
        other = {"G3": 400.0} if low else {}
        clock = {"G3": 1.1e9} if low else {}
        return capped(
            second, clock=all_but(1.5e9, **clock), power=all_but(650.0, **other), limit=all_but(700.0, **other)
        )

    events, _ = play(1, range(320), lambda *_: None, readings=readings)
    assert summary(events, "power_capped") == [("raised", "G3"), ("cleared", "G3")]
    (raised, _) = [event for event in events if event.kind.name == "power_capped"]
    assert raised.evidence["clock_of_peers_ratio"] < 0.8
    assert "of its peers'" in raised.because


def test_a_limit_lowered_for_all_is_found_by_the_past() -> None:
    """Without peers to compare with, a GPU is compared with itself at the same work."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        clock, watts = (1.5e9, 690.0) if second < 200 else (1.1e9, 400.0)
        limit = 700.0 if second < 200 else 400.0
        return capped(second, clock=all_but(clock), power=all_but(watts), limit=all_but(limit))

    events, _ = play(1, range(260), lambda *_: None, readings=readings)
    assert {gpu for state, gpu in summary(events, "power_capped") if state == "raised"} == {
        f"G{n}" for n in range(GPUS)
    }


def test_a_slow_gpu_below_its_limit_is_not_capped() -> None:
    """An idle GPU has low clocks."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        return capped(
            second,
            clock=all_but(1.5e9, G3=0.9e9),
            power=all_but(650.0, G3=200.0),
            limit=all_but(700.0),
        )

    events, _ = play(1, range(120), lambda *_: None, readings=readings)
    assert summary(events, "power_capped") == []


def heavier_on_one(_: int, second: int) -> Mapping[Key, float]:
    """All GPUs draw about their limit; one has a clock a quarter lower."""
    return capped(second, clock=all_but(1.9e9, G3=1.4e9), power=all_but(690.0, G3=695.0), limit=all_but(700.0))


def held(*members: pb.Member) -> dict[str, pb.Tenancy]:
    return {host(0): pb.Tenancy(members=members)}


def test_different_jobs_on_one_host_are_not_compared() -> None:
    """At the same limit, heavier work runs at lower clocks; here the work is unknown or known to differ."""
    jobs = [pb.Member(pid=n, user="ann", command=f"python train.py --config {n}", gpus=[f"G{n}"]) for n in range(GPUS)]
    for tenancies in (None, held(*jobs)):
        events, _ = play(1, range(200), lambda *_: None, readings=heavier_on_one, tenancies=tenancies)
        assert summary(events, "power_capped") == []


def test_a_gpu_that_is_slower_at_the_same_work_is_reported() -> None:
    """They are in one run or started by one command; a monitor on the GPU does not make its work different."""
    monitor = pb.Member(pid=99, user="root", command="monitor", gpus=["G3"])
    ranks = [pb.Member(pid=n, run="r", rank=n, user="ann", gpus=[f"G{n}"]) for n in range(GPUS)]
    launched = [pb.Member(pid=n, user="ann", command="python train.py", gpus=[f"G{n}"]) for n in range(GPUS)]
    for members in ([*ranks, monitor], launched):
        events, _ = play(1, range(200), lambda *_: None, readings=heavier_on_one, tenancies=held(*members))
        assert summary(events, "power_capped") == [("raised", "G3")]


def test_a_hot_outlier_is_reported_and_warm_positions_are_not() -> None:
    """Boards have warm and cool positions; an outlier is far from both."""
    places = [44.0, 46.0, 40.0, 43.0, 47.0, 39.0, 44.0, 40.0]

    def heats(hot: float) -> list[float]:
        return [hot if gpu == 1 else heat for gpu, heat in enumerate(places)]

    def readings(heat: float, second: int) -> Mapping[Key, float]:
        return board(
            second, temperature_celsius=heats(heat), power_watts=all_but(390.0), utilization_ratio=all_but(1.0)
        )

    events, _ = play(1, range(200), lambda *_: None, readings=lambda _, second: readings(62.0, second))
    assert summary(events, "cooling_outlier") == [("raised", "G1")]
    assert all(event.because.startswith("62 °C at") for event in events)
    events, _ = play(1, range(200), lambda *_: None, readings=lambda _, second: readings(50.0, second))
    assert summary(events, "cooling_outlier") == []


@pytest.mark.parametrize("every", [1, 10, 30, 57])
def test_a_hot_outlier_is_reported_at_any_interval(every: int) -> None:
    """It has been hotter for a minute: after at least three readings, and within two minutes."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        heats = all_but(43.0, G1=62.0, G4=47.0, G5=39.0)
        return board(second, temperature_celsius=heats, power_watts=all_but(390.0), utilization_ratio=all_but(1.0))

    events, _ = play(1, range(0, 400, every), lambda *_: None, readings=readings)
    (raised,) = [event for event in events if event.kind.name == "cooling_outlier"]
    assert raised.subject.gpu == "G1"
    assert max(60, 2 * every) <= raised.time_ns // 10**9 - EPOCH <= 120


def test_a_hotter_gpu_with_more_work_is_not_an_outlier() -> None:
    """The only GPU that works is the only warm one."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        return board(
            second,
            temperature_celsius=all_but(35.0, G2=65.0),
            power_watts=all_but(90.0, G2=400.0),
            utilization_ratio=all_but(0.0, G2=1.0),
        )

    events, _ = play(1, range(200), lambda *_: None, readings=readings)
    assert summary(events, "cooling_outlier") == []


def test_heat_that_outlasts_its_work_is_not_an_outlier() -> None:
    """One GPU worked harder than the others until a minute ago: it is as idle as they are, but still warm."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        watts, degrees = (400.0, 65.0) if second < 300 else (75.0, 55.0)
        return board(
            second,
            temperature_celsius=all_but(30.0, G2=degrees),
            power_watts=all_but(75.0, G2=watts),
            utilization_ratio=all_but(0.0),
        )

    events, _ = play(1, range(500), lambda *_: None, readings=readings)
    assert summary(events, "cooling_outlier") == []


def test_three_gpus_are_too_few_for_an_outlier() -> None:
    """A median of two others means little."""

    def readings(_: int, second: int) -> Mapping[Key, float]:
        every = board(
            second,
            temperature_celsius=all_but(40.0, G1=70.0),
            power_watts=all_but(300.0),
            utilization_ratio=all_but(1.0),
        )
        return {key: value for key, value in every.items() if key[1][0][1] in ("G0", "G1", "G2")}

    events, _ = play(1, range(150), lambda *_: None, readings=readings)
    assert summary(events, "cooling_outlier") == []


def shared(second: int, *, memory: int, busy: float, user: str = "bob") -> tuple[list[Event], Player]:
    """Play a run of Ann's that holds a GPU, and another process that joins later."""
    ann = pb.Member(pid=10, run="r", user="ann", source="client", gpus=["G0"], started_ns=1)
    other = pb.Member(pid=11, user=user, command="python notebook", gpus=["G0"], started_ns=2)
    events, player = play(
        1,
        range(1),
        lambda *_: None,
        readings=lambda *_: {gpu_key("gpu_memory_total_bytes", "G0"): 80e9},
        tenancies={host(0): pb.Tenancy(members=[ann, other])},
    )
    state = player.fleet.get(host(0))
    assert state is not None
    state.extras = pb.Record(
        gpu_processes=[
            pb.GpuProcess(gpu="G0", pid=10, memory_used_bytes=60 * 10**9, utilization_ratio=0.9),
            pb.GpuProcess(gpu="G0", pid=11, memory_used_bytes=memory, utilization_ratio=busy),
        ]
    )
    for at in range(1, second):
        now = (EPOCH + at) * 10**9
        state.received_ns = state.corrected_ns = now
        player.fleet.advance(now)
        events += player.diagnosis.step(now)
    return events, player


def test_another_users_process_on_a_runs_gpu_is_reported() -> None:
    """The text has its owner and its use."""
    events, _ = shared(20, memory=20 * 10**9, busy=0.4)
    assert summary(events, "co_tenant") == [("raised", "G0")]
    (event,) = [event for event in events if event.kind.name == "co_tenant"]
    assert "process 11 (python notebook) of user bob uses 25 % of the memory and 40 % of the time" in event.because


def test_small_processes_and_the_owners_own_are_not_reported() -> None:
    """A monitor uses a few megabytes; the owner of the run may use its GPU."""
    events, _ = shared(20, memory=10**8, busy=0.0)
    assert summary(events, "co_tenant") == []
    events, _ = shared(20, memory=20 * 10**9, busy=0.4, user="ann")
    assert summary(events, "co_tenant") == []


def test_peers_have_the_same_model_and_run() -> None:
    """Two models on one host are never compared; the GPUs of a run belong together."""
    members = [pb.Member(pid=n, run="r", rank=n, user="ann", gpus=[f"G{n}"]) for n in range(4)]
    _, player = play(
        1,
        range(3),
        lambda *_: None,
        readings=lambda _, second: board(second, power_watts=all_but(300.0)),
        tenancies={host(0): pb.Tenancy(members=members)},
    )
    state, view = player.fleet.get(host(0)), player.diagnosis.view
    assert state is not None
    assert view is not None
    models = ["A", "A", "A", "A", "A", "A", "B", "B"]
    state.inventory = pb.Inventory(gpus=[pb.Gpu(uuid=f"G{n}", model=model) for n, model in enumerate(models)])
    groups = Peers(Runs()).of(view)
    same = groups.number[:, None] == groups.number[None]
    assert same[0].tolist() == [True] * 6 + [False, False]
    assert same[7].tolist() == [False] * 6 + [True, True]
