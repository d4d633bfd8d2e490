"""Devices that come and go: looked for now and then, kept open in between."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Device = TypeVar("Device")

RESCAN_EVERY = 30
"""Readings between two looks: a device that appears is seen half a minute later at 1 Hz; a look costs some 50 µs."""


class Devices(Generic[Device]):
    """What `names` lists, each opened once by `open_device`."""

    __slots__ = ("_countdown", "_devices", "_every", "_names", "_open")

    def __init__(
        self, names: Callable[[], Sequence[str]], open_device: Callable[[str], Device], every: int = RESCAN_EVERY
    ) -> None:
        self._names = names
        self._open = open_device
        self._every = every
        self._countdown = 0
        self._devices: dict[str, Device] = {}

    def found(self) -> dict[str, Device]:
        """The devices by name; the same dictionary while the set is unchanged."""
        self._countdown -= 1
        if self._countdown < 0:
            self._countdown = self._every - 1
            names = list(self._names())
            if names != list(self._devices):
                known = self._devices
                self._devices = {name: known[name] if name in known else self._open(name) for name in names}
        return self._devices

    def look_again(self) -> None:
        """Look at the next reading: one of them has failed, or there is none at all."""
        self._countdown = 0
