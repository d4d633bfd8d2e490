"""Tests of the pressure probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.pressure import REMEDY, PressureProbe, parse_pressure
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

SOME = "some avg10=1.25 avg60=0.40 avg300=0.10 total=41423526\n"
FULL = "full avg10=0.50 avg60=0.00 avg300=0.00 total=7000000\n"


def test_reads_ratio_and_seconds() -> None:
    """Percent becomes a ratio, microseconds become seconds."""
    assert parse_pressure((SOME + FULL).encode()) == [0.0125, 41.423526, 0.005, 7.0]


def test_an_older_kernel_has_no_full_cpu_pressure(tmp_path: Path) -> None:
    """Before Linux 5.13 the CPU has only "some"; "full" is unknown, with a reason."""
    files = {"pressure/cpu": SOME, "pressure/memory": SOME + FULL, "pressure/io": SOME + FULL}
    sample = PressureProbe(write_tree(tmp_path, files)).read()
    values = values_by_name(sample)
    assert values["pressure_ratio", "cpu", "some"] == 0.0125
    assert values["pressure_ratio", "cpu", "full"] is None
    assert values["pressure_seconds_total", "io", "full"] == 7.0
    assert not list(broken_rules(sample))


def test_without_psi_the_remedy_is_a_boot_option(tmp_path: Path) -> None:
    """On a kernel without PSI the probe is absent, and the remedy is the boot option."""
    with pytest.raises(Absent) as caught:
        PressureProbe(tmp_path).read()
    assert caught.value.remedy == REMEDY
    assert "psi=1" in REMEDY


@given(st.binary(max_size=120))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """Any content gives four values or None, and ratios are between 0 and 1."""
    for prefix in (b"", b"some avg10=", b"some avg10=1 total="):
        ratio, _, full, _ = parse_pressure(prefix + data)
        assert all(value is None or 0 <= value <= 1 for value in (ratio, full))
