"""Reads from step reports where the steps of a host's runs spend their time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.sections import Shares, shares
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NAMES = Shares._fields

HOSTS_A_SECOND = 256
"""With more hosts than this, each is read every few seconds, because parsing in Python is slow."""


PAUSED_SECONDS = 5.0
"""A paused rank reports its pause each second."""


class Steps:
    """Reads one report of each host a second, rotating through its ranks."""

    def __init__(self) -> None:
        self._read = SubjectArrays(sequence=-1, paused_at=float("-inf"))
        self.paused: Flags = np.zeros(0, dtype=np.bool_)
        """Hosts on which adjustments pause all ranks now: their GPUs and CPUs rest on purpose."""

    def read(self, view: View) -> dict[str, Floats]:
        """Return the shares along hosts; unknown if there is no new report."""
        hosts = len(view.hosts)
        self._read.align(view.hosts)
        found = np.full((len(NAMES), hosts), np.nan)
        second = int(view.now)
        sequences = self._read["sequence"]
        every = max(1, -(-hosts // HOSTS_A_SECOND))
        found_shares, places = [], []
        paused_at = self._read["paused_at"]
        share = slice(second % every, hosts, every)
        for place, state, before in zip(
            range(hosts)[share], view.states[share], sequences[share].tolist(), strict=True
        ):
            extras = state.extras
            if extras is None or state.sequence == before:
                continue
            sequences[place] = state.sequence
            reports = extras.steps
            if not reports:
                continue
            if reports[0].paused_seconds > 0 and _are_paused(reports):
                paused_at[place] = view.now
            if (found_share := _shares(reports, second // every)) is not None:
                found_shares.append(found_share)
                places.append(place)
        self.paused = view.now - paused_at < PAUSED_SECONDS * every
        if found_shares:
            found[:, places] = np.array(found_shares, dtype=np.float64).T  # None becomes NaN
        return dict(zip(NAMES, found, strict=True))


def _are_paused(reports: Sequence[pb.StepReport]) -> bool:
    """Return True if all ranks were paused since the last record."""
    return all(report.paused_seconds > 0 and not report.steps for report in reports)


def _shares(reports: Sequence[pb.StepReport], number: int) -> Shares | None:
    report = reports[number % len(reports)]
    wait = report.data_wait_seconds if report.HasField("data_wait_seconds") else None
    return shares(report.section_seconds, report.steps, report.step_seconds, wait)
