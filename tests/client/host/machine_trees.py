"""Files of other machines as their kernels show them: a laptop, a server, and a container that sees nothing."""

from collections.abc import Mapping
from pathlib import Path
from struct import pack, pack_into

from flyball.host.places import HostPlaces
from flyball_agent.probes.testing import write_tree

LAPTOP_MOUNTS = """\
27 1 0:25 /root / rw - btrfs /dev/nvme0n1p3 rw,compress=zstd
28 27 259:1 / /boot rw - ext4 /dev/nvme0n1p1 rw
29 27 0:40 / /scratch rw - tmpfs tmpfs rw
30 27 0:41 / /mnt/data rw - nfs4 server:/data rw
"""

LAPTOP: Mapping[str, str] = {
    "proc/stat": "cpu 1 2 3 4\nbtime 1700000000\n",
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\n"
    "model name\t: AMD Ryzen 7 7840U w/ Radeon  780M Graphics\n"
    "flags\t\t: fpu sse avx avx2 f16c fma avx512f avx512_bf16\n\n",
    "proc/meminfo": "MemTotal:       32000000 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n",
    "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0 partition 8000000 1000 100\n"
    "/dev/nvme0n1p2 partition 4000000 0 -2\n/swap\\040file file 1000000 0 -3\n",
    "proc/self/mountinfo": LAPTOP_MOUNTS,
    "proc/1/mountinfo": LAPTOP_MOUNTS,
    "proc/sys/vm/swappiness": "60\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0-1\n",
    "sys/devices/system/cpu/cpu1/topology/physical_package_id": "0\n",
    "sys/devices/system/cpu/cpu1/topology/core_id": "0\n",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "0-1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "5132000\n",
    "sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
    "sys/devices/system/cpu/cpu0/cache/index0/size": "32K\n",
    "sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
    "sys/devices/system/cpu/cpu0/cache/index3/size": "16384K\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/AC/online": "0\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/class/power_supply/BAT0/status": "Discharging\n",
    "sys/class/power_supply/BAT0/capacity": "57\n",
    "sys/class/power_supply/hid-mouse/type": "Battery\n",
    "sys/class/power_supply/hid-mouse/scope": "Device\n",
    "sys/class/power_supply/hid-mouse/capacity": "5\n",
    "sys/block/nvme0n1/size": "2000000000\n",
    "sys/block/nvme0n1/dev": "259:0\n",
    "sys/block/nvme0n1/device/model": "Samsung 990\n",
    "sys/block/nvme0n1/nvme0n1p2/partition": "2\n",
    "sys/block/nvme0n1/nvme0n1p2/dev": "259:2\n",
    "sys/block/nvme0n1/nvme0n1p3/partition": "3\n",
    "sys/block/nvme0n1/nvme0n1p3/dev": "259:3\n",
    "sys/class/block/nvme0n1p2": "->../../block/nvme0n1/nvme0n1p2",
    "sys/class/block/nvme0n1p3": "->../../block/nvme0n1/nvme0n1p3",
    "sys/class/net/wlan0/type": "1\n",
    "sys/class/net/wlan0/wireless/x": "",
    "sys/class/net/eth0/type": "1\n",
    "sys/class/net/eth0/speed": "2500\n",
    "sys/class/net/eth0/mtu": "1500\n",
    "sys/class/net/eth0/device/vendor": "0x10ec\n",
    "sys/class/hwmon/hwmon0/name": "k10temp\n",
    "sys/class/hwmon/hwmon0/temp1_input": "71000\n",
    "sys/class/hwmon/hwmon0/temp1_label": "Tctl\n",
    "sys/class/hwmon/hwmon0/temp1_crit": "100000\n",
    "etc/os-release": 'PRETTY_NAME="Fedora Linux 41"\n',
    "etc/OpenCL/vendors/amd.icd": "libamdocl64.so\n",
}

SERVER_MOUNTS = """\
27 1 253:0 / / rw - xfs /dev/mapper/vg-root rw
28 27 9:0 / /raid rw - ext4 /dev/md0 rw
"""

