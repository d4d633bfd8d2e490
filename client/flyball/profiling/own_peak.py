"""The largest resident memory of this process since it became this program."""

from __future__ import annotations

import resource
import sys

PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def own_peak_bytes(status: str = "/proc/self/status") -> int:
    """Return the peak in bytes.

    `ru_maxrss` also counts what the process was before it became this program: a copy of its parent, which may be
    large. The kernel's `VmHWM` does not.
    """
    try:
        with open(status, "rb") as file:  # noqa: PTH123  as in the rest of this package
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT
