"""Tests of the training probe, with real child processes and connections."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flyball_agent.probes.probe import Absent, Denied, ProbeSample
from flyball_agent.probes.testing import broken_rules, values_by_name
from flyball_agent.probes.training.probe import (
    SAMPLES_A_SECOND,
    STEADY_A_SECOND,
    STEADY_SAMPLES,
    SamplingPace,
    TrainingProbe,
)
from tests.agent.probes.training.children import SPINS, WAITS_FOR_PIPE, child, wait_until
from tests.agent.probes.training.test_search import Machine

PROC = Path("/proc")

CALLS_AND_WAITS = """
import os, socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
worker = os.fork()
if worker == 0:
    sys.stdin.read()
    os._exit(0)
print("ready", flush=True)
while True:
    connection.sendall(b"question")
    connection.recv(4096)
"""


DENIED = {"training_wait_seconds_total", "training_read_bytes_total", "training_connections"}
"""What the processes of another user do not show."""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def probe_of(*pids: int, clock: Clock | None = None) -> TrainingProbe:
    """Return a probe that watches these processes and takes no samples by itself."""
    probe = TrainingProbe(PROC, clock or Clock())
    probe.trainings.members = lambda: pids
    return probe


@contextmanager
def answering() -> Iterator[int]:
    """Answer each question on one connection after a millisecond; yield the port."""
    import socket  # noqa: PLC0415  only here

    def serve() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):  # the other side is killed in the middle of a call
            while connection.recv(4096):
                time.sleep(0.001)
                connection.sendall(b"x" * 500)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
    thread.join(10)


def value(sample: ProbeSample, *name: str) -> float:
    """Return a value that must be known."""
    found = values_by_name(sample)[name]
    assert found is not None, name
    return found


def test_counts_calls_waits_and_workers_of_a_training() -> None:
    """A process that calls a service is seen to run, to send and to receive, and to have a worker."""
    with answering() as port, child(CALLS_AND_WAITS, port) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        probe = probe_of(process.pid)
        first = probe.read()
        samples = [first]

        def has_called() -> bool:
            probe.sample()
            samples.append(probe.read())
            return value(samples[-1], "training_received_bytes_total") >= 5000

        wait_until(has_called)
    assert [broken for sample in samples for broken in broken_rules(sample)] == []
    last = samples[-1]
    assert (value(last, "training_processes"), value(last, "training_workers")) == (1, 1)
    assert value(last, "training_connections") == 1
    assert value(last, "training_sent_segments_total") >= 10
    assert value(last, "training_round_trip_seconds") >= value(last, "training_least_round_trip_seconds")
    assert all(sample.columns is first.columns for sample in samples)


def test_values_never_fall_while_processes_come_and_go() -> None:
    """Counters go on when another process takes the place of a training."""
    pids: list[int] = []
    probe = TrainingProbe(PROC, Clock())
    probe.trainings.members = lambda: pids
    seconds: list[float] = []
    for _ in range(2):
        with child(SPINS) as process:
            pids[:] = [process.pid]
            probe.read()
            wait_until(lambda: value(probe.read(), "training_run_seconds_total") > sum(seconds[-1:]) + 0.02)
            seconds.append(value(probe.read(), "training_run_seconds_total"))
    assert 0 < seconds[0] < seconds[1]


def test_fewer_samples_are_taken_while_all_find_the_same() -> None:
    """The first sample that finds something else, and another process, bring the usual pace back."""
    pace = SamplingPace()
    paces = []
    for found in ([["", "poll"]] * (STEADY_SAMPLES + 1), [["", "disk"]], [[""]] * (STEADY_SAMPLES + 1)):
        for each in found:
            pace.note(each)
        paces.append(pace.samples_a_second)
    assert paces == [STEADY_A_SECOND, SAMPLES_A_SECOND, STEADY_A_SECOND]


def test_samples_are_taken_between_the_readings() -> None:
    """A thread of the probe notes the waits, and ends when the probe is no longer read."""
    before = set(threading.enumerate())
    with child(WAITS_FOR_PIPE) as process:
        probe = TrainingProbe(PROC)
        probe.trainings.members = lambda: (process.pid,)
        wait_until(lambda: value(probe.read(), "training_wait_seconds_total", "process") > 0)
        (sampler,) = [thread for thread in threading.enumerate() if thread not in before]
        probe.trainings.mains = ()
        sampler.join(10)
        assert not sampler.is_alive()


def test_a_host_without_trainings_gives_the_reason(tmp_path: Path) -> None:
    """Without a training the probe is absent, and it is denied if processes of others may train unseen."""
    machine = Machine(tmp_path)
    probe = TrainingProbe(tmp_path, Clock())
    with pytest.raises(Absent, match="no process holds a GPU"):
        probe.read()
    machine.run(20, 9.0)
    probe.trainings._search.denied.add(20)  # as if its libraries could not be read
    machine.run(20, 9.0, "")
    with pytest.raises(Denied, match="may not be examined") as caught:
        probe.read()
    assert "CAP_SYS_PTRACE" in caught.value.remedy


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_an_unprivileged_agent_cannot_read_is_listed() -> None:
    """Of another user's training, run time and delay are known; waits, reads and connections are listed as denied."""
    with child(WAITS_FOR_PIPE) as process:
        pid = process.pid
        probe = probe_of(pid)
        os.seteuid(65534)
        try:
            wait_until(lambda: len({gap.metric for gap in probe.read().unavailable} & DENIED) == len(DENIED))
            sample = probe.read()
        finally:
            os.seteuid(0)
    missing = {reading.metric: reading for reading in sample.unavailable}
    assert all("CAP_SYS_PTRACE" in missing[metric].remedy for metric in DENIED)
    assert value(sample, "training_run_seconds_total") >= 0
    assert list(broken_rules(sample)) == []
