"""Network interfaces."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.network import METRICS, NetworkProbe, interface_values, is_watched, parse_net_dev
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_laws, values_by_name, write_tree

HEAD = """\
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
"""
LO = "    lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
ETH = "  eth0:1000 10 1 2 3 4 5 6 2000 20 7 8 9 10 11 12\n"
VETH = "veth12: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
IB = "  ib0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"


def test_reads_both_ways(tmp_path: Path) -> None:
    """Bytes, packets, errors and drops, received and sent; loopback and virtual ends are left out."""
    sample = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + LO + ETH + VETH})).read()
    assert [column.labels for column in sample.columns] == [("eth0",)] * 8
    assert list(sample.values) == [1000, 10, 1, 2, 2000, 20, 7, 8]
    assert [column.metric for column in sample.columns] == list(METRICS)
    assert not sample.unavailable


def test_interfaces_come_and_go(tmp_path: Path) -> None:
    """Columns follow the interfaces and keep their identity in between."""
    probe = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + ETH}))
    first = probe.read()
    assert probe.read().columns is first.columns
    write_tree(tmp_path, {"net/dev": HEAD + ETH + IB})
    assert ("network_sent_bytes_total", "ib0") in values_by_name(probe.read())
    write_tree(tmp_path, {"net/dev": HEAD + IB})
    assert ("network_sent_bytes_total", "eth0") not in values_by_name(probe.read())


def test_a_line_of_garbage_is_unknown(tmp_path: Path) -> None:
    """What does not parse has no value but a reason."""
    sample = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + ETH + IB.replace("1 2 3", "1 x 3")})).read()
    assert values_by_name(sample)["network_received_bytes_total", "ib0"] is None
    assert values_by_name(sample)["network_received_bytes_total", "eth0"] == 1000
    assert not list(broken_laws(sample))


def test_only_loopback_is_no_network(tmp_path: Path) -> None:
    """Absent, not zero."""
    with pytest.raises(Absent):
        NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + LO})).read()


def test_a_containers_agent_watches_the_hosts_network(tmp_path: Path) -> None:
    """With the host's procfs mounted elsewhere, its first process shows the host's interfaces."""
    probe = NetworkProbe(write_tree(tmp_path, {"net/dev": HEAD + ETH, "1/net/dev": HEAD + IB}))
    assert {column.labels for column in probe.read().columns} == {("ib0",)}


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("eth0", True),
        ("enp1s0f0", True),
        ("ib0", True),
        ("bond0", True),
        ("lo", False),
        ("veth0a", False),
        ("docker0", False),
    ],
)
def test_virtual_ends_are_left_out(name: str, watched: bool) -> None:
    """Traffic is counted once."""
    assert is_watched(name) is watched


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """Whatever a line holds, each metric has a value or None."""
    for _, fields in parse_net_dev(data + b"\nx:" + data + b" 1" * 12):
        assert len(interface_values(fields)) == len(METRICS)
