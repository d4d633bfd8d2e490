"""Where the steps of a host's runs spend their time, by their own reports."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.scores.sections import Shares, shares
from flyball_collector.diagnosis.view import View
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]

NAMES = Shares._fields

HOSTS_A_SECOND = 256
"""With more hosts than this they are heard by turns: shares need no more, and Python is slow."""


class Steps:
    """One report of each host a second, its ranks by turns."""

    def __init__(self) -> None:
        self._heard = Kept(sequence=-1)

    def read(self, view: View) -> dict[str, Floats]:
        """Along hosts; unknown where nothing new was reported."""
        hosts = len(view.hosts)
        self._heard.align(view.hosts)
        found = np.full((len(NAMES), hosts), np.nan)
        second = int(view.now)
        sequences = self._heard["sequence"]
        every = max(1, -(-hosts // HOSTS_A_SECOND))
        states, told, places = view.states, [], []
        for place in range(second % every, hosts, every):
            state = states[place]
            if state.extras is None or state.sequence == sequences[place]:
                continue
            sequences[place] = state.sequence
            if (reports := state.extras.steps) and (said := _shares(reports, second // every)) is not None:
                told.append(said)
                places.append(place)
        if told:
            found[:, places] = np.array(told, dtype=np.float64).T  # what is not told becomes NaN
        return dict(zip(NAMES, found, strict=True))


def _shares(reports: Sequence[pb.StepReport], turn: int) -> Shares | None:
    report = reports[turn % len(reports)]
    wait = report.data_wait_seconds if report.HasField("data_wait_seconds") else None
    return shares(report.section_seconds, report.steps, report.step_seconds, wait)
