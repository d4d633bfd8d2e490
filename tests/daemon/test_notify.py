import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball_daemon.notify import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(2)
        yield listener


def test_every_state_is_told_as_systemd_reads_it(systemd: socket.socket) -> None:
    """The datagrams are those of sd_notify(3)."""
    notifier = Notifier.from_environment({"NOTIFY_SOCKET": systemd.getsockname()})
    notifier.ready("3 hosts\nlive")
    notifier.watchdog()
    notifier.reloading(5_000_000)
    notifier.stopping()
    notifier.status("fine")
    assert [systemd.recv(200) for _ in range(5)] == [
        b"READY=1\nSTATUS=3 hosts live",
        b"WATCHDOG=1",
        b"RELOADING=1\nMONOTONIC_USEC=5000",
        b"STOPPING=1",
        b"STATUS=fine",
    ]
    notifier.close()
    assert not notifier.watchdog()


def test_an_abstract_address_is_understood() -> None:
    """`@name` is an address without a file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0flyball-test-notify")
        notifier = Notifier("@flyball-test-notify")
        assert notifier.ready()
        assert listener.recv(100) == b"READY=1"
        notifier.close()


def test_a_supervisor_that_is_gone_disturbs_nothing(tmp_path: Path) -> None:
    """Outside systemd, or when its socket vanished, the calls do nothing."""
    assert not Notifier.from_environment({}).ready()
    gone = Notifier(str(tmp_path / "gone"))
    assert not gone.ready()
    gone.close()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "42"}, 10.0),
        ({"WATCHDOG_USEC": "500000"}, 0.5),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "7"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_only_when_this_process_was_asked(
    environment: dict[str, str], expected: float | None
) -> None:
    """The interval comes from systemd and belongs to one process."""
    assert Notifier.from_environment(environment, pid=42).watchdog_seconds == expected
