"""State of software RAID arrays, from `/proc/mdstat`."""

import re
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import gauge, state
from flyball_proto.unavailable_reading import Reason

MAX_ARRAYS = 32
_LABEL = ("array",)
STATES = ("inactive", "active", "read_only")
ACTIVITIES = ("idle", "resync", "recovery", "check", "reshape", "repair", "pending")

METRICS = (
    state("raid_state", "State of the array.", STATES, _LABEL),
    gauge("raid_disks", "disks", "Disks that the array needs to be complete.", _LABEL),
    gauge(
        "raid_disks_working",
        "disks",
        "Disks of the array that work. Fewer than flyball_raid_disks: the array is degraded.",
        _LABEL,
    ),
    gauge("raid_disks_failed", "disks", "Disks of the array that have failed.", _LABEL),
    gauge("raid_disks_spare", "disks", "Spare disks, which replace a failed one.", _LABEL),
    state(
        "raid_activity",
        "Background activity of the array. `pending` waits for another array or for a write.",
        ACTIVITIES,
        _LABEL,
    ),
    gauge("raid_activity_ratio", "ratio", "Progress of the background activity. 1 while idle.", _LABEL, 10_000),
)

_HEAD = re.compile(rb"^(md\S*) : (active|inactive|broken|clean)(?: \((read-only|auto-read-only)\))?(.*)$")
_MEMBER = re.compile(rb"\S+\[\d+\]((?:\([A-Z]\))*)")
_DISKS = re.compile(rb"\[(\d+)/(\d+)\] \[[U_]+\]")
_CONTAINER = re.compile(rb"super external:[^/\s]")
"""A container of the firmware's RAID is always inactive; the arrays in it are listed by themselves."""

_ACTIVITY = re.compile(rb"(resync|recovery|check|reshape|repair)\s*=\s*(?:(\d+(?:\.\d+)?)%|(DELAYED|PENDING|REMOTE))")


@dataclass(frozen=True, slots=True)
class RaidArray:
    """One array: its name and the values of `METRICS`."""

    name: str
    values: list[Value]


def parse_mdstat(data: bytes) -> list[RaidArray]:
    """Return all arrays: a line with name, state and disks, followed by indented lines about it."""
    arrays: dict[bytes, RaidArray] = {}
    lines = data.splitlines()
    for index, line in enumerate(lines):
        head = _HEAD.match(line)
        if head:
            rest = lines[index + 1 :]
            end = next((i for i, later in enumerate(rest) if not later.startswith((b" ", b"\t"))), len(rest))
            details = b"\n".join(rest[:end])
            if not _CONTAINER.search(details):
                arrays[head[1]] = _array(head, details)
    return list(arrays.values())[:MAX_ARRAYS]


def _array(head: re.Match[bytes], details: bytes) -> RaidArray:
    name, word, mode, members = head.groups()
    flags = _MEMBER.findall(members)
    failed = sum(b"(F)" in flag for flag in flags)
    spare = sum(b"(S)" in flag for flag in flags)
    disks = _DISKS.search(details)
    present = len(flags) - failed - spare
    # Levels without redundancy (raid0, linear) list no counts: they need all of their disks.
    needed, working = (int(disks[1]), int(disks[2])) if disks else (len(flags) - spare, present)
    active = word != b"inactive"
    code = STATES.index("read_only" if mode == b"read-only" else "active" if active else "inactive")
    values: list[Value] = [code, *_known(needed, working, active=active), failed, spare, *_activity(details)]
    return RaidArray(name.decode(errors="backslashreplace"), values)


def _known(needed: int, working: int, *, active: bool) -> tuple[Value, Value]:
    """Return the two numbers. An inactive array is not assembled, so the number of disks it needs is unknown."""
    if not active:
        return None, 0
    return (needed, working) if needed > 0 and working <= needed else (None, None)


def _activity(details: bytes) -> tuple[Value, Value]:
    found = _ACTIVITY.search(details)
    if not found:
        return ACTIVITIES.index("idle"), 1.0
    if found[3]:
        return ACTIVITIES.index("pending"), 0.0
    percent = float(found[2])
    return ACTIVITIES.index(found[1].decode()), percent / 100 if percent <= 100 else None


class RaidProbe:
    """Reads all arrays."""

    name = "raid"
    metrics = METRICS
    every_seconds = 10.0
    blocking = True  # the kernel takes a lock of each array, which a failing disk may hold

    def __init__(self, proc_root: Path) -> None:
        self._mdstat = KernelFile(proc_root / "mdstat", records=True)
        self._columns = GroupedColumns(METRICS)
        self._gaps = Gaps(
            self.name, "the array is not assembled, or the format of its lines is not known", Reason.UNSUPPORTED
        )
        self._names: list[str] = []
        self._labels: tuple[tuple[str, ...], ...] = ()

    def read(self) -> ProbeSample:
        arrays = parse_mdstat(self._content())
        if not arrays:
            raise Absent("no software RAID array")
        names = [array.name for array in arrays]
        if names != self._names:
            self._names, self._labels = names, tuple((name,) for name in names)
        columns = self._columns.columns(self._labels)
        values = [value for array in arrays for value in array.values]
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))

    def _content(self) -> bytes:
        try:
            return self._mdstat.read()
        except Absent:  # the md driver is not loaded
            return b""
