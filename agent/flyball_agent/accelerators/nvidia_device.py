"""One NVIDIA device: its questions, its newest row of readings, and why each missing one is missing."""

import ctypes
from collections.abc import Iterable, Sequence

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import Slot
from flyball_agent.accelerators.nvidia_processes import ProcessReader
from flyball_agent.accelerators.nvidia_questions import Question, Row
from flyball_agent.accelerators.nvidia_readings import fast_questions, slow_questions
from flyball_agent.accelerators.nvidia_slots import PLACE, SLOTS
from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    NOT_FOUND,
    SESSION_ENDED,
    SUCCESS,
    Fault,
    Nvml,
    NvmlError,
    explain,
)
from flyball_agent.probes.probe import Value
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import UnavailableReading

SLOW_SECONDS = 10.0
ASK_AGAIN_SECONDS = 600.0
"""What a device does not support may come with a mode change; asked once in this time."""

_XIDS, _LOST, _MIG = PLACE[Slot(m.XIDS)], PLACE[Slot(m.LOST)], PLACE[Slot(m.MIG_ENABLED)]


class MigSlice:
    """One MIG instance of a device; only its memory is its own."""

    __slots__ = ("_buffer", "_call", "_handle", "profile", "uuid")

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self.uuid = nvml.text("nvmlDeviceGetUUID", handle)
        self.profile = nvml.text("nvmlDeviceGetName", handle).rpartition("MIG ")[2]
        self._call = nvml.call("nvmlDeviceGetMemoryInfo_v2")
        self._buffer = nvml.structures.c_nvmlMemory_v2_t()
        self._buffer.version = nvml.structures.nvmlMemory_v2

    def memory(self) -> tuple[int | None, int | None]:
        """Used and total bytes; unknown when the driver will not tell."""
        if self._call(self._handle, ctypes.byref(self._buffer)) != SUCCESS:
            return None, None
        return int(self._buffer.used), int(self._buffer.total)


