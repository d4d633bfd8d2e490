"""Builds the list of processes that use this host, from GPU processes and clients."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.runs.attribution import Attribution, attribute
from flyball_agent.runs.cgroup import parse_cgroup
from flyball_agent.runs.gpu_owners import GpuOwnerReader
from flyball_agent.runs.process_files import ProcessFiles, parse_command, parse_start_ticks, parse_uid
from flyball_agent.runs.registry import ReportingProcess
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

_READ_BYTES = 256 * 1024  # limit per file; the rest of a huge environment is ignored
_MAX_MEMBERS = 1024
_RECHECK_READS = 10
"""Number of readings after which reused process ids are looked for, and owners of GPUs are read again."""

MIG_INSTANCE = "mig_instance"
"""The label with the MIG instances of a process."""

_NANOSECONDS = 1_000_000_000
_Entry = tuple[int, tuple[str, ...], tuple[str, ...], ReportingProcess | None]
"""A process id, the GPUs and MIG instances that it holds, and its client."""


@dataclass(slots=True)
class _Known:
    """The files and attributes of one process."""

    start_ticks: int | None
    files: ProcessFiles
    user: str
    command: str
    in_pod: bool


class TenancyReader:
    """Reads `/proc` once for each process, identified by its id and start time.

    `read` returns the same object while nothing changes, so that its digest need not be computed again.
    """

    def __init__(
        self,
        proc_root: Path = Path("/proc"),
        passwd: Path = Path("/etc/passwd"),
        *,
        host: str = "",
        owners: GpuOwnerReader | None = None,
    ) -> None:
        self._proc_root = proc_root
        self._passwd = passwd
        self._host = host
        self._owners = owners or GpuOwnerReader()
        self._known: dict[int, _Known] = {}
        self._users: dict[int, str] | None = None
        self._boot_ns: int | None = None
        self._key: tuple[_Entry, ...] = ()
        self._tenancy = pb.Tenancy()
        self._body = b""
        self._reads = 0

    @property
    def unavailable(self) -> tuple[UnavailableReading, ...]:
        """The reasons why some runs may be unknown."""
        if not any(known.files.environ is None for known in self._known.values()):
            return self._owners.unavailable
        detail = "the environment of some processes cannot be read"
        remedy = "give the agent CAP_SYS_PTRACE, or set probes.job_mapping_directory"
        return (UnavailableReading("tenancy", "run", "", Reason.DENIED, detail, remedy), *self._owners.unavailable)

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the processes that hold a GPU or report for a run, as far as they are known."""
        return tuple(pid for pid, *_ in self._key if pid > 0)

    def read(self, processes: Sequence[pb.GpuProcess], client_members: Mapping[int, ReportingProcess]) -> pb.Tenancy:
        """Return the processes that hold a GPU or report for a run."""
        key = _entries(processes, client_members)
        self._reads += 1
        rechecks = self._reads % _RECHECK_READS == 0
        changed = (rechecks and self._forget_reused()) or key != self._key
        if changed:
            self._known = {pid: self._known.get(pid) or self._read_process(pid) for pid, *_ in key}
        if ((changed or rechecks) and self._refresh_owners()) or changed:
            self._key = key
            self._tenancy = pb.Tenancy(members=[self._member(*entry) for entry in key])
            self._body = self._tenancy.SerializeToString(deterministic=True)
        return self._tenancy

    def read_body(self, processes: Sequence[pb.GpuProcess], client_members: Mapping[int, ReportingProcess]) -> bytes:
        """Return the same in encoded form; empty if there are no processes."""
        self.read(processes, client_members)
        return self._body

    def _refresh_owners(self) -> bool:
        return self._owners.refresh(in_pods=any(known.in_pod for known in self._known.values()))

    def _member(
        self, pid: int, gpus: tuple[str, ...], instances: tuple[str, ...], client: ReportingProcess | None
    ) -> pb.Member:
        known = self._known[pid]
        owners = self._owners.of(instances or gpus)  # pods get instances, and others share their GPU
        found: Attribution = attribute(known.files, client, host=self._host, owners=owners)
        member = pb.Member(
            pid=max(0, pid),  # negative: a client whose process id is not known
            started_ns=self._started_ns(known.start_ticks),
            run=found.run,
            rank=found.rank,
            world_size=found.world_size,
            user=known.user,
            source=found.source,
            command=known.command,
            gpus=gpus,
            labels={**found.labels, MIG_INSTANCE: ",".join(instances)} if instances else found.labels,
        )
        if client is not None:
            member.user = member.user or self._user(client.uid)
            member.attempt, member.group = client.attempt, client.group
            member.policy, member.client_version = client.policy, client.version
        return member

    def _read_process(self, pid: int) -> _Known:
        folder = self._proc_root / str(pid)
        stat = _read(folder / "stat") or b""
        files = ProcessFiles(
            environ=_read(folder / "environ"),
            cgroup=_read(folder / "cgroup") or b"",
            cmdline=_read(folder / "cmdline") or b"",
            status=_read(folder / "status") or b"",
            stat=stat,
        )
        return _Known(
            parse_start_ticks(stat),
            files,
            self._user(parse_uid(files.status)),
            parse_command(files.cmdline, stat),
            in_pod=bool(parse_cgroup(files.cgroup).pod_uid),
        )

    def _forget_reused(self) -> bool:
        """Forget processes whose id now belongs to another process. Return True if there were any."""
        reused = [
            pid
            for pid, known in self._known.items()
            if parse_start_ticks(_read(self._proc_root / str(pid) / "stat") or b"") != known.start_ticks
        ]
        for pid in reused:
            del self._known[pid]
        return bool(reused)

    def _user(self, uid: int | None) -> str:
        """Return the local name of the user, else the id. A directory service could block the sampler for minutes."""
        if uid is None:
            return ""
        if self._users is None:
            self._users = _read_users(self._passwd)
        return self._users.get(uid, str(uid))

    def _started_ns(self, ticks: int | None) -> int:
        if ticks is None:
            return 0
        if self._boot_ns is None:
            self._boot_ns = _read_boot_ns(self._proc_root)
        return self._boot_ns + ticks * _NANOSECONDS // os.sysconf("SC_CLK_TCK") if self._boot_ns else 0


