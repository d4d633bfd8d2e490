"""Tests of the connections of trainings, with real processes and fixture trees."""

import os
import socket
from pathlib import Path

import pytest

from flyball_agent.probes.training.calls import TrainingCalls
from flyball_agent.probes.training.process import WatchedProcess

PROC = Path("/proc")


def namespace(root: Path, pid: int) -> Path:
    """Make a process in a network namespace of its own."""
    folder = root / str(pid) / "ns"
    folder.mkdir(parents=True)
    (folder / "net").write_text("")
    return root


def test_follows_the_connections_that_a_process_opened() -> None:
    """Connections to others count; those that others opened to the process, and closed ones, do not."""
    calls, me = TrainingCalls(), WatchedProcess(PROC, os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), 30) as client:
            accepted, _ = server.accept()
            with accepted:
                calls.update([me], 0.0, changed=True)
                before = calls.totals()
                assert before is not None
                sent, received = before.sent_segments, before.received_bytes
                client.sendall(b"question")
                assert accepted.recv(100)
                accepted.sendall(b"x" * 700)
                assert client.recv(1000)
                calls.update([me], 1.0, changed=False)
        after = calls.totals()
    assert after is not None
    assert (after.sent_segments - sent, after.received_bytes - received) == (1, 700)
    assert after.trips is not None
    followed = after.connections
    calls.update([me], 2.0, changed=False)
    assert after.connections < followed
    calls.sockets.close()


def test_a_training_in_another_network_is_not_visible(tmp_path: Path) -> None:
    """If all trainings are in other network namespaces, connections are unknown with the reason."""
    calls = TrainingCalls()
    calls.update([WatchedProcess(namespace(tmp_path, 7), 7)], 0.0, changed=True)
    assert calls.totals() is None
    assert "another network namespace" in str(calls.failure)
    calls.update([WatchedProcess(tmp_path, 7), WatchedProcess(PROC, os.getpid())], 1.0, changed=True)
    assert calls.totals() is not None
    calls.sockets.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_descriptors_of_another_user_are_denied() -> None:
    """Without permission for the descriptors, connections are unknown, and the remedy is a capability."""
    calls, first = TrainingCalls(), WatchedProcess(PROC, 1)
    os.seteuid(65534)
    try:
        calls.update([first], 0.0, changed=True)
    finally:
        os.seteuid(0)
    assert calls.totals() is None
    assert calls.failure is not None
    assert "CAP_SYS_PTRACE" in calls.failure.remedy