SERVER: Mapping[str, str] = {
    "proc/stat": "cpu 1 2 3 4\nbtime 1700000000\n",
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n"
    "model name\t: Intel(R) Xeon(R) Platinum 8480+\nflags\t\t: avx avx2 avx512f amx_tile amx_bf16\n\n",
    "proc/meminfo": "MemTotal:       1056000000 kB\nMemAvailable:   1000000000 kB\n",
    "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/dev/dm-1 partition 8000000 0 -2\n",
    "proc/self/mountinfo": SERVER_MOUNTS,
    "proc/1/mountinfo": SERVER_MOUNTS,
    "sys/class/powercap/intel-rapl:0/name": "package-0\n",
    "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw": "350000000\n",
    "sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw": "350000000\n",
    "sys/class/powercap/intel-rapl:1/name": "package-1\n",
    "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw": "4095875000\n",
    "sys/class/powercap/intel-rapl:1/constraint_0_max_power_uw": "350000000\n",
    "sys/class/powercap/intel-rapl:0:0/name": "dram\n",
    "sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw": "40000000\n",
    "sys/class/hwmon/hwmon1/name": "power_meter\n",
    "sys/class/hwmon/hwmon1/power1_average": "2345000000\n",
    "sys/devices/system/edac/mc/mc0/ce_count": "3\n",
    "sys/devices/system/edac/mc/mc0/ue_count": "0\n",
    "sys/devices/system/edac/mc/mc0/dimm0/size": "65536\n",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_mem_type": "Registered-DDR5\n",
    "sys/devices/system/edac/mc/mc0/dimm0/dimm_edac_mode": "S4ECD4ED\n",
    "sys/devices/system/edac/mc/mc0/dimm1/size": "0\n",
    "sys/devices/system/edac/mc/mc1/ce_count": "1\n",
    "sys/devices/system/edac/mc/mc1/ue_count": "0\n",
    "sys/block/sda/size": "4000\n",
    "sys/block/sda/dev": "8:0\n",
    "sys/block/sda/device/model": "ST4000\n",
    "sys/block/sda/queue/rotational": "1\n",
    "sys/block/sda/sda2/partition": "2\n",
    "sys/block/nvme1n1/size": "4000\n",
    "sys/block/nvme1n1/dev": "259:5\n",
    "sys/block/nvme1n1/device/model": "PM1733\n",
    "sys/block/dm-0/size": "4000\n",
    "sys/block/dm-0/dev": "253:0\n",
    "sys/block/dm-0/slaves/sda2": "->../../sda/sda2",
    "sys/block/dm-1/size": "4000\n",
    "sys/block/dm-1/slaves/sda2": "->../../sda/sda2",
    "sys/block/md0/size": "4000\n",
    "sys/block/md0/slaves/nvme1n1": "->../../nvme1n1",
    "sys/class/block/dm-1": "->../../block/dm-1",
    "sys/dev/block/253:0": "->../../block/dm-0",
    "sys/dev/block/9:0": "->../../block/md0",
    "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
    "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
}


def places_of(folder: Path, files: Mapping[str, str], *, work: str = "/") -> HostPlaces:
    """Write the files of a machine and return where they are."""
    write_tree(folder, files)
    for name in ("proc", "sys", "dev"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return HostPlaces(
        proc=folder / "proc",
        sys=folder / "sys",
        root=folder,
        folder=Path(work),
        nvml_library=str(folder / "no-such-library.so"),
        this_machine=False,
    )


def memory_device(
    *, size: int = 0x7FFF, kind: int = 0x22, speed: int = 5600, used: int = 4800, total: int = 80, width: int = 64
) -> bytes:
    """Return a structure of type 17 of SMBIOS 3.3, with its strings."""
    data = bytearray(0x5C)
    pack_into("<BBH", data, 0, 17, len(data), 0x1100)
    pack_into("<HHH", data, 0x08, total, width, size)
    data[0x12] = kind
    pack_into("<H", data, 0x15, speed)
    pack_into("<H", data, 0x20, used)
    return bytes(data) + b"DIMM A1\0Samsung\0\0"


def power_supply(watts: int, *, present: bool = True) -> bytes:
    """Return a structure of type 39, without strings."""
    traits = 0b10 if present else 0
    return pack("<BBH8xHH6x", 39, 0x16, 0x2700, watts, traits) + b"\0\0"
