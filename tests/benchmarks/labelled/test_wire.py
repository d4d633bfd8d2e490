"""The wire of packets: a connect, an answer and the kernel's own round trips are late, and lost packets come again."""

import asyncio
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from tests.benchmarks.labelled.delay import Wire
from tests.benchmarks.labelled.surroundings import Ports, Surroundings, Weather
from tests.benchmarks.labelled.wire import THERE, Direction, enter_namespace, target_port, turned

RTT = struct.Struct("8B 15I I")
"""The beginning of the kernel's tcp_info (include/uapi/linux/tcp.h): the 16th word is the smoothed round trip in µs."""


def in_namespace(work: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a coroutine in a thread with a network of its own; skip where the machine does not allow one."""
    outcome: list[BaseException | None] = []

    def run() -> None:
        try:
            if not enter_namespace():
                pytest.skip("network namespaces need root")
            asyncio.run(work())
            outcome.append(None)
        except BaseException as error:  # noqa: BLE001  raised again in the test's own thread
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert outcome, "it does not end"
    if outcome[0] is not None:
        raise outcome[0]


def request(ports: Ports) -> tuple[float, float, float]:
    """Return the seconds of a connect, of an answer, and the kernel's round trip."""
    started = time.monotonic()
    with socket.create_connection((ports.host, ports.service), 30) as connection:
        connected = time.monotonic()
        connection.sendall(b"GET /item HTTP/1.1\r\n\r\n")
        assert connection.recv(65536)
        answered = time.monotonic()
        words = RTT.unpack_from(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104))
    return connected - started, answered - connected, words[-1] / 1e6


def test_a_long_wire_delays_connects_answers_and_the_kernels_round_trips() -> None:
    """A slow service delays the answer alone."""

    async def work() -> None:
        surroundings = Surroundings()
        ports = await surroundings.start(packets=True)
        if not ports.has_packets:
            pytest.skip("this kernel has no TUN devices")
        assert ports.host == THERE
        surroundings.become(Weather(network_seconds=0.1))
        connect, answer, round_trip = await asyncio.to_thread(request, ports)
        assert min(connect, answer, round_trip) >= 0.1
        surroundings.become(Weather(service_seconds=0.2))
        connect, answer, round_trip = await asyncio.to_thread(request, ports)
        assert answer >= 0.2
        assert max(connect, round_trip) < 0.2
        await surroundings.stop()

    in_namespace(work)


async def test_a_lossy_direction_loses_its_share() -> None:
    """The others arrive, each once and in order."""
    arrived: list[bytes] = []
    direction = Direction(Wire(), arrived.append, loss_ratio=0.25)
    sent = [number.to_bytes(2) for number in range(1000)]
    for packet in sent:
        direction.take(packet)
    await asyncio.sleep(0)
    assert 650 < len(arrived) < 850
    assert arrived == sorted(arrived)
    assert set(arrived) <= set(sent)


async def test_what_waits_too_long_for_a_narrow_wire_is_dropped() -> None:
    """A second's worth of packets at once: those of the first fifth arrive."""
    arrived: list[bytes] = []
    direction = Direction(Wire(bytes_per_second=10_000), arrived.append)
    for _ in range(10):
        direction.take(bytes(1000))
    await asyncio.sleep(0.5)
    assert len(arrived) == 3


def test_a_packet_is_turned_round() -> None:
    """Source and destination are swapped; the port of the target is read behind options, too."""
    header = bytearray(24)
    header[0], header[9] = 0x46, 6  # six words: four bytes of options
    header[12:20] = socket.inet_aton("10.99.0.1") + socket.inet_aton("10.99.0.2")
    packet = bytes(header) + struct.pack("!HH", 40000, 8080) + os.urandom(16)
    assert turned(packet)[12:20] == socket.inet_aton("10.99.0.2") + socket.inet_aton("10.99.0.1")
    assert turned(turned(packet)) == packet
    assert target_port(packet) == 8080
    assert target_port(b"\x60" + bytes(60)) == 0


def test_mounts_of_a_namespace_are_not_seen_outside() -> None:
    """A test of this file leaves nothing behind on the machine."""
    before = Path("/proc/self/mounts").read_text()

    async def work() -> None:
        pass

    in_namespace(work)
    assert Path("/proc/self/mounts").read_text() == before
    assert not Path("/sys/class/net/flyball-wire").exists()
