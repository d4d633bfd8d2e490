import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball_daemon.systemd_notifier import SystemdNotifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(2)
        yield listener


def test_every_state_has_the_format_of_systemd(systemd: socket.socket) -> None:
    """The datagrams have the format of sd_notify(3)."""
    notifier = SystemdNotifier.from_environment({"NOTIFY_SOCKET": systemd.getsockname()})
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


def test_an_abstract_address_is_supported() -> None:
    """`@name` is an abstract address, without a file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0flyball-test-notify")
        notifier = SystemdNotifier("@flyball-test-notify")
        assert notifier.ready()
        assert listener.recv(100) == b"READY=1"
        notifier.close()


def test_without_systemd_nothing_happens(tmp_path: Path) -> None:
    """Without systemd, or if its socket is gone, the calls do nothing."""
    assert not SystemdNotifier.from_environment({}).ready()
    gone = SystemdNotifier(str(tmp_path / "gone"))
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
def test_the_watchdog_interval_is_that_of_this_process(environment: dict[str, str], expected: float | None) -> None:
    """The interval from systemd applies only to the process that it names."""
    assert SystemdNotifier.from_environment(environment, pid=42).watchdog_seconds == expected
