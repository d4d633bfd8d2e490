"""File systems that were writable and are not any more: the kernel withdraws the right after an error."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["filesystem_read_only"]


class ReadOnlyDetector:
    """Many are read-only by design (images, firmware): only the change is a fault. What was read-only before the
    collector looked cannot be told from design; a condition of before stands."""

    name = "read_only"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("filesystem_read_only",)

    def __init__(self) -> None:
        self._kept = Kept(was_writable=False)

    def observe(self, view: View) -> Iterable[Claims]:
        """The state, against what it was."""
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
            because=lambda _: "it could be written before; look for I/O errors in the kernel's log, check the disk",
        )
