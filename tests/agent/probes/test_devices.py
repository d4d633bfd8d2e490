"""Tests of device lists, which are refreshed at intervals and open each device once."""

from flyball_agent.probes.devices import Devices


def test_a_device_is_opened_once_and_dropped_when_it_goes() -> None:
    """A device that stays is not opened again, a new one is opened, a removed one is forgotten."""
    present, opened = ["a", "b"], list[str]()

    def open_device(name: str) -> str:
        opened.append(name)
        return name.upper()

    devices = Devices(lambda: present, open_device, every=1)
    assert devices.current() == {"a": "A", "b": "B"}
    present = ["b", "c"]
    assert devices.current() == {"b": "B", "c": "C"}
    assert opened == ["a", "b", "c"]


def test_scans_only_at_intervals() -> None:
    """Between two scans the devices stay the same, unless a scan is requested."""
    looks = []

    def names() -> list[str]:
        looks.append(1)
        return ["a"]

    devices = Devices(names, str.upper, every=10)
    for _ in range(20):
        devices.current()
    assert len(looks) == 2
    devices.request_scan()
    devices.current()
    assert len(looks) == 3
