"""Traffic, round trips and retransmissions of NFS mounts, from `/proc/self/mountstats` and `/proc/net/rpc/nfs`."""

import re
from collections.abc import Mapping, Sequence
from itertools import starmap
from pathlib import Path

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, count, counts, read_text
from flyball_agent.probes.mounts import parse_mountinfo, unescaped
from flyball_agent.probes.network import net_folder
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter

MAX_MOUNTS = 16
"""Maximum number of NFS mounts watched on one host: each has 23 columns."""
MILLI = 1000
NAMES = {b"READ": "read", b"READ_PLUS": "read", b"WRITE": "write"}
OPERATIONS = ("read", "write", "other")

_MOUNT = ("mount",)
_OPERATION = ("mount", "operation")
HOST = (
    counter("nfs_calls_total", "calls", "Remote procedure calls (RPC) of this host to NFS servers."),
    counter("nfs_retransmissions_total", "calls", "Calls sent again because no response arrived in time."),
)
MOUNT = (
    counter("nfs_read_bytes_total", "bytes", "Bytes that processes read, including those from the page cache.", _MOUNT),
    counter("nfs_written_bytes_total", "bytes", "Bytes that processes wrote.", _MOUNT),
    counter("nfs_received_bytes_total", "bytes", "Bytes read from the server.", _MOUNT),
    counter("nfs_sent_bytes_total", "bytes", "Bytes written to the server.", _MOUNT),
    counter("nfs_connects_total", "connections", "Connections to the server, including reconnections.", _MOUNT),
)
OPERATION = (
    counter(
        "nfs_operations_total",
        "operations",
        "Completed operations: read, write, and other (look-ups, attributes, opens, commits).",
        _OPERATION,
    ),
    counter(
        "nfs_transmissions_total",
        "requests",
        "Requests sent. More than flyball_nfs_operations_total: some were sent again.",
        _OPERATION,
    ),
    counter("nfs_timeouts_total", "timeouts", "Requests whose response did not arrive in time.", _OPERATION),
    counter(
        "nfs_round_trip_seconds_total",
        "seconds",
        "Total time from sending requests to their responses. Divided by operations: mean round-trip time.",
        _OPERATION,
        MILLI,
    ),
    counter(
        "nfs_operation_seconds_total",
        "seconds",
        "Total time of operations, including waiting in the client's queue.",
        _OPERATION,
        MILLI,
    ),
    counter("nfs_errors_total", "operations", "Operations that ended with an error.", _OPERATION),
)
_FIELDS = (0, 1, 2, 6, 7, 8)
"""Positions of the values of `OPERATION` in a line. The rest are bytes and the time in the queue."""

_HEAD = re.compile(rb"^device (.*) mounted on (\S+) with fstype nfs4? statvers=[^\n]*\n", re.MULTILINE)
_NEXT = re.compile(rb"^(?:no )?device ", re.MULTILINE)
_UNKNOWN: tuple[Value, ...] = (None,) * len(OPERATION)
_CONNECTED = {b"tcp", b"rdma"}


def parse_mountstats(data: bytes) -> dict[str, tuple[str, bytes]]:
    """Return source and statistics of each NFS mount, by path. Of mounts on the same path only the last is visible."""
    mounts = {}
    for head in _HEAD.finditer(data):
        end = _NEXT.search(data, head.end())
        path = unescaped(head[2].decode(errors="replace"))
        mounts[path] = (head[1].decode(errors="replace"), data[head.end() : end.start() if end else len(data)])
    return mounts


def distinct(mounts: Mapping[str, tuple[str, bytes]], devices: Mapping[str, str]) -> list[str]:
    """Return the shortest path of each file system. Bind mounts list it several times with the same statistics."""
    chosen: dict[str, str] = {}
    for path in sorted(mounts, key=lambda path: (len(path), path)):
        chosen.setdefault(devices.get(path) or mounts[path][0], path)
    return sorted(chosen.values())[:MAX_MOUNTS]


def mount_values(statistics: bytes) -> list[Value]:
    """Parse the values of `MOUNT` and then, for each of `OPERATIONS`, those of `OPERATION`.

    The kernel writes the fields in `net/sunrpc/stats.c` and `fs/nfs/super.c`.
    """
    sums: dict[str, list[Value]] = {}
    head, _, operations = statistics.partition(b"per-op statistics\n")
    for line in operations.splitlines():
        name, colon, rest = line.partition(b":")
        if colon:
            group, found = NAMES.get(name.strip(), "other"), _operation(rest.split())
            sums[group] = list(starmap(_sum, zip(sums[group], found, strict=True))) if group in sums else found
    values = [*_bytes(head), _connects(head)]
    for group in OPERATIONS:
        values += _seconds(sums.get(group, _UNKNOWN))
    return values


