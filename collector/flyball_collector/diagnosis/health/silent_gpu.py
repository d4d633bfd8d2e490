"""GPU drivers that do not answer, or fail: the readings are missing, not zero."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.told import Told, quoted
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.met import ANY_AGENT, ANY_SILENCE
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_proto.silence import Reason, Silence

KIND = BY_NAME["gpu_silent"]

_PROBES = frozenset({"nvidia", "amd", "intel"})
_REASONS = frozenset({Reason.FAILED, Reason.TIMED_OUT})


class SilentGpuDetector:
    """Hardware that is not there, or that the agent may not read, is no fault of the driver."""

    name = "silent_gpu"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT, ANY_SILENCE)

    def __init__(self, told: Told) -> None:
        self._told = told
        self._silent: dict[str, Silence] = {}

    def observe(self, view: View) -> Iterable[Claims]:
        """Hosts whose accelerator probe is wholly silent for a bad reason."""
        for state in self._told.silences_changed(view):
            whole = [s for s in state.silences if s.probe in _PROBES and not s.metric and not s.resource]
            found = [s for s in whole if s.reason in _REASONS]
            if found:
                self._silent[state.name] = found[0]
            else:
                self._silent.pop(state.name, None)
        enters = np.zeros(len(view.hosts), dtype=bool)
        for name in list(self._silent):
            place = view.hosts.places.get(Subject(name))
            if place is None:
                del self._silent[name]
            else:
                enters[place] = True
        yield Claims(
            kind=KIND,
            subjects=view.hosts,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.hosts), 0.95),
            known=view.alive,
            because=lambda place: self._words(view.hosts.names[place].host),
        )

    def _words(self, host: str) -> str:
        silence = self._silent[host]
        remedy = f"; to do: {quoted(silence.remedy)}" if silence.remedy else ""
        return f"probe {silence.probe}: {silence.reason.word.replace('_', ' ')}, {quoted(silence.detail)}{remedy}"
