"""Tests of the InfiniBand probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.infiniband import FAST, ROCE, SLOW, STATES, InfinibandProbe, parse_rate, parse_state
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree


def port(device: str = "mlx5_0", number: int = 1) -> dict[str, str]:
    """Return one port with all counters; the i-th has the value i + 1."""
    folder = f"class/infiniband/{device}/ports/{number}"
    counters = {f"{folder}/counters/{name}": f"{i + 1}\n" for i, (name, _) in enumerate((*FAST, *SLOW))}
    congestion = {f"{folder}/hw_counters/{name}": "7\n" for name, _ in ROCE}
    return counters | congestion | {f"{folder}/state": "4: ACTIVE\n", f"{folder}/rate": "400 Gb/sec (4X NDR)\n"}


def test_reads_a_port(tmp_path: Path) -> None:
    """Data counters count words of four bytes."""
    sample = InfinibandProbe(write_tree(tmp_path, port())).read()
    values = values_by_name(sample)
    assert values["infiniband_sent_bytes_total", "mlx5_0", "1"] == 4
    assert values["infiniband_received_bytes_total", "mlx5_0", "1"] == 8
    assert values["infiniband_sent_packets_total", "mlx5_0", "1"] == 3
    assert values["infiniband_link_downs_total", "mlx5_0", "1"] == 10
    assert values["infiniband_congestion_sent_total", "mlx5_0", "1"] == 7
    assert values["infiniband_rate_bytes_per_second", "mlx5_0", "1"] == 50_000_000_000
    assert STATES[int(values["infiniband_state", "mlx5_0", "1"] or 0)] == "active"
    assert not sample.unavailable


def test_errors_are_read_less_often_than_traffic(tmp_path: Path) -> None:
    """Traffic is new at each reading, errors at every fifth."""
    probe = InfinibandProbe(write_tree(tmp_path, port()))
    probe.read()
    folder = "class/infiniband/mlx5_0/ports/1/counters"
    write_tree(tmp_path, {f"{folder}/port_xmit_data": "50\n", f"{folder}/link_downed": "99\n"})
    samples = [values_by_name(probe.read()) for _ in range(5)]
    assert samples[0]["infiniband_sent_bytes_total", "mlx5_0", "1"] == 200
    assert samples[0]["infiniband_link_downs_total", "mlx5_0", "1"] == 10
    assert samples[-1]["infiniband_link_downs_total", "mlx5_0", "1"] == 99


def test_missing_counters_have_a_reason(tmp_path: Path) -> None:
    """Counters with `N/A (no PMA)` or without a file are unknown, with a reason."""
    files = {k: v for k, v in port().items() if "hw_counters" not in k} | port("mlx5_1")
    files["class/infiniband/mlx5_1/ports/1/counters/symbol_error"] = "N/A (no PMA)\n"
    sample = InfinibandProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample)["infiniband_congestion_sent_total", "mlx5_0", "1"] is None
    assert values_by_name(sample)["infiniband_symbol_errors_total", "mlx5_1", "1"] is None
    assert not list(broken_rules(sample))
    assert {s.resource for s in sample.unavailable} == {"mlx5_0/1", "mlx5_1/1"}


def test_a_new_port_is_found_within_half_a_minute(tmp_path: Path) -> None:
    """The columns follow the ports."""
    probe = InfinibandProbe(write_tree(tmp_path, port()))
    first = probe.read()
    write_tree(tmp_path, port("mlx5_1"))
    samples = [probe.read() for _ in range(30)]
    assert samples[0].columns is first.columns
    assert len(samples[-1].columns) == 2 * len(first.columns)


def test_none_is_absent_until_there_is_one(tmp_path: Path) -> None:
    """Without an adapter the probe is absent, and the first adapter is found at once."""
    probe = InfinibandProbe(tmp_path)
    with pytest.raises(Absent):
        probe.read()
    write_tree(tmp_path, port())
    assert probe.read().columns


@pytest.mark.parametrize(
    ("text", "rate"), [(b"100 Gb/sec (4X EDR)\n", 12_500_000_000), (b"2.5 Gb/sec (1X SDR)\n", 312_500_000), (b"", None)]
)
def test_rates_are_bytes(text: bytes, rate: int | None) -> None:
    """Gb/sec means 10⁹ bits a second."""
    assert parse_rate(text) == rate


@given(st.binary(max_size=40))
def test_no_bytes_crash_the_parsers(data: bytes) -> None:
    """Any content gives a known state or None."""
    code = parse_state(data)
    assert code is None or STATES[code]
    assert parse_rate(data + b" Gb/sec") is None or b"Gb" in data + b" Gb/sec"


def test_full_counters_of_32_bits_are_unknown(tmp_path: Path) -> None:
    """A counter that stays at its largest value does not count any more: it is unknown, not constant."""
    folder = "class/infiniband/mlx5_0/ports/1/counters"
    files = port() | {f"{folder}/port_xmit_data": "4294967295\n", f"{folder}/port_rcv_data": "4294967296\n"}
    sample = InfinibandProbe(write_tree(tmp_path, files)).read()
    values = values_by_name(sample)
    assert values["infiniband_sent_bytes_total", "mlx5_0", "1"] is None
    assert values["infiniband_received_bytes_total", "mlx5_0", "1"] == 4 * 2**32
    assert "32-bit" in sample.unavailable[0].detail


def test_counters_of_64_bits_are_preferred(tmp_path: Path) -> None:
    """Old drivers have them in a folder of their own, beside those of 32 bits."""
    folder = "class/infiniband/mlx5_0/ports/1/counters_ext"
    files = port() | {f"{folder}/port_xmit_data_64": "4294967295\n", f"{folder}/port_rcv_packets_64": "77\n"}
    values = values_by_name(InfinibandProbe(write_tree(tmp_path, files)).read())
    assert values["infiniband_sent_bytes_total", "mlx5_0", "1"] == 4 * 4294967295
    assert values["infiniband_received_packets_total", "mlx5_0", "1"] == 77
    assert values["infiniband_sent_packets_total", "mlx5_0", "1"] == 3


def test_adapters_without_port_counters_have_others(tmp_path: Path) -> None:
    """The traffic of an EFA adapter is in its own counters, and in bytes."""
    folder = "class/infiniband/rdmap0/ports/1/hw_counters"
    files = {f"{folder}/tx_bytes": "1000\n", f"{folder}/rx_bytes": "2000\n", f"{folder}/tx_pkts": "3\n"}
    values = values_by_name(InfinibandProbe(write_tree(tmp_path, files)).read())
    assert values["infiniband_sent_bytes_total", "rdmap0", "1"] == 1000
    assert values["infiniband_received_bytes_total", "rdmap0", "1"] == 2000
    assert values["infiniband_sent_packets_total", "rdmap0", "1"] == 3


@pytest.mark.parametrize("text", [b"1e999 Gb/sec", b"-5 Gb/sec", b"nan Gb/sec", b"1e9 Gb/sec"])
def test_an_impossible_rate_is_unknown(text: bytes) -> None:
    """A rate that no adapter reaches is unknown."""
    assert parse_rate(text) is None
