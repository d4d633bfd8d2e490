"""Cases with known answers through the whole engine, with the data that kernel, driver and training would report.

They are conformance tests and do not measure accuracy: nothing ran. The readings are those that such machines show.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import Group
from flyball_collector.diagnosis.scores.score_table import table_of
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.player import Key, Player, RecordedSample, recording
from flyball_proto.v1 import telemetry_pb2 as pb

Readings = dict[Key, float]
Second = tuple[Readings, list[pb.StepReport]]

GPU = (("gpu", "GPU-0"), ("index", "0"))
GIB = 2.0**30
CORES = 16

HOST: Mapping[str, float] = {
    "cpu_busy_ratio": 0.2,
    "cpu_threads_online": CORES,
    "tasks_runnable": 4,
    "memory_used_ratio": 0.4,
    "swap_in_bytes_total": 0,
    "memory_major_faults_total": 1,
    "tcp_sent_segments_total": 100,
    "tcp_retransmitted_segments_total": 0,
}
DISK = {"disk_read_bytes_total": 0.0, "disk_written_bytes_total": 1e5, "disk_busy_seconds_total": 0.01,
        "disk_reads_total": 1.0, "disk_writes_total": 3.0, "disk_read_seconds_total": 0.001,
        "disk_write_seconds_total": 0.003, "disk_queue_seconds_total": 0.01}  # fmt: skip
CARD = {"gpu_utilization_ratio": 0.97, "gpu_sm_active_ratio": 0.75, "gpu_tensor_active_ratio": 0.45,
        "gpu_dram_active_ratio": 0.35, "gpu_power_watts": 620.0, "gpu_power_limit_watts": 700.0,
        "gpu_memory_used_bytes": 60 * GIB, "gpu_memory_total_bytes": 80 * GIB, "gpu_pcie_generation": 5.0,
        "gpu_pcie_width_lanes": 16.0, "gpu_pcie_receive_bytes_total": 1e9, "gpu_pcie_transmit_bytes_total": 5e8,
        "gpu_temperature_celsius": 60.0, "gpu_sm_clock_hertz": 1.9e9}  # fmt: skip


class Machine:
    """One host with a GPU. Given readings replace those of a healthy training that computes."""

    def __init__(self, *, gpu: bool = True) -> None:
        self._gpu = gpu
        self._totals: Readings = {}

    def second(
        self,
        host: Mapping[str, float] | None = None,
        pressure: Mapping[str, float] | None = None,
        disk: Mapping[str, float] | None = None,
        card: Mapping[str, float] | None = None,
        cores: Mapping[int, float] | None = None,
        latency: float = 0.0005,
    ) -> Readings:
        """Return the readings of a second; counters are given as rates."""
        rates: Readings = {(name, ()): value for name, value in {**HOST, **(host or {})}.items()}
        pressures = {**dict.fromkeys(("cpu/some", "io/some", "io/full", "memory/some", "memory/full"), 0.0),
                     **(pressure or {})}  # fmt: skip
        for name, value in pressures.items():
            resource, extent = name.split("/")
            rates["pressure_seconds_total", (("resource", resource), ("extent", extent))] = value
        rates |= {(name, (("device", "nvme0n1"),)): value for name, value in {**DISK, **(disk or {})}.items()}
        rates["latency_seconds", (("target", "data:9000"),)] = latency
        for core in range(CORES):
            rates["cpu_core_busy_seconds_total", (("core", str(core)),)] = (cores or {}).get(core, 0.1)
        if self._gpu:
            rates |= {(name, GPU): value for name, value in {**CARD, **(card or {})}.items()}
        for key, rate in rates.items():
            if key[0].endswith("_total"):
                self._totals[key] = rates[key] = self._totals.get(key, 1000.0) + rate
        return rates


def steps(wait: float = 0.02, **sections: float) -> list[pb.StepReport]:
    """Return the report of a second with these shares of time."""
    computing = 1 - wait - sum(sections.values())
    return [
        pb.StepReport(
            run="run", rank=0, world_size=1, steps=5, step_seconds=1.0, data_wait_seconds=wait,
            section_seconds={"data": wait, "forward": computing / 3, "backward": computing * 2 / 3, **sections},
        )
    ]  # fmt: skip


def diagnosed(data: Callable[[int], Second], seconds: int = 90, every: float = 1.0) -> tuple[set[str], str, Player]:
    """Return the bottlenecks active at the end, the primary one, and the player. No others may have been raised."""
    player = player_of(data, seconds, every)
    for _ in player.play():
        pass
    assert player.diagnosis.failures == {}
    table = table_of(player.diagnosis)
    assert table is not None
    return active_bottlenecks(player), table.primary(0), player


def player_of(data: Callable[[int], Second], seconds: int, every: float = 1.0) -> Player:
    samples = [RecordedSample(every * n, "host", *data(n)) for n in range(seconds)]
    counters = {key[0] for key in samples[0].readings if key[0].endswith("_total")}
    return Player(recording(samples, counters))


def active_bottlenecks(player: Player) -> set[str]:
    return {event.kind.name.removeprefix("bottleneck_") for event in bottleneck_events(player)}


def bottleneck_events(player: Player) -> list[Event]:
    """Return the newest events of the active bottlenecks."""
    return [s.event for s in player.diagnosis.conditions.active() if s.kind.group is Group.BOTTLENECK]


class FoundOnHost(NamedTuple):
    """Hold what is active on one of several hosts at the end."""

    active: set[str]
    primary: str
    events: list[Event]


def diagnosed_hosts(
    cases: Mapping[str, Callable[[int], Second]], seconds: int = 90, every: float = 1.0
) -> Mapping[str, FoundOnHost]:
    """Play hosts side by side, each with a run of its own: a fleet costs little more than one host."""
    samples = [own_run(every * n, host, *data(n)) for n in range(seconds) for host, data in cases.items()]
    counters = {key[0] for sample in samples for key in sample.readings if key[0].endswith("_total")}
    player = Player(recording(samples, counters))
    for _ in player.play():
        pass
    assert player.diagnosis.failures == {}
    table = table_of(player.diagnosis)
    assert table is not None
    found = {host: FoundOnHost(set(), table.primary(table.hosts.places[Subject(host)]), []) for host in cases}
    for event in bottleneck_events(player):
        found[event.subject.host].active.add(event.kind.name.removeprefix("bottleneck_"))
        found[event.subject.host].events.append(event)
    return found


def own_run(seconds: float, host: str, readings: Readings, reports: list[pb.StepReport]) -> RecordedSample:
    """Return the sample of a host whose run has the host's name."""
    for report in reports:
        report.run = host
    return RecordedSample(seconds, host, readings, reports)


