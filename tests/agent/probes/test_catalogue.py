"""Tests of the list of host probes."""

import contextlib
import shutil
from pathlib import Path

import msgspec
import pytest

from flyball_agent.probes.catalogue import build_host_probes, linux_probes
from flyball_agent.probes.devices import RESCAN_EVERY
from flyball_agent.probes.probe import Absent, Probe, Unavailable
from flyball_agent.probes.round_trip import BadTarget
from flyball_agent.probes.testing import broken_rules, write_tree
from flyball_agent.settings import AgentSettings, ProbeSettings
from flyball_proto.layout import Layout

PROBES = build_host_probes(AgentSettings())
DEVICES = ("nvme_health",)
"""Probes that ask devices, and not for files below a root."""


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_reads_this_host(probe: Probe) -> None:
    """On this host each probe returns two valid samples of its declared metrics, or a reason."""
    try:
        first, second = probe.read(), probe.read()
    except Unavailable:
        return
    for sample in (first, second):
        assert not list(broken_rules(sample))
        assert {column.metric for column in sample.columns} <= set(probe.metrics)
        assert {missing.probe for missing in sample.unavailable} <= {probe.name}
    assert second.columns is first.columns


@pytest.mark.parametrize(
    "probe", linux_probes(AgentSettings(proc_root="/nowhere", sys_root="/nowhere")), ids=lambda p: p.name
)
def test_a_host_without_procfs_is_not_fatal(probe: Probe) -> None:
    """If nothing can be read, each probe raises a reason and none fails."""
    with contextlib.suppress(Unavailable):
        assert not list(broken_rules(probe.read()))


def test_names_are_unique() -> None:
    """No two probes have the same name, and no metric has two probes."""
    names = [probe.name for probe in PROBES]
    metrics = [metric.name for probe in PROBES for metric in probe.metrics]
    assert len(names) == len(set(names))
    assert len(metrics) == len(set(metrics))


def test_counters_end_in_total() -> None:
    """All counters end in `_total`, and no other metric does, except totals in bytes."""
    for probe in PROBES:
        for metric in probe.metrics:
            assert metric.name.endswith("_total") == (metric.kind == 1), metric.name
            assert metric.help.endswith("."), metric.name


def test_disabled_probes_are_left_out() -> None:
    """Probes that the settings disable are not built."""
    settings = AgentSettings(probes=ProbeSettings(disabled=("disk", "latency")))
    assert {probe.name for probe in PROBES} - {probe.name for probe in build_host_probes(settings)} == {
        "disk",
        "latency",
    }


def test_a_bad_latency_target_is_refused_at_start() -> None:
    """A wrong latency target is an error at start."""
    settings = msgspec.structs.replace(AgentSettings(), probes=ProbeSettings(latency_targets=("nonsense",)))
    with pytest.raises(BadTarget, match="nonsense"):
        build_host_probes(settings)


def test_roots_are_used(tmp_path: Path) -> None:
    """With other roots nothing of this host is read, except by probes that do not use a root."""
    probes = linux_probes(AgentSettings(proc_root=str(tmp_path), sys_root=str(tmp_path)))
    reading = set()
    for probe in probes:
        try:
            probe.read()
            reading.add(probe.name)
        except Unavailable:
            continue
    assert reading <= {"shared_memory", "latency", "clock_sync"}


