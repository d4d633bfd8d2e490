"""Detects memory pressure: the time that tasks stall while the kernel reclaims memory (PSI)."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.view import View

LEAVE = 0.8
"""The exit level, as a share of the entry level."""


class MemoryPressure:
    """Evaluates the kernel's stall counters. By default, systemd-oomd kills at 60 % for 30 s (oomd.conf(5))."""

    name = "memory_pressure"
    kinds = (BY_NAME["memory_pressure"],)
    needs: Sequence[str] = ("pressure_seconds_total",)

    def __init__(self, settings: ForecastSettings) -> None:
        self._warning = settings.pressure_ratio
        self._critical = settings.pressure_critical_ratio

    def observe(self, view: View) -> Iterable[Claims]:
        """Report hosts where some task stalls often; critical if all tasks stall for too long."""
        some = view.host("pressure_seconds_total", 10, resource="memory", extent="some")
        full = view.host("pressure_seconds_total", 10, resource="memory", extent="full")
        longer = view.host("pressure_seconds_total", 60, resource="memory", extent="full")
        kills = (full >= self._critical) & (longer >= self._critical / 2)  # about 30 s of the last minute

        def because(place: int) -> str:
            return clauses(
                ("tasks stalled for memory {:.1f} % of 10 s", 100 * some[place]),
                ("all tasks together {:.1f} %", 100 * full[place]),
                separator=", ",
            )

        yield Claims(
            kind=self.kinds[0], subjects=view.hosts, enters=some >= self._warning, stays=some >= LEAVE * self._warning,
            confidence=np.full(len(some), 0.9), known=~np.isnan(some), level=np.clip(some, 0, 1),
            severity=np.where(kills, Severity.CRITICAL, Severity.WARNING).astype(np.int8), because=because,
            evidence={"some_ratio": some, "full_ratio": full},
        )  # fmt: skip
