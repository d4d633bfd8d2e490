"""A long or lossy wire made of real packets: a TUN device in a network namespace of its own.

Packets that leave for `THERE` come back after a while from `THERE`, with source and destination swapped: that leaves
their checksums valid. So a program of this host that listens on `HERE` is reached through the wire, and connects, round
trips as the kernel measures them, retransmissions and answers are what they would be over such a network.
"""

import asyncio
import ctypes
import fcntl
import os
import random
import struct
import subprocess
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.labelled.delay import Timetable, Wire

HERE, THERE = "10.99.0.1", "10.99.0.2"
"""Addresses inside of the namespace; nothing outside of it can be reached from there."""

DEVICE = "flyball-wire"
MTU_BYTES = 16_000
"""Larger than on most networks: each packet takes time of this interpreter."""

QUEUE_SECONDS = 0.2
"""What would wait longer for a narrow wire is dropped, as by a router."""

_TUN = Path("/dev/net/tun")
_TUNSETIFF = 0x400454CA  # include/uapi/linux/if_tun.h
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000  # include/uapi/linux/sched.h
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18


def enter_namespace() -> bool:
    """Give this thread, and all that it starts, networks and mounts of its own; false where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET | _CLONE_NEWNS) != 0:
        return False
    libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)  # mounts made here are not seen outside
    return _ip("link", "set", "lo", "up")


def open_wire() -> int | None:
    """Open the device in the present namespace; None where that is not possible."""
    try:
        device = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError:
        os.close(device)
        return None
    address = f"{HERE}/30"
    if _ip("addr", "add", address, "dev", DEVICE) and _ip("link", "set", DEVICE, "up", "mtu", str(MTU_BYTES)):
        return device
    os.close(device)
    return None


def _ip(*arguments: str) -> bool:
    with suppress(OSError):
        return subprocess.run(["ip", *arguments], capture_output=True, check=False).returncode == 0
    return False


def turned(packet: bytes) -> bytes:
    """Return an IPv4 packet from its destination to its source."""
    return packet[:12] + packet[16:20] + packet[12:16] + packet[20:]


def target_port(packet: bytes) -> int:
    """Return the port that a TCP packet goes to; 0 for other packets."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != 6:
        return 0
    start = (packet[0] & 15) * 4
    return int.from_bytes(packet[start + 2 : start + 4])


@dataclass(slots=True)
class Direction:
    """Packets on their way in one direction, in order."""

    wire: Wire
    deliver: Callable[[bytes], None]
    loss_ratio: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    _travelling: deque[tuple[float, bytes]] = field(default_factory=deque)
    _times: Timetable | None = None

    def take(self, packet: bytes) -> None:
        """Send a packet, or lose it."""
        loop = asyncio.get_running_loop()
        if self._times is None:
            self._times = Timetable(self.wire)
        if self.wire.free - loop.time() > QUEUE_SECONDS or self.rng.random() < self.loss_ratio:
            return
        self._travelling.append((self._times.arrival(loop.time(), len(packet)), packet))
        if len(self._travelling) == 1:
            self._arrive()

    def _arrive(self) -> None:
        """Deliver what is due, and wake up for the next."""
        loop = asyncio.get_running_loop()
        while self._travelling:
            due, packet = self._travelling[0]
            if due > loop.time():
                loop.call_at(due, self._arrive)
                return
            self._travelling.popleft()
            self.deliver(packet)


class PacketWire:
    """Forwards packets between `HERE` and `THERE`: to the servers' ports over one wire, back over the other."""

    def __init__(self, device: int, ports: Collection[int], there: Wire, back: Wire) -> None:
        self._device, self._ports = device, frozenset(ports)
        self.there, self.back = Direction(there, self._deliver), Direction(back, self._deliver)

    def start(self) -> None:
        """Forward from now on."""
        asyncio.get_running_loop().add_reader(self._device, self._read)

    def stop(self) -> None:
        """Remove the device."""
        asyncio.get_running_loop().remove_reader(self._device)
        os.close(self._device)

    def lose(self, ratio: float) -> None:
        """Lose so many packets of those that come back."""
        self.back.loss_ratio = ratio

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while packet := os.read(self._device, 65536):
                (self.there if target_port(packet) in self._ports else self.back).take(packet)

    def _deliver(self, packet: bytes) -> None:
        with suppress(OSError):  # a full queue of the kernel loses packets, too
            os.write(self._device, turned(packet))