def server(cores: int = 64) -> dict[str, str]:
    """Return a simulated training host: 64 cores, two nodes, two adapters, sensors, power domains, a container."""
    cpu = "5 0 5 90 0 0 0 0 0 0\n"
    files = {
        "stat": f"cpu  {cpu}" + "".join(f"cpu{i} {cpu}" for i in range(cores)) + "intr 1\nctxt 1\n",
        "loadavg": "60.1 50.2 40.3 1/2 3\n",
        "meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n",
        "vmstat": "pswpin 1\noom_kill 0\n",
        "diskstats": "".join(f" 259 {i} nvme{i}n1 1 0 8 1 1 0 8 1 0 1 1\n" for i in range(8)),
        "net/dev": "eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n",
        "net/snmp": "Tcp: CurrEstab\nTcp: 5\n",
        "self/cgroup": "0::/\n",
        "self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/nvme0n1p1 rw\n",
        "fs/cgroup/cgroup.controllers": "cpu memory\n",
        "fs/cgroup/memory.current": "5\n",
        "fs/cgroup/memory.max": "10\n",
        "class/net/eth0/speed": "100000\n",
        "class/hwmon/hwmon0/name": "k10temp\n",
        "class/hwmon/hwmon0/temp1_input": "55000\n",
        "class/powercap/intel-rapl:0/name": "package-0\n",
        "class/powercap/intel-rapl:0/energy_uj": "7\n",
    }
    files |= {
        "net/softnet_stat": "10 0 0\n",
        "sys/fs/file-nr": "9 0 100\n",
        "self/mountstats": "device a:/b mounted on /b with fstype nfs4 statvers=1.1\n\tbytes:\t1 2 3 4 5 6\n",
        "fs/lustre/llite/scratch-ff/stats": "snapshot_time 1.0 secs.nsecs\nopen 3 samples [reqs]\n",
        "mdstat": "md0 : active raid1 sda1[0] sdb1[1]\n      9 blocks [2/2] [UU]\n",
        "class/nvme/nvme0/state": "live\n",
        "devices/system/edac/mc/mc0/ce_count": "0\n",
        "devices/system/edac/mc/mc0/ue_count": "0\n",
    }
    files |= {
        "700/stat": "700 (python) S 1 1 1 0 -1 0 0 0 0 0 90000 0 0 0 20 0 1 0 500 0\n",
        "700/maps": "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/python3/torch/lib/libtorch_cpu.so\n",
        "700/schedstat": "900000000000 1000000 5\n",
        "700/wchan": "io_schedule",
        "700/io": "read_bytes: 5\n",
    }
    files |= {f"pressure/{name}": "some avg10=1.00 avg60=0 avg300=0 total=5\n" for name in ("cpu", "memory", "io")}
    files |= {f"devices/system/cpu/cpu{i}/cpufreq/scaling_cur_freq": "2000000\n" for i in range(cores)}
    files |= {f"devices/system/node/node{i}/numastat": "numa_hit 1\n" for i in range(2)}
    files |= {f"class/infiniband/mlx5_{i}/ports/1/counters/port_xmit_data": "1\n" for i in range(2)}
    return files


def test_every_probe_reads_a_full_server(tmp_path: Path) -> None:
    """On a host with all hardware every probe returns a sample, and all columns together form a valid layout."""
    root = str(write_tree(tmp_path, server()))
    settings = AgentSettings(proc_root=root, sys_root=root, probes=ProbeSettings(disabled=DEVICES))
    samples = {probe.name: probe.read() for probe in build_host_probes(settings)}
    assert set(samples) == {probe.name for probe in PROBES} - set(DEVICES)
    for name, sample in samples.items():
        assert not list(broken_rules(sample)), name
    columns = tuple(column for sample in samples.values() for column in sample.columns)
    assert len(set(columns)) == len(columns)
    assert Layout.parse(Layout(columns).body).columns == columns


def test_removed_hardware_loses_its_columns(tmp_path: Path) -> None:
    """Half a minute after adapters, sensors, power domains and a node are removed, their columns are gone."""
    root = str(write_tree(tmp_path, server(2)))
    settings = AgentSettings(proc_root=root, sys_root=root, probes=ProbeSettings(disabled=DEVICES))
    probes = {probe.name: probe for probe in build_host_probes(settings)}
    for probe in probes.values():
        probe.read()
    for folder in ("class/infiniband", "class/hwmon", "class/powercap", "devices/system/node/node1"):
        shutil.rmtree(tmp_path / folder)
    for _ in range(RESCAN_EVERY):
        for probe in probes.values():
            with contextlib.suppress(Unavailable):
                assert not list(broken_rules(probe.read()))
    for name in ("infiniband", "temperature", "cpu_energy"):
        with pytest.raises(Absent):
            probes[name].read()
    assert {column.labels for column in probes["numa"].read().columns} == {("0",)}
