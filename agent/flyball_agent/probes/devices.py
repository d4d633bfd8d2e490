"""Devices that come and go. The list is refreshed at intervals; known devices stay open."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Device = TypeVar("Device")

RESCAN_EVERY = 30
"""Readings between two scans. At 1 Hz a new device is found within half a minute; a scan costs about 50 µs."""


class Devices(Generic[Device]):
    """The devices that `names` lists, each opened once with `open_device`."""

    __slots__ = ("_countdown", "_devices", "_every", "_names", "_open")

    def __init__(
        self, names: Callable[[], Sequence[str]], open_device: Callable[[str], Device], every: int = RESCAN_EVERY
    ) -> None:
        self._names = names
        self._open = open_device
        self._every = every
        self._countdown = 0
        self._devices: dict[str, Device] = {}

    def current(self) -> dict[str, Device]:
        """Return the devices by name; the same dictionary while the set is unchanged."""
        self._countdown -= 1
        if self._countdown < 0:
            self._countdown = self._every - 1
            names = list(self._names())
            if names != list(self._devices):
                known = self._devices
                self._devices = {name: known[name] if name in known else self._open(name) for name in names}
        return self._devices

    def request_scan(self) -> None:
        """Scan at the next reading, because a device has failed or none was found."""
        self._countdown = 0
