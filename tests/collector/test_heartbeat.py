import asyncio
import contextlib
import socket
import time
from pathlib import Path

from flyball_collector.heartbeat import Heartbeat
from flyball_collector.own_metrics import OwnMetrics
from flyball_daemon.systemd_notifier import SystemdNotifier


def test_the_watchdog_is_fed_three_times_in_its_interval(tmp_path: Path) -> None:
    """One of the three may be missed; the status is set every ten seconds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.setblocking(False)
        notifier = SystemdNotifier(systemd.getsockname(), watchdog_seconds=3.0)
        heart = Heartbeat(notifier, OwnMetrics(), lambda: "2 hosts")
        messages = []
        for step in range(4 * 30):
            heart.beat(step / 4)
            with contextlib.suppress(BlockingIOError):
                while True:
                    messages.append(systemd.recv(100))
        notifier.close()
    assert messages.count(b"WATCHDOG=1") == 30
    assert messages.count(b"STATUS=2 hosts") == 3


async def test_a_blocked_loop_is_measured() -> None:
    """Lag is the delay of the loop, without the intended sleep."""
    metrics = OwnMetrics()
    task = asyncio.create_task(Heartbeat(SystemdNotifier(), metrics, lambda: "").run())
    await asyncio.sleep(0)
    time.sleep(0.5)  # noqa: ASYNC251  the loop must block
    await asyncio.sleep(0.01)
    task.cancel()
    lag = metrics.registry.get_sample_value("flyball_collector_event_loop_lag_seconds_sum")
    assert lag is not None
    assert 0.2 < lag < 5
