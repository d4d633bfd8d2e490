"""The process itself on systems without `/proc`: only what Python's standard library knows."""

import os
import threading

from flyball.profiling.process_reading import ConsumedResources, ProcessReading


class PortableProcess:
    """Reads this process and its ended children; running children and memory are unknown."""

    def read(self) -> list[ProcessReading]:
        """Return the one process that is known."""
        times = os.times()
        waited = times.children_user + times.children_system
        consumed = ConsumedResources(times.user + times.system + waited)
        return [ProcessReading(os.getpid(), 0, 0, threading.active_count(), None, consumed, waited, io_known=False)]