def on_machines(
    cases: Mapping[str, Callable[[int, Machine], Second]], *, gpu: bool
) -> Mapping[str, Callable[[int], Second]]:
    """Give each case a machine of its own."""

    def on(machine: Machine, data: Callable[[int, Machine], Second]) -> Callable[[int], Second]:
        return lambda second: data(second, machine)

    return {name: on(Machine(gpu=gpu), data) for name, data in cases.items()}


def varying(second: int, watts: float = 620.0) -> dict[str, float]:
    """Return power and temperature that vary: constant readings would count as stuck."""
    return {"gpu_power_watts": watts + second % 7, "gpu_temperature_celsius": 60.0 + second % 3}


def test_a_gpu_that_computes_is_limited_by_computing() -> None:
    """Nothing else is reported, and this only after it has lasted: it is the normal limit of a training."""
    machine = Machine()

    def data(second: int) -> Second:
        return machine.second(card=varying(second)), steps()

    player, early = player_of(data, 180, 1.0), None
    for second, _ in enumerate(player.play(), 1):
        early = active_bottlenecks(player) if second == 90 else early
    table = table_of(player.diagnosis)
    assert table is not None
    assert early == set()
    assert (active_bottlenecks(player), table.primary(0)) == ({"gpu_compute"}, "gpu_compute")
    assert player.diagnosis.failures == {}


def sawtooth(second: int) -> dict[str, float]:
    """Return two seconds of work, two of waiting."""
    busy = second % 4 < 2
    return {"gpu_utilization_ratio": 0.95 if busy else 0.0, "gpu_sm_active_ratio": 0.7 if busy else 0.0,
            "gpu_tensor_active_ratio": 0.4 if busy else 0.0, "gpu_power_watts": 600.0 if busy else 120.0}  # fmt: skip


