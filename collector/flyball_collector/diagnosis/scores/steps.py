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

MANY_HOSTS = 256
"""With more hosts than this each is heard in one second of four: shares need no more, and Python is slow."""

EVERY = 4


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
        every = EVERY if hosts > MANY_HOSTS else 1
        for place in range(second % every, hosts, every):
            state = view.states[place]
            if state.extras is None or state.sequence == sequences[place]:
                continue
            sequences[place] = state.sequence
            if state.extras.steps and (told := _shares(state.extras.steps, second // every)) is not None:
                found[:, place] = [np.nan if value is None else value for value in told]
        return dict(zip(NAMES, found, strict=True))


def _shares(reports: Sequence[pb.StepReport], turn: int) -> Shares | None:
    report = reports[turn % len(reports)]
    wait = report.data_wait_seconds if report.HasField("data_wait_seconds") else None
    return shares(report.section_seconds, report.steps, report.step_seconds, wait)
