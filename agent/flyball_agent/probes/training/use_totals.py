"""Sums what the watched processes have used. The sums only grow, whatever processes come and go."""

from collections.abc import Iterable

from flyball_agent.probes.probe import Value
from flyball_agent.probes.training.process import ProcessUse, WatchedProcess
from flyball_agent.probes.training.wait_kinds import KINDS


class UseTotals:
    """The sums since the agent started."""

    def __init__(self) -> None:
        self._waits: dict[str, float] = dict.fromkeys(KINDS, 0.0)
        self._worker_waits: dict[str, float] = dict.fromkeys(KINDS, 0.0)
        self._run = self._delay = self._cpu = 0.0
        self._worker_cpu = self._worker_delay = 0.0
        self._major_faults = 0
        self._read_bytes: int | None = 0  # None: may not be read

    def add(self, mains: Iterable[WatchedProcess], workers: Iterable[WatchedProcess], seconds: float) -> None:
        """Add what the processes used in the last seconds."""
        for process in mains:
            if (use := process.read(seconds)) is not None:
                self._add_main(use)
                self._add_reads(use)
        for process in workers:
            if (use := process.read(seconds)) is not None:
                self._worker_cpu += use.cpu
                self._worker_delay += use.delay
                _add_waits(self._worker_waits, use)
                self._add_reads(use)

    def values(self) -> list[Value]:
        """Return the sums in the order of the metrics, without the waits."""
        return [
            self._run,
            self._delay,
            self._cpu,
            self._worker_cpu,
            self._worker_delay,
            self._major_faults,
            self._read_bytes,
        ]

    def waits(self) -> list[Value]:
        """Return for each kind the waits of main threads and of workers."""
        return [value for kind in KINDS for value in (self._waits[kind], self._worker_waits[kind])]

    def _add_main(self, use: ProcessUse) -> None:
        self._run += use.run
        self._delay += use.delay
        self._cpu += use.cpu
        _add_waits(self._waits, use)

    def _add_reads(self, use: ProcessUse) -> None:
        self._major_faults += use.major_faults
        if use.read_bytes is None:
            self._read_bytes = None
        else:
            self._read_bytes = (self._read_bytes or 0) + use.read_bytes


def _add_waits(totals: dict[str, float], use: ProcessUse) -> None:
    for kind, seconds in use.waits.items():
        totals[kind] += seconds
