"""The chip-to-chip links (NVLink-C2C) between a GPU and its CPU."""

import ctypes

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import POSITIONS
from flyball_agent.accelerators.nvidia_fields import CALL, FieldArray
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, Row
from flyball_agent.accelerators.nvml import NOT_SUPPORTED, SUCCESS, Nvml

_STATUS = 171
_MOST_LINKS = 32


class C2cLinksQuery(DeviceQuery):
    """The number of chip-to-chip links that are up."""

    call = CALL
    positions = (POSITIONS[DeviceColumn(m.C2C_ACTIVE)],)

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._fields = FieldArray(nvml, handle, [(_STATUS, link) for link in range(_MOST_LINKS)])
        self._active = 0
        self._failure = SUCCESS

    def run(self) -> int:
        if code := self._fields.run():
            return code
        values = list(self._fields.values())
        self._failure = next((value.code for value in values if value.code and not value.missing), SUCCESS)
        known = [value.value for value in values if not value.code]
        self._active = sum(1 for value in known if value)
        return SUCCESS if known or self._failure else NOT_SUPPORTED

    def store(self, row: Row) -> Failures:
        row[self.positions[0]] = None if self._failure else self._active
        return [(self.positions[0], self._failure)] if self._failure else ()
