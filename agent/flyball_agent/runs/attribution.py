"""Attributes a process to a run, from the best source: client, Slurm, Kubernetes, torchrun or control group."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flyball_agent.runs.cgroup import CgroupFacts, parse_cgroup
from flyball_agent.runs.environment import clean, parse_environment, whole_number
from flyball_agent.runs.registry import Client

_MAX_COMMAND = 256
_SECRET = re.compile(r"(pass(word|wd)?|token|secret|api[-_]?key|credential)s?", re.IGNORECASE)
_NO_RUN_ID = "none"  # torchrun's id of a run without a name
_RESERVED_STEPS = 0xFFFF_FFF0  # slurm.h: batch script, extern, interactive … count down from 2^32


@dataclass(frozen=True, slots=True)
class ProcessFiles:
    """The content of files of `/proc/<pid>`. None: permission denied."""

    environ: bytes | None = None
    cgroup: bytes = b""
    cmdline: bytes = b""
    status: bytes = b""
    stat: bytes = b""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The run of a process, and its rank in it. An empty run means unknown."""

    source: str
    run: str = ""
    rank: int = 0
    world_size: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Evidence:
    environment: Mapping[str, str]
    cgroup: CgroupFacts
    client: Client | None


def attribute(files: ProcessFiles, client: Client | None = None) -> Attribution:
    """Return the run from the first source that knows it, with the labels from all sources."""
    evidence = _Evidence(parse_environment(files.environ or b""), parse_cgroup(files.cgroup), client)
    labels = _labels(evidence)
    for source, find in _SOURCES:
        if run := find(evidence):
            rank, world_size = _rank(evidence)
            return Attribution(source, run, rank, world_size, labels)
    return Attribution("process", labels=labels)


def _by_client(evidence: _Evidence) -> str:
    return clean(evidence.client.run.encode()) if evidence.client is not None else ""


def _by_slurm(evidence: _Evidence) -> str:
    """Return the Slurm job; an array task is 1234_7. Without access to the environment the control group is used."""
    environment = evidence.environment
    array, task = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID")
    if array and task:
        return f"slurm-{array}_{task}"
    job = environment.get("SLURM_JOB_ID") or evidence.cgroup.slurm_job
    return f"slurm-{job}" if job else ""


def _by_kubernetes(evidence: _Evidence) -> str:
    environment = evidence.environment
    name, namespace = environment.get("POD_NAME"), environment.get("POD_NAMESPACE") or environment.get("NAMESPACE")
    if name and evidence.cgroup.pod_uid:
        return f"pod-{namespace}/{name}" if namespace else f"pod-{name}"
    return f"pod-{evidence.cgroup.pod_uid}" if evidence.cgroup.pod_uid else ""


def _by_torchrun(evidence: _Evidence) -> str:
    environment = evidence.environment
    if (run := environment.get("TORCHELASTIC_RUN_ID")) and run != _NO_RUN_ID:
        return f"torchrun-{run}"
    address, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    return f"torchrun-{address}:{port}" if address and port and "RANK" in environment else ""


def _by_cgroup(evidence: _Evidence) -> str:
    if evidence.cgroup.container:
        return f"container-{evidence.cgroup.container[:12]}"
    return f"unit-{clean(evidence.cgroup.unit.encode())}" if evidence.cgroup.unit else ""


_SOURCES: tuple[tuple[str, Callable[[_Evidence], str]], ...] = (
    ("client", _by_client),
    ("slurm", _by_slurm),
    ("kubernetes", _by_kubernetes),
    ("torchrun", _by_torchrun),
    ("cgroup", _by_cgroup),
)


def _rank(evidence: _Evidence) -> tuple[int, int]:
    """Return rank and world size. torchrun's come before Slurm's: its launcher is one Slurm task with many ranks."""
    if evidence.client is not None and evidence.client.world_size:
        return evidence.client.rank, evidence.client.world_size
    rank = whole_number(evidence.environment, "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
    world_size = whole_number(evidence.environment, "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")
    return rank or 0, world_size or 0


def _step(evidence: _Evidence) -> str:
    """Return the step of a Slurm job; empty for a batch script."""
    step = evidence.environment.get("SLURM_STEP_ID") or evidence.cgroup.slurm_step
    reserved = step.isascii() and step.isdecimal() and int(step) >= _RESERVED_STEPS
    return "" if reserved else step


def _labels(evidence: _Evidence) -> dict[str, str]:
    environment, cgroup = evidence.environment, evidence.cgroup
    found = {
        "slurm_job": environment.get("SLURM_JOB_ID") or cgroup.slurm_job,
        "slurm_step": _step(evidence),
        "slurm_job_name": environment.get("SLURM_JOB_NAME", ""),
        "slurm_partition": environment.get("SLURM_JOB_PARTITION", ""),
        "slurm_account": environment.get("SLURM_JOB_ACCOUNT", ""),
        "slurm_cluster": environment.get("SLURM_CLUSTER_NAME", ""),
        "pod_uid": cgroup.pod_uid,
        "pod": (environment.get("POD_NAME") or environment.get("HOSTNAME", "")) if cgroup.pod_uid else "",
        "namespace": (environment.get("POD_NAMESPACE") or environment.get("NAMESPACE", "")) if cgroup.pod_uid else "",
        "torchrun_id": environment.get("TORCHELASTIC_RUN_ID", ""),
        "torchrun_restarts": environment.get("TORCHELASTIC_RESTART_COUNT", ""),
        "local_rank": environment.get("LOCAL_RANK", ""),
        "container": cgroup.container[:12],
        "unit": clean(cgroup.unit.encode()),
    }
    labels = dict(evidence.client.labels) if evidence.client is not None else {}
    return labels | {key: value for key, value in found.items() if value}


def parse_command(cmdline: bytes, stat: bytes) -> str:
    """Return the command line on one short line, with the values of options that look secret replaced by ***.

    Without a command line it is the short name of the process.
    """
    words: list[str] = []
    hide_next = False
    for word in cmdline.rstrip(b"\0").split(b"\0")[:64]:
        text = clean(word, _MAX_COMMAND)
        name, equals, _ = text.partition("=")
        secret = name.startswith("-") and _SECRET.search(name) is not None
        words.append("***" if hide_next else f"{name}=***" if secret and equals else text)
        hide_next = secret and not equals
    command = " ".join(word for word in words if word)[:_MAX_COMMAND]
    return command or clean(stat[stat.find(b"(") + 1 : stat.rfind(b")")], _MAX_COMMAND)


def parse_start_ticks(stat: bytes) -> int | None:
    """Parse the start time in clock ticks since boot: field 22. The process name before it may contain anything."""
    fields = stat[stat.rfind(b")") + 1 :].split()
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else None


def parse_uid(status: bytes) -> int | None:
    """Parse the real user id of the process."""
    for line in status.splitlines():
        if line.startswith(b"Uid:"):
            fields = line.split()
            return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None
    return None
