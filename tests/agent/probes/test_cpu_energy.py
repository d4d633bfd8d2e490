"""Tests of the CPU energy probe."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.cpu_energy import CpuEnergyProbe, new_total
from flyball_agent.probes.probe import Absent, Denied
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

NOBODY_UID = 65534
TREE = {
    "class/powercap/intel-rapl/uevent": "",
    "class/powercap/intel-rapl:0/name": "package-0\n",
    "class/powercap/intel-rapl:0/energy_uj": "5000000\n",
    "class/powercap/intel-rapl:0/max_energy_range_uj": "10000000\n",
    "class/powercap/intel-rapl:0/constraint_0_power_limit_uw": "250000000\n",
    "class/powercap/intel-rapl:0:1/name": "dram\n",
    "class/powercap/intel-rapl:0:1/energy_uj": "1500\n",
    "class/powercap/intel-rapl:0:1/max_energy_range_uj": "10000000\n",
    "class/powercap/intel-rapl-mmio:0/name": "package-0\n",
    "class/powercap/intel-rapl-mmio:0/energy_uj": "1\n",
}


def test_reads_joules_of_each_domain(tmp_path: Path) -> None:
    """Subdomains are named with their package. A second interface to the same package is not counted again."""
    sample = CpuEnergyProbe(write_tree(tmp_path, TREE)).read()
    values = values_by_name(sample)
    assert values["cpu_energy_joules_total", "package-0"] == 5.0
    assert values["cpu_energy_joules_total", "package-0/dram"] == 0.0015
    assert values["cpu_power_limit_watts", "package-0"] == 250.0
    assert values["cpu_power_limit_watts", "package-0/dram"] is None
    assert len(sample.columns) == 4
    assert not list(broken_rules(sample))


def test_energy_continues_after_a_wrap(tmp_path: Path) -> None:
    """The counter continues when the hardware counter wraps."""
    probe = CpuEnergyProbe(write_tree(tmp_path, TREE))
    seen = []
    for microjoules in (9_000_000, 1_000_000, 4_000_000):
        write_tree(tmp_path, {"class/powercap/intel-rapl:0/energy_uj": f"{microjoules}\n"})
        seen.append(values_by_name(probe.read())["cpu_energy_joules_total", "package-0"])
    assert seen == [9.0, 11.0, 14.0]


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.data())
def test_energy_never_falls(total: int, wraps_at: int, data: st.DataObject) -> None:
    """For any two readings within the range, the total does not fall."""
    before, now = data.draw(st.integers(0, wraps_at)), data.draw(st.integers(0, wraps_at))
    after = new_total(total, before, now, wraps_at)
    assert after is not None
    assert total <= after <= total + wraps_at


def test_a_wrap_of_unknown_range_is_unknown() -> None:
    """Without the range of the counter, the total after a wrap is unknown."""
    assert new_total(10, 5, 4, None) is None
    assert new_total(10, 5, 6, None) == 11


def test_permission_denied_names_the_remedy() -> None:
    """Without permission the reading is denied, with a remedy."""
    with tempfile.TemporaryDirectory() as folder:
        root = write_tree(Path(folder), TREE)
        root.chmod(0o755)
        (root / "class/powercap/intel-rapl:0/energy_uj").chmod(0o200)
        probe, before = CpuEnergyProbe(root), os.geteuid()
        if before == 0:
            os.seteuid(NOBODY_UID)
        try:
            with pytest.raises(Denied) as caught:
                probe.read()
        finally:
            if before == 0:
                os.seteuid(before)
    assert "CAP_DAC_READ_SEARCH" in caught.value.remedy


def test_none_is_absent(tmp_path: Path) -> None:
    """A virtual machine has no power domains, so the probe is absent."""
    with pytest.raises(Absent):
        CpuEnergyProbe(tmp_path).read()


def test_zones_of_the_same_name_have_different_labels(tmp_path: Path) -> None:
    """Two zones with one name keep separate columns: their folders follow the name."""
    files = {f"class/powercap/intel-rapl:{n}/name": "psys\n" for n in range(2)}
    files |= {f"class/powercap/intel-rapl:{n}/energy_uj": f"{n}000000\n" for n in range(2)}
    values = values_by_name(CpuEnergyProbe(write_tree(tmp_path, files)).read())
    assert values["cpu_energy_joules_total", "psys intel-rapl:0"] == 0
    assert values["cpu_energy_joules_total", "psys intel-rapl:1"] == 1
