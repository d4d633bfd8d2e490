"""Tests of the network link probe."""

from pathlib import Path

import pytest

from flyball_agent.probes.network_link import NetworkLinkProbe
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree


def link(name: str, speed: str, carrier: str) -> dict[str, str]:
    """Return one interface in sysfs."""
    folder = f"class/net/{name}"
    return {f"{folder}/speed": speed, f"{folder}/carrier": carrier, f"{folder}/carrier_changes": "3\n"}


def test_reads_speed_in_bytes(tmp_path: Path) -> None:
    """100 Gbit/s is 12.5 GB/s."""
    sample = NetworkLinkProbe(write_tree(tmp_path, link("eth0", "100000\n", "1\n"))).read()
    assert list(sample.values) == [12_500_000_000, 1, 3]


@pytest.mark.parametrize("speed", ["-1\n", "4294967295\n", "0\n", "what\n"])
def test_an_unknown_speed_is_unknown(tmp_path: Path, speed: str) -> None:
    """Drivers report an unknown speed as −1 or 2³²−1."""
    sample = NetworkLinkProbe(write_tree(tmp_path, link("eth0", speed, "0\n") | link("lo", "1\n", "1\n"))).read()
    assert values_by_name(sample)["network_speed_bytes_per_second", "eth0"] is None
    assert not list(broken_rules(sample))


def test_interfaces_come_and_go(tmp_path: Path) -> None:
    """A new interface is found at the next reading."""
    probe = NetworkLinkProbe(write_tree(tmp_path, link("eth0", "1000\n", "1\n")))
    first = probe.read()
    assert probe.read().columns is first.columns
    write_tree(tmp_path, link("eth1", "1000\n", "1\n"))
    assert len(probe.read().columns) == 2 * len(first.columns)


def test_none_is_absent(tmp_path: Path) -> None:
    """Without an interface the probe is absent."""
    with pytest.raises(Absent):
        NetworkLinkProbe(tmp_path).read()


def bond(names: str, states: dict[str, str]) -> dict[str, str]:
    """Return a bond and the states of its links."""
    files = link("bond0", "200000\n", "1\n") | {"class/net/bond0/bonding/slaves": f"{names}\n"}
    for name, state in states.items():
        files |= link(name, "100000\n", "1\n") | {f"class/net/{name}/bonding_slave/mii_status": f"{state}\n"}
    return files


def test_a_bond_reports_its_links(tmp_path: Path) -> None:
    """A link of a bond is up if the bond's monitor reports it as up."""
    files = bond("eth0 eth1", {"eth0": "up", "eth1": "down"})
    values = values_by_name(NetworkLinkProbe(write_tree(tmp_path, files)).read())
    assert values["network_bond_links", "bond0"] == 2
    assert values["network_bond_links_up", "bond0"] == 1
    assert ("network_bond_links", "eth0") not in values


def test_the_state_of_the_interface_serves_without_the_monitor(tmp_path: Path) -> None:
    """Kernels before 3.14 have no state of the monitor: the state of the interface is used."""
    files = bond("eth0", {}) | {"class/net/eth0/operstate": "up\n"}
    values = values_by_name(NetworkLinkProbe(write_tree(tmp_path, files)).read())
    assert values["network_bond_links_up", "bond0"] == 1


def test_a_link_without_a_state_makes_the_number_unknown(tmp_path: Path) -> None:
    """A link whose state cannot be read is not counted as down."""
    sample = NetworkLinkProbe(write_tree(tmp_path, bond("eth0 gone", {"eth0": "up"}))).read()
    assert values_by_name(sample)["network_bond_links_up", "bond0"] is None
    assert not list(broken_rules(sample))


def test_an_empty_bond_has_no_links(tmp_path: Path) -> None:
    """A bond without links has 0 links, which is known and not unknown."""
    values = values_by_name(NetworkLinkProbe(write_tree(tmp_path, bond("", {}))).read())
    assert (values["network_bond_links", "bond0"], values["network_bond_links_up", "bond0"]) == (0, 0)