def _entries(processes: Sequence[pb.GpuProcess], clients: Mapping[int, ReportingProcess]) -> tuple[_Entry, ...]:
    """Return the processes in order of their ids."""
    gpus: dict[int, dict[str, None]] = {pid: {} for pid in clients}
    instances: dict[int, dict[str, None]] = {}
    for process in processes:
        gpus.setdefault(process.pid, {})[process.gpu] = None
        if process.mig_instance:
            instances.setdefault(process.pid, {})[process.mig_instance] = None
    return tuple(
        (pid, tuple(gpus[pid]), tuple(instances.get(pid, ())), clients.get(pid)) for pid in sorted(gpus)[:_MAX_MEMBERS]
    )


def _read(path: Path) -> bytes | None:
    """Read a file; return None if permission is denied, and nothing if the process has ended."""
    try:
        with path.open("rb") as file:
            return file.read(_READ_BYTES)
    except PermissionError:
        return None
    except OSError:
        return b""


def _read_users(passwd: Path) -> dict[int, str]:
    users: dict[int, str] = {}
    for line in (_read(passwd) or b"").decode("utf-8", "replace").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[2].isdecimal():
            users.setdefault(int(fields[2]), fields[0])
    return users


def _read_boot_ns(proc_root: Path) -> int:
    for line in (_read(proc_root / "stat") or b"").splitlines():
        if line.startswith(b"btime "):
            return int(line.split()[1]) * _NANOSECONDS
    return 0