def test_a_starved_gpu_waits_for_data() -> None:
    """There is a sawtooth, and steps report waiting. The host is idle, so the workers wait themselves."""
    machine = Machine()
    found = diagnosed(lambda n: (machine.second(card=sawtooth(n)), steps(0.5)))
    assert found[:2] == ({"data_wait"}, "data_wait")


def test_a_starved_gpu_is_found_without_step_reports() -> None:
    """The sawtooth is one source of evidence, so the confidence is limited."""
    machine = Machine()
    active, _, player = diagnosed(lambda n: (machine.second(card=sawtooth(n)), []))
    assert active == {"data_wait"}
    (event,) = [s.event for s in player.diagnosis.conditions.active() if s.kind.name == "bottleneck_data_wait"]
    assert event.confidence <= 0.6
    assert event.evidence["gpu_swing_ratio"] > 0.3


def test_the_cause_of_waiting_is_reported_instead() -> None:
    """A disk that steps wait for explains the waiting; so does an overloaded CPU."""
    reads = {"disk_read_bytes_total": 2e8, "disk_busy_seconds_total": 0.98, "disk_reads_total": 800.0,
             "disk_read_seconds_total": 6.0, "disk_queue_seconds_total": 6.0}  # fmt: skip
    slow = {"io/some": 0.4, "io/full": 0.3}
    busy = {"cpu_busy_ratio": 1.0, "tasks_runnable": 3 * CORES}
    cases: Mapping[str, Callable[[int, Machine], Second]] = {
        "disk": lambda n, m: (m.second(pressure=slow, disk=reads, card=sawtooth(n)), steps(0.5)),
        "cpu": lambda n, m: (m.second(busy, {"cpu/some": 0.8}, card=sawtooth(n)), steps(0.5)),
    }
    for cause, found in diagnosed_hosts(on_machines(cases, gpu=True)).items():
        assert (found.active, found.primary) == ({cause}, cause)


def test_a_host_bound_training() -> None:
    """One core is at its limit, fifteen idle, the GPU has gaps, and steps do not wait for data."""
    machine = Machine()
    gaps = {"gpu_utilization_ratio": 0.5, "gpu_sm_active_ratio": 0.2, "gpu_power_watts": 250.0}
    found = diagnosed(lambda _: (machine.second({"cpu_busy_ratio": 0.15}, cores={3: 0.99}, card=gaps), steps()))
    assert found[:2] == ({"host"}, "host")


def test_small_batches_keep_a_gpu_busy_without_work() -> None:
    """A kernel always runs, but few units work; power alone shows it too if the driver reports no more."""
    machine = Machine()
    little = {"gpu_sm_active_ratio": 0.12, "gpu_tensor_active_ratio": 0.03, "gpu_dram_active_ratio": 0.08,
              "gpu_power_watts": 200.0}  # fmt: skip
    assert diagnosed(lambda _: (machine.second(card=little), steps()))[:2] == ({"small_batch"}, "small_batch")


def test_kernels_limited_by_bandwidth_are_not_a_small_batch() -> None:
    """Units are idle because they wait for memory, which is the limit."""
    machine = Machine()
    bound = {"gpu_sm_active_ratio": 0.35, "gpu_tensor_active_ratio": 0.05, "gpu_dram_active_ratio": 0.8,
             "gpu_power_watts": 420.0}  # fmt: skip
    assert diagnosed(lambda _: (machine.second(card=bound), steps()))[0] == {"gpu_memory"}


def test_half_used_memory_bandwidth_is_not_a_limit() -> None:
    """A training that computes uses its memory too; one that waits for a straggler is not limited by its memory."""
    computes = {"gpu_sm_active_ratio": 0.88, "gpu_tensor_active_ratio": 0.51, "gpu_dram_active_ratio": 0.6}
    waits = {"gpu_sm_active_ratio": 0.53, "gpu_tensor_active_ratio": 0.3, "gpu_dram_active_ratio": 0.57}
    cases: Mapping[str, Callable[[int, Machine], Second]] = {
        "computes": lambda n, m: (m.second(card={**varying(n), **computes}), steps()),
        "waits": lambda n, m: (m.second(card={**varying(n, 420.0), **waits}), steps()),
    }
    found = diagnosed_hosts(on_machines(cases, gpu=True), 180)
    assert found["computes"][:2] == ({"gpu_compute"}, "gpu_compute")
    assert found["waits"][:2] == (set(), "")


