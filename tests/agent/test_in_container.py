"""Tests of the agent in a container: with `root` it reads the host, not the container."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.checklist import HOST_PROCESSES, Finding, check_surroundings
from flyball_agent.clock import KernelClock
from flyball_agent.command import main
from flyball_agent.host import host_name, inventory, new_epoch
from flyball_agent.probes.testing import write_tree
from flyball_agent.runs.tenancy_probe import tenancy_reader
from flyball_agent.settings import AgentSettings
from flyball_proto.v1 import telemetry_pb2 as pb

BOOT_ID = "6f2b1a7e-0000-4000-8000-00000000cafe"
HOST_FILES = {
    "etc/hostname": "# written by the installer\nnode-7\n",
    "etc/os-release": "->/usr/lib/os-release",
    "usr/lib/os-release": 'PRETTY_NAME="Host OS 1"\n',
    "etc/passwd": "ada:x:1234:100::/:/bin/sh\n",
    "dev/shm/batch": "",
    "data/set": "",
    "proc/stat": "cpu  5 0 5 90 0 0 0 0 0 0\ncpu0 5 0 5 90 0 0 0 0 0 0\nctxt 1\nbtime 1700000000\n",
    "proc/meminfo": "MemTotal: 1234567 kB\nMemAvailable: 1000000 kB\n",
    "proc/loadavg": "1.0 1.0 1.0 1/2 3\n",
    "proc/sys/kernel/osrelease": "6.6.6-host\n",
    "proc/sys/kernel/random/boot_id": f"{BOOT_ID}\n",
    "proc/1/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data ro - xfs /dev/sdb1 rw\n",
    "proc/1/cgroup": "0::/init.scope\n",
    "proc/77/status": "Name:\tpython\nUid:\t1234\t1234\t1234\t1234\n",
    "proc/77/cmdline": "python\0train.py\0",
    "proc/1/net/dev": "eth9: 11 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n",
    "proc/self/mountinfo": "1 0 0:50 / / rw - overlay overlay rw\n",
    "proc/self/cgroup": "0::/kubepods.slice/kubepods-pod1.slice/cri-1.scope\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "sys/fs/cgroup/init.scope/memory.current": "5\n",
    "sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/cri-1.scope/memory.current": "5\n",
    "sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/cri-1.scope/memory.max": "4096\n",
    "sys/class/net/eth9/speed": "100000\n",
    "sys/block/sda/size": "2048\n",
    "sys/block/sda/dev": "8:0\n",
    "sys/block/sda/sda1/partition": "1\n",
    "sys/block/sda/sda1/dev": "8:1\n",
}
WATCHED = ("/proc/", "/sys/", "/etc/", "/dev/", "/run/")
ALLOWED = ("/proc/self/statm", "/etc/localtime", "/etc/ld.so", "/proc/self/fd", "/etc/flyball/agent.toml", "/dev/null")
"""What the agent reads of its own container: its memory, its settings, and what Python and the loader need."""

AUDITED = """
import sys
opened = set()
def note(event, arguments):
    if event in {"open", "os.listdir", "os.scandir"} and isinstance(arguments[0], (str, bytes)):
        opened.add(str(arguments[0]))
