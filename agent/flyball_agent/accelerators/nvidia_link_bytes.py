"""The bytes of NVLinks on devices that have no totals, only a counter for each link."""

import ctypes

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import POSITIONS
from flyball_agent.accelerators.nvidia_fields import CALL, FieldArray
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, FieldsQuery, Row
from flyball_agent.accelerators.nvml import NOT_SUPPORTED, SUCCESS, Nvml

_TRANSMIT, _RECEIVE = 202, 204  # bytes of one link, since NVLink 5


class LinkBytesQuery(DeviceQuery):
    """The bytes of all NVLinks from the counters of each, for devices that do not provide the totals."""

    call = CALL
    positions = (POSITIONS[DeviceColumn(m.NVLINK_TRANSMIT)], POSITIONS[DeviceColumn(m.NVLINK_RECEIVE)])

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, totals: FieldsQuery) -> None:
        self._nvml = nvml
        self._handle = handle
        self._totals = totals
        self.reset()

    def reset(self) -> None:
        most = int(self._nvml.structures.NVML_NVLINK_MAX_LINKS)
        self._wanted: list[tuple[int, int]] = []
        self._select([(number, link) for link in range(most) for number in (_TRANSMIT, _RECEIVE)])
        self._bytes: dict[tuple[int, int], int] = {}
        self._failure = SUCCESS

    def run(self) -> int:
        if self.positions[0] in self._totals.positions:  # the totals answer
            return SUCCESS
        if code := self._fields.run():
            return code
        values = list(self._fields.values())
        self._failure = next((value.code for value in values if value.code and not value.missing), SUCCESS)
        for place, value in zip(self._wanted, values, strict=True):
            if not value.code:
                self._bytes[place] = int(value.value)
        self._select([place for place, value in zip(self._wanted, values, strict=True) if not value.missing])
        return SUCCESS if self._bytes or self._failure else NOT_SUPPORTED

    def store(self, row: Row) -> Failures:
        if self.positions[0] in self._totals.positions:
            return ()
        for position, wanted in zip(self.positions, (_TRANSMIT, _RECEIVE), strict=True):
            counts = [count for (number, _), count in self._bytes.items() if number == wanted]
            row[position] = None if self._failure else sum(counts)
        return [(position, self._failure) for position in self.positions] if self._failure else ()

    def _select(self, wanted: list[tuple[int, int]]) -> None:
        if wanted != self._wanted:
            self._wanted = wanted
            self._fields = FieldArray(self._nvml, self._handle, wanted)