class Device:
    """A device that was seen at least once. It outlives sessions of the driver; `attach` binds it to the next one."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self.index = 0
        self.handle: ctypes.c_void_p | None = None
        self.lost = False
        self.changed = True
        self.row: Row = [None] * len(SLOTS)
        self.row[_XIDS] = 0
        self.slices: tuple[MigSlice, ...] = ()
        self.processes: ProcessReader | None = None
        self._faults: dict[int, Fault] = {}
        self._passing: set[int] = set()
        self._fast: list[Question] = []
        self._slow: list[Question] = []
        self._muted: list[tuple[list[Question], Question]] = []
        self._next_slow: float | None = None
        self._next_again = 0.0

    @property
    def mig_enabled(self) -> bool:
        return bool(self.row[_MIG])

    def attach(self, nvml: Nvml, handle: ctypes.c_void_p, index: int, now: float) -> None:
        """Begin anew under a session of the driver."""
        self.detach()
        self.index, self.handle = index, handle
        self._fast, self._slow = fast_questions(nvml, handle), slow_questions(nvml, handle)
        self.processes = ProcessReader(nvml, handle, self.uuid)
        self._next_slow, self._next_again = None, now + ASK_AGAIN_SECONDS

    def detach(self) -> None:
        """The session ended: what was known may no longer be true."""
        for question in (*self._fast, *self._slow):
            question.close()
        self.handle, self.processes, self.slices = None, None, ()
        self._fast, self._slow, self._muted = [], [], []
        self._forget()

    def lose(self) -> None:
        """The device does not answer."""
        self.lost = True
        self._forget()
        self.row[_LOST] = 1

    def count_xid(self) -> None:
        """One more XID of this device."""
        self.row[_XIDS] = int(self.row[_XIDS] or 0) + 1

    def deny_xids(self, fault: Fault) -> None:
        """The driver will not report XIDs of this device."""
        self.row[_XIDS] = None
        self._fail(_XIDS, fault)

    def read(self, nvml: Nvml, now: float) -> None:
        """Ask what is due; raises `NvmlError` when the device is lost or the session has ended."""
        if self.handle is None:
            return
        if now >= self._next_again:
            self._unmute(now)
        slow = self._next_slow is None or now >= self._next_slow
        self._ask(self._fast)
        if slow:  # devices take turns, so that no tick bears the slow questions of all
            self._next_slow = now + (SLOW_SECONDS if self._next_slow else 1 + self.index % SLOW_SECONDS)
            self._ask(self._slow)
            self._read_mig(nvml, self.handle)
        self._read_processes(slow=slow)
        if self.lost:
            self.lost, self.changed = False, True
        self.row[_LOST] = 0

    def unavailable(self, probe: str) -> Iterable[UnavailableReading]:
        """Why each missing reading is missing; `uuid/label` names one of a metric's several readings."""
        if self.processes is not None and (fault := self.processes.fault) is not None:
            yield UnavailableReading(probe, "gpu_processes", self.uuid, fault.reason, fault.detail, fault.remedy)
        spoken = {SLOTS[place].metric for place, value in enumerate(self.row) if value is not None}
        told: set[tuple[str, str]] = set()
        for place, fault in self._faults.items():
            slot = SLOTS[place]
            resource = f"{self.uuid}/{slot.label}" if slot.label and slot.metric in spoken else self.uuid
            if (slot.metric.name, resource) not in told:
                told.add((slot.metric.name, resource))
                yield UnavailableReading(probe, slot.metric.name, resource, fault.reason, fault.detail, fault.remedy)

    def columns(self) -> list[Column]:
        """The columns of `row`, then two of each MIG instance."""
        found = [Column(slot.metric, slot.labels(self.uuid, self.index)) for slot in SLOTS]
        for piece in self.slices:
            labels = (self.uuid, str(self.index), piece.uuid)
            found += [Column(m.MIG_MEMORY_USED, labels), Column(m.MIG_MEMORY_TOTAL, labels)]
        return found

    def values(self) -> list[Value]:
        """As many as there are columns."""
        found = list(self.row)
        for piece in self.slices:
            found += piece.memory()
        return found

    def _forget(self) -> None:
        xids = self.row[_XIDS]
        self.row = [None] * len(SLOTS)
        self.row[_XIDS] = xids or 0
        self._faults, self._passing, self.changed = {}, set(), True

    def _unmute(self, now: float) -> None:
        self._next_again = now + ASK_AGAIN_SECONDS
        self._next_slow = now
        for questions, question in self._muted:
            questions.append(question)
        self._muted = []
        for question in (*self._fast, *self._slow):
            question.reset()
        self._passing.update(self._faults)

    def _ask(self, questions: list[Question]) -> None:
        for question in tuple(questions):
            code = question.ask()
            if code == SUCCESS:
                failures = question.answer(self.row)
                if self._passing:
                    self._recover(question.places, {place for place, _ in failures})
                for place, part in failures:
                    self._fail(place, explain(f"{question.call} ({SLOTS[place].metric.name})", part))
            elif code == GPU_IS_LOST or code in SESSION_ENDED:
                raise NvmlError(question.call, code)
            else:
                self._fail_whole(questions, question, explain(question.call, code))

    def _fail_whole(self, questions: list[Question], question: Question, fault: Fault) -> None:
        for place in question.places:
            self.row[place] = None
            self._fail(place, fault)
        if fault.lasting:
            questions.remove(question)
            self._muted.append((questions, question))

    def _fail(self, place: int, fault: Fault) -> None:
        if self._faults.get(place) != fault:
            self._faults[place] = fault
            self.changed = True
        if fault.lasting:
            self._passing.discard(place)
        else:
            self._passing.add(place)

    def _recover(self, places: Sequence[int], failed: set[int]) -> None:
        for place in self._passing.intersection(places) - failed:
            self._passing.discard(place)
            del self._faults[place]
            self.changed = True

    def _read_processes(self, *, slow: bool) -> None:
        if self.processes is None:
            return
        before = self.processes.fault
        self.processes.read(slow=slow)
        if self.processes.fault != before:
            self.changed = True

    def _read_mig(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        try:
            enabled, found = _find_slices(nvml, handle)
        except NvmlError as error:
            if error.code == GPU_IS_LOST or error.code in SESSION_ENDED:
                raise
            self.row[_MIG] = None
            self._fail(_MIG, explain(error.call, error.code))
            enabled, found = False, ()
        else:
            self.row[_MIG] = int(enabled)
            self._recover((_MIG,), set())
        if [piece.uuid for piece in found] != [piece.uuid for piece in self.slices]:
            self.slices, self.changed = found, True


def _find_slices(nvml: Nvml, handle: ctypes.c_void_p) -> tuple[bool, tuple[MigSlice, ...]]:
    """Whether the device is split, and into what."""
    enabled, pending = ctypes.c_uint(), ctypes.c_uint()
    nvml.check("nvmlDeviceGetMigMode", handle, ctypes.byref(enabled), ctypes.byref(pending))
    if not enabled.value:
        return False, ()
    found = []
    for index in range(nvml.number("nvmlDeviceGetMaxMigDeviceCount", handle)):
        try:
            found.append(MigSlice(nvml, nvml.handle("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)))
        except NvmlError as error:
            if error.code != NOT_FOUND:  # places of instances need not be contiguous
                raise
    return True, tuple(found)
