"""Decides whose memory ran out when the kernel killed a process, and writes the sentence of the condition."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.health.host_reports import quoted
from flyball_collector.fleet.kill_details import NO_DETAILS, KillDetails, KillLimit
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]

SURE = 0.99
_BY_SOURCE: dict[int, float] = {
    pb.OomKill.KERNEL_LOG: SURE,
    pb.OomKill.GROUP_EVENTS: 0.97,
    pb.OomKill.GROUP_COUNTS: 0.9,
}

FULL = 0.95
"""A host whose use was above this share before a kill may have run out of memory."""

NEXT_SECONDS = 2.0
"""The use is known once a second. Until the kill it may have grown for so long at the steepest rate seen before."""


@dataclass(frozen=True, slots=True)
class KillCause:
    """Whose memory it was, and how sure that is."""

    limit: KillLimit
    confidence: float
    details: KillDetails = NO_DETAILS
    free_bytes: float = math.nan  # of the host before the kill
    inferred: bool = False  # from the host's readings: neither the kernel's log nor the group's counters show it


def cause_of(details: KillDetails, inferred: KillCause) -> KillCause:
    """Return the cause that an agent reports; if it does not know it, the one inferred from readings."""
    if details.limit is KillLimit.UNKNOWN:
        return replace(inferred, details=details)
    return KillCause(details.limit, _BY_SOURCE.get(details.source, SURE), details, inferred.free_bytes)


def infer(available: Floats, total: float, scanned: float) -> KillCause:
    """Infer the cause from the host's available memory in the minute before, each second, and the pages scanned.

    The kernel kills for want of the host's memory only after it scanned pages of the whole host for reclaim
    (mm/vmscan.c does not count the reclaim within a control group there).
    """
    known = available[~np.isnan(available)]
    if not len(known) or math.isnan(total) or total <= 0:
        return KillCause(KillLimit.UNKNOWN, SURE)
    least = float(known.min())
    steepest = max(0.0, float(-np.diff(known).min())) if len(known) > 1 else 0.0
    if least - NEXT_SECONDS * steepest > (1 - FULL) * total:
        return KillCause(KillLimit.GROUP, 0.9 if scanned == 0 else 0.8, free_bytes=least, inferred=True)
    if scanned == 0:
        return KillCause(KillLimit.GROUP, 0.8, free_bytes=least, inferred=True)
    if least < (1 - FULL) * total:
        return KillCause(KillLimit.HOST, 0.8, free_bytes=least, inferred=True)
    return KillCause(KillLimit.UNKNOWN, SURE, free_bytes=least)


def concerns_only_others(kind: str, evidence: Mapping[str, float], because: str, run: str) -> bool:
    """Return True for a kill at the limit of a control group, unless its sentence names a process of this run."""
    if kind != "oom_kill" or evidence.get("limit_of_a_group") != 1:
        return False
    return f"run {quoted(run, 60)}" not in because


def sentence(cause: KillCause, kills: float) -> str:
    """Return the sentence of a condition. Numbers that are not known are left out."""
    return f"the kernel killed {_victims(cause.details, kills)}: {_whose(cause)}{_free(cause)}"


def _victims(details: KillDetails, kills: float) -> str:
    name = _victim(details)
    if kills > 1:
        return f"{kills:.0f} processes, the last one {name}" if name else f"{kills:.0f} processes"
    return name or "a process"


def _victim(details: KillDetails) -> str:
    rank = "" if details.rank is None else f"rank {details.rank} of "
    near = "" if details.rank is not None else "in the control group of "
    facts = [
        f"pid {details.pid}" if details.pid is not None else "",
        f"{rank}{near}run {quoted(details.run, 60)}" if details.run else "",
    ]
    known = ", ".join(fact for fact in facts if fact)
    if not details.process and not known:
        return ""
    return f"{quoted(details.process, 60) if details.process else 'a process'}{f' ({known})' if known else ''}"


def _whose(cause: KillCause) -> str:
    if cause.limit is KillLimit.GROUP:
        return _group(cause)
    if cause.limit is KillLimit.HOST:
        return f"the memory of the host {'probably ' if cause.inferred else ''}ran out"
    if cause.limit is KillLimit.NUMA_NODES:
        owner = cause.details.owner
        return f"the memory of {quoted(owner, 60) if owner else 'the NUMA nodes that it may use'} ran out"
    return "memory ran out, of the host or of a control group"


def _group(cause: KillCause) -> str:
    details = cause.details
    if cause.inferred:
        return "it probably reached the memory limit of its control group"
    if not details.group:
        return "a control group reached its memory limit"
    owner = f" ({quoted(details.owner, 80)})" if details.owner else ""
    return f"its control group {quoted(details.group)}{owner} reached its memory limit{_use(details)}"


def _use(details: KillDetails) -> str:
    if details.limit_bytes is None:
        return ""
    used = "" if details.used_bytes is None else f", {details.used_bytes / 1e9:.2f} GB were used"
    return f" of {details.limit_bytes / 1e9:.2f} GB{used}"


def _free(cause: KillCause) -> str:
    if cause.limit is not KillLimit.GROUP or math.isnan(cause.free_bytes):
        return ""
    return f"; the host had {cause.free_bytes / 1e9:.1f} GB free"