def test_a_memory_limit_ends_at_a_lower_level() -> None:
    """It is raised at four fifths of what can be reached, and not cleared for slightly less."""

    def data(second: int, m: Machine, *, level: float) -> Second:
        share = 0.75 if second < 60 else level
        return m.second(card={**varying(second), "gpu_dram_active_ratio": share}), steps()

    found = diagnosed_hosts(
        on_machines({"stays": partial(data, level=0.65), "ends": partial(data, level=0.6)}, gpu=True), 180
    )
    assert "gpu_memory" in found["stays"].active
    assert "gpu_memory" not in found["ends"].active


def test_transfers_at_the_links_limit() -> None:
    """They are compared with what the link carries at its current generation and width."""
    moves = {"gpu_utilization_ratio": 0.7, "gpu_sm_active_ratio": 0.3, "gpu_pcie_width_lanes": 4.0,
             "gpu_pcie_receive_bytes_total": 1.3e10, "gpu_power_watts": 300.0}  # fmt: skip
    cases: Mapping[str, Callable[[int, Machine], Second]] = {
        "narrow": lambda _, m: (m.second(card=moves), steps(0.1)),
        "wide": lambda _, m: (m.second(card={**moves, "gpu_pcie_width_lanes": 16.0}), steps()),
    }
    found = diagnosed_hosts(on_machines(cases, gpu=True))
    assert "pcie" in found["narrow"].active
    assert "pcie" not in found["wide"].active


def test_a_held_gpu_that_is_idle() -> None:
    """It is reported after minutes, and only if memory is held."""
    still = {"gpu_utilization_ratio": 0.0, "gpu_sm_active_ratio": 0.0, "gpu_tensor_active_ratio": 0.0,
             "gpu_dram_active_ratio": 0.0, "gpu_power_watts": 90.0}  # fmt: skip
    cases: Mapping[str, Callable[[int, Machine], Second]] = {
        "held": lambda _, m: (m.second(card=still), []),
        "free": lambda _, m: (m.second(card={**still, "gpu_memory_used_bytes": 0.5 * GIB}), []),
    }
    found = diagnosed_hosts(on_machines(cases, gpu=True), 400)
    assert found["held"].active == {"idle_gpu"}
    assert found["free"].active == set()


@pytest.mark.parametrize("every", [0.5, 1.0, 10.0, 57.0])
def test_time_is_that_of_the_input(every: float) -> None:
    """A starved GPU with a sample every half second or every minute gives the same result."""
    machine = Machine(gpu=False)
    found = diagnosed(lambda _: (machine.second(), steps(0.6)), 120, every)
    assert found[:2] == ({"data_wait"}, "data_wait")


def test_checkpoints_that_stop_the_training() -> None:
    """They take a tenth of the time over minutes, in long pauses."""
    machine = Machine()
    found = diagnosed(lambda n: (machine.second(), steps(checkpoint=0.9 if n % 10 == 0 else 0.0)), 240)
    assert found[0] == {"checkpoint"}


QUIET: Mapping[str, Callable[[int, Machine], Second]] = {
    "busy CPUs that nobody waits for": lambda _, m: (
        m.second({"cpu_busy_ratio": 0.95, "tasks_runnable": CORES}, {"cpu/some": 0.1}), steps()),
    "pressure by tasks that yield": lambda _, m: (
        m.second({"cpu_busy_ratio": 1.0, "tasks_runnable": 2 * CORES}, {"cpu/some": 0.6}), steps()),
    "full memory without pressure": lambda _, m: (m.second({"memory_used_ratio": 0.97}), steps()),
    "a disk that others keep busy": lambda _, m: (
        m.second(pressure={"io/some": 0.5, "io/full": 0.1},
                 disk={"disk_written_bytes_total": 4e8, "disk_busy_seconds_total": 0.99}), steps()),
    "a network that nobody needs": lambda _, m: (m.second(latency=0.2), steps()),
    "a short wait for data": lambda _, m: (m.second(), steps(0.06)),
    "late round trips now and then": lambda n, m: (
        m.second(latency=0.05 if n % 7 == 0 else 0.0005), steps(0.1)),
}  # fmt: skip