def _operation(fields: Sequence[bytes]) -> list[Value]:
    return [count(fields[index]) if index < len(fields) else None for index in _FIELDS]


def _sum(total: Value, value: Value) -> Value:
    return None if total is None or value is None else total + value


def _seconds(values: Sequence[Value]) -> list[Value]:
    return [value / MILLI if value is not None and 3 <= index <= 4 else value for index, value in enumerate(values)]


def _bytes(head: bytes) -> list[Value]:
    """Parse the line `bytes:`: read and written through the page cache, directly, and from and to the server."""
    start = head.find(b"bytes:")
    numbers = counts(head[start + 6 :].partition(b"\n")[0].split()) if start >= 0 else None
    if numbers is None or len(numbers) < 6:
        return [None] * 4
    read, written, read_directly, written_directly, received, sent = numbers[:6]
    return [read + read_directly, written + written_directly, received, sent]


def _connects(head: bytes) -> Value:
    """Return the sum over the connections of a mount (`nconnect`), or None with UDP, which has none."""
    lines = [line.split() for line in head.splitlines() if line.lstrip().startswith(b"xprt:")]
    found = [count(line[4]) for line in lines if len(line) > 4 and line[1] in _CONNECTED]
    known = [number for number in found if number is not None]
    return sum(known) if known else None


def parse_rpc(data: bytes) -> list[Value]:
    """Parse the values of `HOST` from the line `rpc` of `/proc/net/rpc/nfs`."""
    start = (b"\n" + data).find(b"\nrpc ")
    fields = data[start + 4 :].partition(b"\n")[0].split() if start >= 0 else []
    return [count(fields[0]), count(fields[1])] if len(fields) >= 2 else [None, None]


def process_folder(proc_root: Path) -> Path:
    """Return the folder of a process that sees the host's mounts: process 1 if the host's procfs is elsewhere."""
    host = proc_root / "1"
    return host if proc_root != Path("/proc") and (host / "mountstats").exists() else proc_root / "self"


class NfsProbe:
    """Reads all NFS mounts. The kernel answers from memory: a server that does not respond does not block it."""

    name = "nfs"
    metrics = (*HOST, *MOUNT, *OPERATION)
    every_seconds = 10.0
    blocking = False

    def __init__(self, proc_root: Path) -> None:
        folder = process_folder(proc_root)
        self._mountinfo = folder / "mountinfo"
        self._mountstats = KernelFile(
            folder / "mountstats",
            records=True,
            size=8192,
            denied_remedy="run the agent as root to see the host's mounts from a container",
        )
        self._rpc = KernelFile(net_folder(proc_root) / "rpc/nfs", records=True)
        self._columns = GroupedColumns(HOST, MOUNT, OPERATION)
        self._gaps = Gaps(self.name, "not provided by this kernel or protocol")
        self._paths: list[str] = []
        self._chosen: list[str] = []
        self._mount_labels: tuple[tuple[str, ...], ...] = ()
        self._operation_labels: tuple[tuple[str, ...], ...] = ()

    def read(self) -> ProbeSample:
        mounts = parse_mountstats(self._mountstats.read())
        if not mounts:
            raise Absent("no NFS file system is mounted")
        if list(mounts) != self._paths:
            self._choose(mounts)
        values: list[Value] = parse_rpc(self._rpc.read_optional())
        rows = [mount_values(mounts[path][1]) for path in self._chosen]
        for row in rows:
            values += row[: len(MOUNT)]
        for row in rows:
            values += row[len(MOUNT) :]
        columns = self._columns.columns(ONE, self._mount_labels, self._operation_labels)
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))

    def _choose(self, mounts: Mapping[str, tuple[str, bytes]]) -> None:
        """Choose the mounts to watch. `mountinfo` is read only when the list of mounts has changed."""
        self._chosen = distinct(mounts, devices_by_path(read_text(self._mountinfo) or ""))
        self._paths = list(mounts)
        self._mount_labels = tuple((path,) for path in self._chosen)
        self._operation_labels = tuple((path, operation) for path in self._chosen for operation in OPERATIONS)


def devices_by_path(mountinfo: str) -> dict[str, str]:
    """Return the device number of each mount: the same for all mounts of one file system."""
    mounts = parse_mountinfo(mountinfo)
    return {mount.path: mount.device for mount in mounts if mount.kind in {"nfs", "nfs4"}}
