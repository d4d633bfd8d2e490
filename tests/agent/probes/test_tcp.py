"""Tests of the TCP probe."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.tcp import TcpProbe, parse_tcp
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoMin MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs
Tcp: 200 -1 10 20 3 4 50 600 700 8
Udp: InDatagrams
Udp: 1
"""


def test_reads_values_under_their_names(tmp_path: Path) -> None:
    """Values are found by the names of their columns, in any order."""
    sample = TcpProbe(write_tree(tmp_path, {"net/snmp": SNMP})).read()
    assert values_by_name(sample) == {
        ("tcp_connections",): 50,
        ("tcp_opened_total",): 10,
        ("tcp_accepted_total",): 20,
        ("tcp_failed_total",): 3,
        ("tcp_reset_total",): 4,
        ("tcp_sent_segments_total",): 700,
        ("tcp_retransmitted_segments_total",): 8,
    }
    assert not sample.unavailable


def test_missing_counters_have_a_reason(tmp_path: Path) -> None:
    """A missing or invalid column is unknown, with a reason."""
    sample = TcpProbe(write_tree(tmp_path, {"net/snmp": "Tcp: CurrEstab OutSegs\nTcp: x 7\n"})).read()
    assert values_by_name(sample)["tcp_sent_segments_total",] == 7
    assert values_by_name(sample)["tcp_connections",] is None
    assert not list(broken_rules(sample))


@pytest.mark.parametrize("text", ["", "Tcp: a b\n", "Tcp: a\nUdp: b\n", "Udp: a\nUdp: 1\n"])
def test_a_file_without_tcp_is_rejected(tmp_path: Path, text: str) -> None:
    """A file with other content is a failure with a reason."""
    with pytest.raises(Unavailable, match="TCP"):
        TcpProbe(write_tree(tmp_path, {"net/snmp": text})).read()


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """Any content gives names with values, or `Unavailable`."""
    with contextlib.suppress(Unavailable):
        assert isinstance(parse_tcp(b"\nTcp: " + data), dict)