@cache
def quiet_hosts() -> Mapping[str, FoundOnHost]:
    return diagnosed_hosts(on_machines(QUIET, gpu=True), 120)


@pytest.mark.parametrize("name", QUIET)
def test_harmless_load_is_not_reported(name: str) -> None:
    """The GPU computes and the steps do not wait, whatever the host looks like."""
    assert quiet_hosts()[name].active <= {"gpu_compute"}


HARMED: Mapping[str, tuple[str, Callable[[int, Machine], Second]]] = {
    "too many tasks": ("cpu", lambda n, m: (
        m.second({"cpu_busy_ratio": 1.0, "tasks_runnable": 4 * CORES}, {"cpu/some": 0.9} if n > 20 else None),
        slowing(n))),
    "a CPU limit": ("cpu", lambda _, m: (
        {**m.second({"cgroup_cpu_periods_total": 10.0, "cgroup_cpu_throttled_periods_total": 8.0})}, steps())),
    "memory that stalls": ("memory", lambda _, m: (
        m.second({"memory_major_faults_total": 300}, {"memory/some": 0.3, "memory/full": 0.2, "io/some": 0.3},
                 {"disk_read_bytes_total": 3e8, "disk_busy_seconds_total": 0.8}), steps(0.6))),
    "swapping": ("swap", lambda _, m: (
        m.second({"swap_in_bytes_total": 2e7, "memory_major_faults_total": 5000}, {"memory/some": 0.2}), steps(0.4))),
    "a far network": ("network", lambda _, m: (m.second(latency=0.04), steps(0.6))),
    "a slow service": ("service", lambda _, m: (m.second({"tcp_sent_segments_total": 900}), steps(service=0.6))),
    "calls that became slower": ("service", lambda n, m: (m.second(), steps(service=0.02 if n < 20 else 0.12))),
    "a wait that became longer": ("data_wait", lambda n, m: (m.second(), steps(0.02 if n < 20 else 0.3))),
}  # fmt: skip


def slowing(second: int) -> list[pb.StepReport]:
    """Return steps whose computing takes three times as long after some seconds."""
    report = steps()[0]
    if second > 20:
        report.steps = 2
    return [report]


@cache
def harmed_hosts() -> Mapping[str, FoundOnHost]:
    return diagnosed_hosts(on_machines({name: data for name, (_, data) in HARMED.items()}, gpu=False))


@pytest.mark.parametrize("name", HARMED)
def test_hosts_without_a_gpu_are_diagnosed_too(name: str) -> None:
    """Each has one cause, and only this is reported, with text and numbers."""
    kind, _ = HARMED[name]
    active, primary, (event,) = harmed_hosts()[name]
    assert (active, primary) == ({kind}, kind)
    assert event.state in {State.RAISED, State.CHANGED}
    assert any(letter.isdigit() for letter in event.because)
    assert not any(math.isnan(value) for value in event.evidence.values())


def test_a_pause_by_an_adjustment_raises_no_bottleneck() -> None:
    """While all ranks of a host are paused, its GPUs idle on purpose: no score is known, and nothing is reported."""
    machine = Machine()
    resting = {"gpu_utilization_ratio": 0.0, "gpu_sm_active_ratio": 0.0, "gpu_tensor_active_ratio": 0.0}

    def data(second: int) -> Second:
        if not 60 <= second < 150:
            return machine.second(card=varying(second)), steps(0.0)
        report = pb.StepReport(run="run", rank=0, world_size=1, paused_seconds=1.0)
        return machine.second(card={**varying(second, 90.0), **resting}), [report]

    player = player_of(data, 170, 1.0)
    for second, _ in enumerate(player.play(), 1):
        if second == 149:
            paused = table_of(player.diagnosis)
            assert paused is not None
            assert (active_bottlenecks(player), paused.primary(0)) == (set(), "")
            assert all(np.isnan(scores).all() for scores in paused.scores.values())
    again = table_of(player.diagnosis)
    assert again is not None
    assert not np.isnan(again.scores["gpu_compute"]).any()
    assert player.diagnosis.failures == {}