from flyball_agent.command import main
from flyball_agent import checklist, snapshot, snapshot_output, settings_check
sys.addaudithook(note)
status = main(sys.argv[1:])
print("\\n".join(sorted(opened)), file=sys.stderr)
sys.exit(status)
"""


def in_host(tmp_path: Path, **more: Any) -> AgentSettings:
    return AgentSettings(root=str(write_tree(tmp_path / "host", HOST_FILES)), **more)


def readings(printed: str) -> dict[str, dict[str, float | None]]:
    """Return the values by metric and label values."""
    found: dict[str, dict[str, float | None]] = {}
    for probe in json.loads(printed)["probes"]:
        for reading in probe["readings"]:
            labels = "/".join(reading.get("labels", {}).values())
            found.setdefault(reading["metric"], {})[labels] = reading["value"]
    return found


def test_the_roots_follow_the_root() -> None:
    """procfs and sysfs are below the root unless they are set."""
    plain, inside = AgentSettings(), AgentSettings(root="/host/")
    assert (plain.proc_root, plain.sys_root) == ("/proc", "/sys")
    assert (inside.proc_root, inside.sys_root) == ("/host/proc", "/host/sys")
    assert AgentSettings(root="/host", proc_root="/p", sys_root="/s").proc_root == "/p"


def test_nothing_outside_of_the_root_is_read(tmp_path: Path) -> None:
    """`--once` reads procfs, sysfs and files of the host below the root, and none of the container's."""
    settings = in_host(tmp_path)
    arguments = ["--once", "--format", "json", "--set", f"root={settings.root}"]
    done = subprocess.run(
        [sys.executable, "-c", AUDITED, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    opened = done.stderr.splitlines()
    assert f"{settings.root}/proc/1/mountinfo" in opened
    strangers = [path for path in opened if path.startswith(WATCHED) and not path.startswith(ALLOWED)]
    assert strangers == []
    found = readings(done.stdout)
    assert json.loads(done.stdout)["host"] == "node-7"
    assert found["memory_total_bytes"] == {"": 1234567 * 1024}
    assert set(found["filesystem_total_bytes"]) == {"/", "/data"}
    assert found["filesystem_read_only"] == {"/": 0, "/data": 0}
    assert found["network_received_bytes_total"] == {"eth9": 11}
    assert (found["shared_memory_total_bytes"][""] or 0) > 0


def test_the_inventory_is_that_of_the_host(tmp_path: Path) -> None:
    """Name, system, kernel, boot and limits are those of the host; the container's limits are not."""
    settings = in_host(tmp_path)
    found = inventory(settings, [])
    assert (found.operating_system, found.kernel, found.boot_id) == ("Host OS 1", "6.6.6-host", BOOT_ID)
    assert (found.virtualization, found.limits.runtime, found.limits.memory_bytes) == ("", "", 0)
    assert found.memory_bytes == 1234567 * 1024
    assert {network.device for network in found.networks} == {"eth9"}
    assert [(disk.device, list(disk.mounts)) for disk in found.disks] == [("sda", ["/"])]
    assert new_epoch(settings, KernelClock()).boot_id == BOOT_ID


def test_users_are_those_of_the_host(tmp_path: Path) -> None:
    """The owner of a process on a GPU has the name that the host gives, not the container."""
    reader = tenancy_reader(in_host(tmp_path), "node-7", [])
    (member,) = reader.read([pb.GpuProcess(gpu="GPU-1", pid=77)], {}).members
    assert (member.user, member.command) == ("ada", "python train.py")


def test_the_name_of_the_host_comes_from_settings_or_the_host(tmp_path: Path) -> None:
    """The setting comes first; without /etc/hostname the system is asked."""
    settings = in_host(tmp_path)
    assert host_name(settings) == "node-7"
    assert host_name(AgentSettings(root=settings.root, host="gpu-1")) == "gpu-1"
    (Path(settings.root) / "etc/hostname").unlink()
    assert host_name(settings) == socket.gethostname()


def processes(root: Path, links: Mapping[str, str]) -> Finding:
    """Return the finding about process ids, given the namespaces of two processes."""
    write_tree(root, {f"proc/{name}/ns/pid": f"->{target}" for name, target in links.items()})
    findings = check_surroundings(AgentSettings(root=str(root), socket_path="", collector=()))
    return next(finding for finding in findings if finding.subject == "processes")


@pytest.mark.parametrize(
    ("links", "fine"),
    [
        ({"self": HOST_PROCESSES}, True),
        ({"self": "pid:[4026532999]", "1": "pid:[4026532999]"}, True),
        ({"self": "pid:[4026532999]", "1": HOST_PROCESSES}, False),
        ({"self": "pid:[4026532999]"}, False),
    ],
)
def test_the_check_reports_a_process_namespace(tmp_path: Path, links: dict[str, str], *, fine: bool) -> None:
    """Process ids are the host's in its first namespace, or where process 1 of the host has the same one."""
    finding = processes(tmp_path, links)
    assert finding.fine is fine
    assert ("hostPID: true" in finding.remedy) is not fine


def test_a_container_without_root_is_reported_too(tmp_path: Path) -> None:
    """Without `root`, process 1 of the container proves nothing."""
    write_tree(tmp_path, {"self/ns/pid": "->pid:[4026532999]", "1/ns/pid": "->pid:[4026532999]"})
    settings = AgentSettings(proc_root=str(tmp_path), socket_path="", collector=())
    (finding,) = [finding for finding in check_surroundings(settings) if finding.subject == "processes"]
    assert not finding.fine


@pytest.mark.parametrize(
    ("root", "problem"),
    [("host", "expected an absolute path, such as /host"), ("/nowhere", "there is no procfs at /nowhere/proc")],
)
def test_a_wrong_root_is_refused(root: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the host's procfs the agent would report the container as the host, so it does not start."""
    assert main(["--once", "--set", f"root={root}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"flyball-agent: root = '{root}': ")
    assert problem in line


CONTAINER = """
set -e
mount --make-rprivate /
mkdir -p "$1/host"
mount --rbind / "$1/host"
mount -t proc proc /proc
mount -t tmpfs -o size=8m tmpfs /dev/shm
mount -o remount,bind,ro "$1/host"
echo container > "$1/hostname"
mount --bind "$1/hostname" /etc/hostname
shift
exec "$@"
"""


def contained(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Run the agent in namespaces of its own, with the host's root mounted read-only below `host`."""
    command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", CONTAINER, "sh", str(tmp_path)]
    command += [sys.executable, "-m", "flyball_agent.command", *arguments, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def can_make_containers() -> bool:
    """Return True if this user may create the namespaces and mounts of a container."""
    try:
        trial = ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "proc", "proc", "/proc"]
        return subprocess.run(trial, capture_output=True, check=False, timeout=10).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not can_make_containers(), reason="creating mount and process namespaces needs root")
def test_in_a_real_container_the_host_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In namespaces of its own the agent shows the host's /dev/shm, file systems and name, and reports its own pids."""
    shm = os.statvfs("/dev/shm")  # noqa: S108  only read
    snapshot = contained(tmp_path, "--once", "--set", f"root={tmp_path}/host")
    found = readings(json.dumps(snapshot))
    assert found["shared_memory_total_bytes"][""] == shm.f_blocks * shm.f_frsize
    alone = readings(json.dumps(contained(tmp_path, "--once")))
    assert alone["shared_memory_total_bytes"][""] == 8 * 1024**2
    assert snapshot["host"] == Path("/etc/hostname").read_text(encoding="utf-8").strip()
    assert not any(mount.startswith(str(tmp_path)) for mount in found["filesystem_total_bytes"])
    assert main(["--once", "--format", "json"]) == 0
    here = readings(capsys.readouterr().out)
    assert found["filesystem_total_bytes"] == here["filesystem_total_bytes"]
    assert found["filesystem_read_only"] == here["filesystem_read_only"]
    checked = contained(tmp_path, "--check", "--set", f"root={tmp_path}/host", "--set", "collector=127.0.0.1:9")
    needs = {need["subject"]: need for need in checked["needs"]}
    assert not needs["processes"]["fine"]
    assert "hostPID" in needs["processes"]["remedy"]
