"""Detects file systems that became read-only: the kernel remounts them after an error."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["filesystem_read_only"]


class ReadOnlyDetector:
    """Reports only changes, because many file systems (images, firmware) are read-only by design.

    If a file system was read-only from the start, the cause is unknown; a restored condition stays active.
    """

    name = "read_only"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("filesystem_read_only",)

    def __init__(self) -> None:
        self._kept = SubjectArrays(was_writable=False)

    def observe(self, view: View) -> Iterable[Claims]:
        """Compare the state with the earlier one."""
        mounts, state = view.resources("filesystem_read_only"), view.resource("filesystem_read_only")
        self._kept.align(mounts)
        self._kept["was_writable"] |= state == 0
        enters = (state > 0) & self._kept["was_writable"]
        yield Claims(
            kind=KIND,
            subjects=mounts,
            enters=enters,
            stays=enters,
            confidence=np.full(len(mounts), 0.9),  # an administrator may have done it
            known=self._kept["was_writable"] & ~np.isnan(state),
            because=lambda _: "it was writable before; look for I/O errors in the kernel log, check the disk",
        )