NO_CLIENT: Mapping[str, tuple[set[str], Callable[[int, Machine], Second]]] = {
    "too many tasks": ({"cpu"}, lambda _, m: (
        m.second({"cpu_busy_ratio": 1.0, "tasks_runnable": 4 * CORES}, {"cpu/some": 0.9}), [])),
    "a disk at its limit": ({"disk"}, lambda _, m: (
        m.second(pressure={"io/some": 0.7, "io/full": 0.6},
                 disk={"disk_read_bytes_total": 2e8, "disk_busy_seconds_total": 0.99}), [])),
    "memory that stalls": ({"memory"}, lambda _, m: (
        m.second({"memory_major_faults_total": 300}, {"memory/some": 0.4, "memory/full": 0.3, "io/some": 0.3}), [])),
    "a distant service that may be unused": (set(), lambda _, m: (m.second(latency=0.2), [])),
    "nothing": (set(), lambda _, m: (m.second(), [])),
}  # fmt: skip


@cache
def hosts_without_a_client() -> Mapping[str, FoundOnHost]:
    return diagnosed_hosts(on_machines({name: data for name, (_, data) in NO_CLIENT.items()}, gpu=False))


@pytest.mark.parametrize("name", NO_CLIENT)
def test_hosts_without_a_client_are_diagnosed_from_the_kernel(name: str) -> None:
    """There is one source of evidence: reported, but with lower confidence."""
    expected, _ = NO_CLIENT[name]
    assert hosts_without_a_client()[name].active == expected


def test_two_causes_are_both_reported() -> None:
    """Neither explains the other."""
    machine = Machine(gpu=False)
    found = diagnosed(lambda _: (
        machine.second(pressure={"io/some": 0.3, "io/full": 0.25},
                       disk={"disk_read_bytes_total": 6e8, "disk_busy_seconds_total": 0.4}, latency=0.02),
        steps(0.8)))  # fmt: skip
    assert found[0] == {"disk", "network"}


@pytest.mark.parametrize(("cpu_busy", "expected"), [(1.0, {"cpu", "network"}), (0.3, {"network"})])
def test_waiting_steps_still_need_a_cpu_at_times(cpu_busy: float, expected: set[str]) -> None:
    """They cause little pressure and rarely queue. If other work uses all CPUs, this little counts."""
    machine = Machine(gpu=False)
    beside = {"cpu_busy_ratio": cpu_busy, "tasks_runnable": CORES + 1}

    def data(second: int) -> Second:
        if second <= 20:
            return machine.second(), steps()
        waiting = steps(0.75)
        waiting[0].steps = 1  # a fifth as many: computing takes longer too
        return machine.second(beside, {"cpu/some": 0.15}, latency=0.02), waiting

    assert diagnosed(data)[0] == expected


def test_a_bottleneck_that_is_over_is_cleared() -> None:
    """This is half a minute after the cause is gone, also if the run has ended and reports nothing."""
    machine = Machine(gpu=False)
    found = diagnosed(
        lambda n: (machine.second(latency=0.04 if n < 40 else 0.0005), steps(0.6 if n < 40 else 0.02)), 90
    )
    assert found[:2] == (set(), "")
    machine = Machine(gpu=False)
    found = diagnosed(lambda n: (machine.second(), steps(service=0.6) if n < 40 else []), 150)
    assert found[:2] == (set(), "")


def test_nothing_is_primary_before_it_is_raised() -> None:
    """The largest score is not primary while its condition waits to be raised. Scores are always shown."""
    machine = Machine()
    active, primary, player = diagnosed(lambda _: (machine.second(), steps()), 90)
    table = table_of(player.diagnosis)
    assert table is not None
    assert table.scores["gpu_compute"][0] > 0.3
    assert (active, primary) == (set(), "")
    assert all(np.isnan(values[0]) for _, values in table.confidences())


def test_primary_scores_and_conditions_agree() -> None:
    """A host is starved, then computes. At each moment the primary is active, and active ones have a confidence."""
    machine, seen = Machine(), set()

    def second(n: int) -> Second:
        return (machine.second(card=sawtooth(n)), steps(0.5)) if n < 60 else (machine.second(), steps())

    player = player_of(second, 260)
    for _ in player.play():
        active, table = active_bottlenecks(player), table_of(player.diagnosis)
        assert table is not None
        assert {name for name, values in table.confidences() if np.isfinite(values[0])} == active
        assert table.primary(0) in (active or {""})
        seen.add(table.primary(0))
    assert seen == {"", "data_wait"}  # computing is a limit only after a while
