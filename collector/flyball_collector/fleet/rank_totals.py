"""Computes the totals of ranks, which are exported."""

import math
from collections.abc import Mapping

from flyball_collector.fleet.rank_details import RankDetails
from flyball_collector.fleet.rank_sums import SUMS, RankSums
from flyball_collector.fleet.step_totals import StepTotals

_PEAKS = ("allocated_peak_bytes", "reserved_peak_bytes")
_COLUMNS = ("received", "step", *SUMS, "loss", "device_seconds", *_PEAKS, "detailed")
_SECOND = 10**9

RowsOfHost = Mapping[tuple[str, int], int]
"""The row of each rank of a host, by run and rank."""


def step_totals(
    rows_of: Mapping[str, RowsOfHost], sums: RankSums, details: RankDetails, since: float
) -> dict[str, tuple[StepTotals, ...]]:
    """Return the sums of the ranks that have reported since then, by host."""
    columns = [sums[name].tolist() for name in _COLUMNS]
    detailed = [row for rows in rows_of.values() for row in rows.values() if columns[-1][row]]
    calls_of = dict(zip(detailed, details.call_totals(detailed), strict=True))
    found = {}
    for host, rows in rows_of.items():
        totals: list[StepTotals] = []
        for (run, rank), row in rows.items():
            values = [column[row] for column in columns]
            received, step, steps, seconds, wait, tokens, samples, loss, device, allocated, reserved, _ = values
            if received >= since:
                known = (_known(wait), _known(tokens), _known(samples), _known(loss), _known(device))
                at_ns, calls = round(received * _SECOND), calls_of.get(row, ())
                peaks = _known(allocated), _known(reserved)
                totals.append(StepTotals(run, rank, at_ns, int(step), int(steps), seconds, *known, calls, *peaks))
        found[host] = tuple(totals)
    return found


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
