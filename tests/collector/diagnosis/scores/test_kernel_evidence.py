"""The bottleneck shows in what the kernel counts for the processes of a training, whatever the training reports."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from flyball_collector.diagnosis.kinds import Group
from flyball_collector.diagnosis.scores.score_table import table_of
from flyball_collector.diagnosis.scores.signal_list import WAITS
from flyball_collector.engine.player import Key, Player, RecordedSample, recording
from flyball_proto.v1 import telemetry_pb2 as pb

SECONDS = 20
GIB = 2.0**30
CORES = 8


class Host(NamedTuple):
    """A host with one training on the CPU, by rates and shares of a second."""

    run: float = 1.0
    delay: float = 0.0
    waits: Mapping[str, float] = {}
    cores: float | None = None  # of the main process; None: of its main thread alone
    worker_cores: float = 0.0
    worker_delay: float = 0.0
    worker_waits: Mapping[str, float] = {}
    calls: float = 0.0
    received: float = 0.0
    lost: float = 0.0
    pressure: Mapping[str, float] = {}
    swap_in: float = 0.0
    latency: float = 0.0004
    gpu_busy: float | None = None
    trainings: int = 1


def readings_of(host: Host) -> dict[Key, float]:
    """Return the readings of a second; counters as rates."""
    busy = host.run + host.worker_cores
    found: dict[Key, float] = {
        ("cpu_busy_ratio", ()): min(1.0, busy / CORES),
        ("cpu_threads_online", ()): CORES,
        ("tasks_runnable", ()): 2 + busy,
        ("swap_in_bytes_total", ()): host.swap_in,
        ("memory_major_faults_total", ()): 1.0,
        ("disk_busy_seconds_total", (("device", "sda"),)): host.pressure.get("io", 0.0),
        ("latency_seconds", (("target", "data:9000"),)): host.latency,
    }
    for resource in ("cpu", "io", "memory"):
        for extent, part in (("some", 1.0), ("full", 0.5)):
            labels = (("resource", resource), ("extent", extent))
            found["pressure_seconds_total", labels] = part * host.pressure.get(resource, 0.0)
    if host.gpu_busy is not None:
        card = (("gpu", "GPU-0"), ("index", "0"))
        found |= {("gpu_utilization_ratio", card): host.gpu_busy, ("gpu_memory_used_bytes", card): 60 * GIB}
    return found | _training(host)


def _training(host: Host) -> dict[Key, float]:
    seconds = {
        "training_run_seconds_total": host.run,
        "training_delay_seconds_total": host.delay,
        "training_cpu_seconds_total": host.run if host.cores is None else host.cores,
        "training_worker_cpu_seconds_total": host.worker_cores,
        "training_worker_delay_seconds_total": host.worker_delay,
        "training_sent_segments_total": host.calls,
        "training_received_bytes_total": host.received,
        "training_retransmitted_segments_total": host.lost,
        "training_disordered_segments_total": 0.0,
    }
    found: dict[Key, float] = {(name, ()): host.trainings * rate for name, rate in seconds.items()}
    found["training_processes", ()] = host.trainings
    for what in WAITS:
        found["training_wait_seconds_total", (("what", what),)] = host.trainings * host.waits.get(what, 0.0)
        found["training_worker_wait_seconds_total", (("what", what),)] = host.worker_waits.get(what, 0.0)
    return found


def played(host: Host, steps: Sequence[pb.StepReport] = (), *, without: str = "?") -> Player:
    """Play twenty seconds of such a host. `without` leaves out metrics that begin so."""
    rates = {key: rate for key, rate in readings_of(host).items() if not key[0].startswith(without)}
    samples = [RecordedSample(float(second), "host", _counted(rates, second), list(steps)) for second in range(SECONDS)]
    player = Player(recording(samples, {key[0] for key in rates if key[0].endswith("_total")}))
    for _ in player.play():
        pass
    assert player.diagnosis.failures == {}
    return player


def _counted(rates: Mapping[Key, float], second: int) -> dict[Key, float]:
    """Return the readings of a second: counters have grown by their rates."""
    return {key: rate * (second + 100) if key[0].endswith("_total") else rate for key, rate in rates.items()}


def active(player: Player) -> set[str]:
    """Return the bottlenecks that are active at the end."""
    return {
        one.kind.name.removeprefix("bottleneck_")
        for one in player.diagnosis.conditions.active()
        if one.kind.group is Group.BOTTLENECK
    }


CASES: Mapping[str, tuple[Host, set[str]]] = {
    "computes": (Host(), set()),
    "computes with all cores": (Host(run=0.6, waits={"process": 0.4}, cores=6.0, pressure={"cpu": 0.1}), set()),
    "other work keeps the CPUs busy": (Host(run=0.6, delay=0.4, pressure={"cpu": 0.5}), {"cpu"}),
    "its group has a CPU limit": (Host(run=0.25, delay=0.75), {"cpu"}),
    "a little delay": (Host(run=0.94, delay=0.06, pressure={"cpu": 0.3}), set()),
    "reads a slow disk": (Host(run=0.5, waits={"disk": 0.5}, pressure={"io": 0.4}), {"disk"}),
    "another process reads": (Host(pressure={"io": 0.8}), set()),
    "its workers read a slow disk": (
        Host(run=0.4, waits={"poll": 0.6}, worker_cores=0.2, worker_waits={"disk": 0.8}, pressure={"io": 0.5}),
        {"disk"},
    ),
    "its pages are reclaimed": (
        Host(run=0.5, waits={"disk": 0.4, "memory": 0.1}, pressure={"memory": 0.4, "io": 0.3}),
        {"memory"},
    ),
    "its pages are swapped out": (
        Host(run=0.5, waits={"disk": 0.5}, pressure={"memory": 0.4, "io": 0.3}, swap_in=2e7),
        {"swap"},
    ),
    "calls a slow service": (Host(run=0.5, waits={"poll": 0.5}, calls=20), {"service"}),
    "calls a service very often": (Host(run=0.7, waits={"socket": 0.3}, calls=2500), {"service"}),
    "calls a service far away": (Host(run=0.5, waits={"poll": 0.5}, calls=20, latency=0.025), {"network"}),
    "loads batches from far away": (
        Host(run=0.6, waits={"socket": 0.4}, calls=5, received=5e6, latency=0.02),
        {"network"},
    ),
    "reads files of a server far away": (Host(run=0.5, waits={"remote": 0.5}, latency=0.02), {"network"}),
    "the network is slow, but it does not use it": (Host(latency=0.05), set()),
    "waits for workers that wait": (
        Host(run=0.4, waits={"poll": 0.6}, worker_cores=0.1, worker_waits={"poll": 0.9}),
        {"data_wait"},
    ),
    "waits for a name server": (Host(run=0.4, waits={"poll": 0.6}), {"data_wait"}),
    "waits for its threads, one at a time": (Host(run=0.3, waits={"process": 0.7}, cores=1.0), {"data_wait"}),
    "its workers find no CPU": (
        Host(run=0.3, waits={"process": 0.7}, worker_cores=0.3, worker_delay=0.7, pressure={"cpu": 0.8}),
        {"cpu"},
    ),
    "a server without requests": (Host(run=0.01, waits={"poll": 0.99}), set()),
    "waits for a busy GPU": (Host(run=0.2, waits={"other": 0.8}, gpu_busy=0.98), set()),
    "calls while the GPU works": (Host(run=0.5, waits={"poll": 0.5}, calls=20, gpu_busy=0.97), set()),
    "calls while the GPU idles": (Host(run=0.5, waits={"poll": 0.5}, calls=20, gpu_busy=0.4), {"service"}),
    "four ranks alike": (Host(run=0.5, waits={"disk": 0.5}, pressure={"io": 0.4}, trainings=4), {"disk"}),
    "other work, and a slow service": (
        Host(run=0.2, delay=0.4, waits={"poll": 0.4}, calls=15, pressure={"cpu": 0.9}),
        {"cpu", "service"},
    ),
    "short memory, and a slow service": (
        Host(run=0.3, waits={"memory": 0.3, "poll": 0.4}, calls=20, pressure={"memory": 0.3}),
        {"memory", "service"},
    ),
    "other work, beside long calls": (
        Host(run=0.15, delay=0.1, waits={"poll": 0.75}, calls=15, pressure={"cpu": 0.15}),
        {"cpu", "service"},
    ),
    "small files, beside long calls": (
        Host(run=0.38, waits={"disk": 0.12, "poll": 0.5}, calls=28, pressure={"io": 0.12}),
        {"disk", "service"},
    ),
    "files read again, beside long calls": (
        Host(run=0.45, waits={"disk": 0.1, "poll": 0.45}, calls=40, pressure={"memory": 0.07, "io": 0.07}),
        {"memory", "service"},
    ),
    "few calls, beside a slow disk": (
        Host(run=0.4, waits={"disk": 0.47, "poll": 0.13}, calls=15, pressure={"io": 0.4}),
        {"disk", "service"},
    ),
    "remote files, beside other work": (
        Host(run=0.15, delay=0.09, waits={"remote": 0.76}, latency=0.02, pressure={"cpu": 0.3}),
        {"cpu", "network"},
    ),
    "a little delay beside long calls": (
        Host(run=0.25, delay=0.04, waits={"poll": 0.71}, calls=15, pressure={"cpu": 0.08}),
        {"service"},
    ),
    "a slow disk, and a network": (
        Host(run=0.3, waits={"disk": 0.35, "socket": 0.35}, calls=12, latency=0.03, pressure={"io": 0.3}),
        {"disk", "network"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_names_what_the_training_waits_for(name: str) -> None:
    """Of a training that reports nothing, exactly the resources are named that its processes wait for."""
    host, expected = CASES[name]
    assert active(played(host)) == expected


def test_lost_segments_are_the_networks() -> None:
    """Calls that wait for segments that were lost on the way are not a fault of the service alone."""
    player = played(Host(run=0.4, waits={"poll": 0.6}, calls=20, lost=2.0, latency=0.006))
    assert "network" in active(player)


def _report(seconds: float = 0.2, **sections: float) -> pb.StepReport:
    """Return a report of five steps that hardly wait for input."""
    forward = 5 * seconds - sum(sections.values())
    return pb.StepReport(
        run="run", world_size=1, steps=5, step_seconds=5 * seconds, data_wait_seconds=0.01,
        section_seconds={**sections, "forward": forward},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("computes", {}),
        ("reads a slow disk", {"checkpoint": 0.5}),
        ("calls a slow service", {}),
        ("its group has a CPU limit", {}),
    ],
)
def test_a_wait_inside_a_reported_section_is_named(name: str, sections: Mapping[str, float]) -> None:
    """Reports do not show what a thread waits for inside a section: the kernel does, from the first second on."""
    host, expected = CASES[name]
    assert active(played(host, [_report(**sections)])) == expected
    assert not active(played(host, [_report(**sections)], without="training_"))


def test_what_reports_do_not_show_is_marked_as_uncalibrated() -> None:
    """The calibration was fitted to reports, so it does not apply where the time of the processes is the evidence."""
    host, _ = CASES["reads a slow disk"]
    (seen,) = played(host, [_report(checkpoint=0.5)]).diagnosis.conditions.active()
    assert seen.event.because.endswith("(uncalibrated)")


def test_reports_that_are_stronger_come_first() -> None:
    """If the report of a wait is the stronger evidence, readings of the processes do not change its score."""
    host = Host(run=0.9, waits={"poll": 0.1}, calls=1)
    steps = [_report(service=0.6)]
    tables = [table_of(played(host, steps, without=left_out).diagnosis) for left_out in ("?", "training_")]
    with_readings, without = [table.scores["service"][0] for table in tables if table is not None]
    assert with_readings == without > 0.1


def test_waiting_for_threads_counts_as_far_as_steps_became_slower() -> None:
    """Threads that wait for each other are not a bottleneck as long as the reported steps keep their pace."""
    waiting = readings_of(Host(run=0.4, waits={"process": 0.6}))
    found = {}
    for name, later in (("steady", 0.2), ("slower", 0.5)):
        samples = [
            RecordedSample(float(second), "host", _counted(waiting, second), [_report(0.2 if second < 10 else later)])
            for second in range(2 * SECONDS)
        ]
        player = Player(recording(samples, {key[0] for key in waiting if key[0].endswith("_total")}))
        for _ in player.play():
            pass
        found[name] = active(player)
    assert found == {"steady": set(), "slower": {"data_wait"}}


def test_the_sentence_and_the_numbers_are_those_of_the_processes() -> None:
    """The reason of a condition and its evidence state what share of its time the training waited."""
    (one,) = played(CASES["calls a slow service"][0]).diagnosis.conditions.active()
    assert one.event.because.startswith("calls to services took 50 % of the training's time")
    assert one.event.evidence["training_service_ratio"] == pytest.approx(0.5, abs=0.02)
    assert one.event.confidence > 0.8


def test_hosts_of_one_fleet_are_judged_each_by_itself() -> None:
    """A host whose training reports steps is judged by them, beside one whose training does not."""
    quiet, waiting = readings_of(Host()), readings_of(CASES["reads a slow disk"][0])
    steps = [pb.StepReport(run="run", world_size=1, steps=5, step_seconds=1.0, data_wait_seconds=0.01)]
    samples = []
    for second in range(SECONDS):
        for name, rates, reports in (("reports", quiet, steps), ("unreported", waiting, [])):
            samples.append(RecordedSample(float(second), name, _counted(rates, second), reports))
    player = Player(recording(samples, {key[0] for key in quiet if key[0].endswith("_total")}))
    for _ in player.play():
        pass
    found = {(one.subject.host, one.kind.name) for one in player.diagnosis.conditions.active()}
    assert ("unreported", "bottleneck_disk") in found
    assert not [kind for host, kind in found if host == "reports" and kind.startswith("bottleneck")]
