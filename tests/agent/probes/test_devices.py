"""Devices are looked for now and then and opened once."""

from flyball_agent.probes.devices import Devices


def test_a_device_is_opened_once_and_dropped_when_it_goes() -> None:
    """What stays is not opened again, what comes is opened, what goes is forgotten."""
    present, opened = ["a", "b"], list[str]()

    def open_device(name: str) -> str:
        opened.append(name)
        return name.upper()

    devices = Devices(lambda: present, open_device, every=1)
    assert devices.found() == {"a": "A", "b": "B"}
    present = ["b", "c"]
    assert devices.found() == {"b": "B", "c": "C"}
    assert opened == ["a", "b", "c"]


def test_looks_only_now_and_then() -> None:
    """Between two looks the set is taken as it was, unless somebody asks."""
    looks = []

    def names() -> list[str]:
        looks.append(1)
        return ["a"]

    devices = Devices(names, str.upper, every=10)
    for _ in range(20):
        devices.found()
    assert len(looks) == 2
    devices.look_again()
    devices.found()
    assert len(looks) == 3
