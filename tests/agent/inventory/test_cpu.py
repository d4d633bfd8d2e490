"""Tests of the processor inventory."""

from pathlib import Path

import pytest

from flyball_agent.inventory.cpu import read_cpu
from flyball_agent.probes.testing import write_tree

XEON = """\
processor	: 0
vendor_id	: GenuineIntel
model name	: Intel(R) Xeon(R) Platinum 8480C @ 2.00GHz
cpu MHz		: 3800.000
flags		: fpu avx2 avx512f amx_bf16 avx512_bf16

processor	: 1
vendor_id	: Other
"""
GRACE = "processor\t: 0\nFeatures\t: fp asimd sve sve2 bf16\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
CPUS = "devices/system/cpu"


def two_sockets() -> dict[str, str]:
    """Return two packages with two cores with two threads each. Both packages use the same core numbers."""
    files: dict[str, str] = {}
    for thread in range(8):
        package, core = thread % 2, thread // 2 % 2
        first = package + 2 * core
        files |= {
            f"{CPUS}/cpu{thread}/topology/physical_package_id": f"{package}\n",
            f"{CPUS}/cpu{thread}/topology/core_id": f"{core}\n",
            f"{CPUS}/cpu{thread}/topology/thread_siblings_list": f"{first},{first + 4}\n",
        }
    return files


def test_reads_a_server_of_two_sockets(tmp_path: Path) -> None:
    """Sockets, cores and threads are counted. Features are those that matter for training, in a fixed order."""
    clocks = {f"{CPUS}/cpu0/cpufreq/base_frequency": "2000000\n", f"{CPUS}/cpu0/cpufreq/cpuinfo_max_freq": "3800000\n"}
    root = write_tree(tmp_path, {"cpuinfo": XEON} | two_sockets() | clocks)
    cpu = read_cpu(root, root)
    assert (cpu.sockets, cpu.cores, cpu.threads) == (2, 4, 8)
    assert (cpu.base_hertz, cpu.max_hertz) == (2_000_000_000, 3_800_000_000)
    assert (cpu.vendor, cpu.model) == ("GenuineIntel", "Intel(R) Xeon(R) Platinum 8480C @ 2.00GHz")
    assert list(cpu.features) == ["avx2", "avx512f", "avx512_bf16", "amx_bf16"]


def test_reads_an_arm_server(tmp_path: Path) -> None:
    """On Arm there is no model name, but a vendor and features."""
    cpu = read_cpu(write_tree(tmp_path, {"cpuinfo": GRACE}), tmp_path)
    assert (cpu.vendor, list(cpu.features)) == ("Arm", ["asimd", "bf16", "sve", "sve2"])


@pytest.mark.parametrize(
    ("files", "hertz"),
    [
        ({"cpuinfo": XEON}, 2_000_000_000),
        ({"cpuinfo": "cpu MHz\t: 2596.098\n"}, 2_596_000_000),
        ({"cpuinfo": "cpu MHz\t: what\n"}, 0),
        ({"cpuinfo": "cpu MHz\t: 1200.0\n", f"{CPUS}/cpu0/cpufreq/scaling_cur_freq": "1"}, 0),
        ({f"{CPUS}/cpu0/acpi_cppc/nominal_freq": "3100\n"}, 3_100_000_000),
    ],
)
def test_the_base_clock_is_not_the_current_one(tmp_path: Path, files: dict[str, str], hertz: int) -> None:
    """The base clock comes from the firmware or the name; the measured one is used only if the clock is fixed."""
    assert read_cpu(write_tree(tmp_path, files), tmp_path).base_hertz == hertz


def test_unknown_fields_are_empty(tmp_path: Path) -> None:
    """Without files, all fields are empty."""
    assert read_cpu(tmp_path, tmp_path).ByteSize() == 0
