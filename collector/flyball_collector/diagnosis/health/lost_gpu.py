"""GPUs that no longer answer, and GPUs that an agent no longer lists after it has started again."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_GPU
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_lost"]

_SETTLE_SECONDS = 60.0  # an agent that starts, or a driver that is reloaded, lists its GPUs one after the other


class LostGpuDetector:
    """A GPU that goes missing beside others that answer is lost; where none answers, the driver is silent."""

    name = "lost_gpu"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_GPU,)

    def __init__(self, settings: HealthSettings) -> None:
        self._forget_after = settings.gpu_missing_seconds
        self._listed: Subjects = subjects(())
        self._hosts: Subjects = subjects(())
        self._missing: dict[Subject, float] = {}  # since when
        self._all: Subjects = subjects(())
        self._key: tuple[Subjects, Subjects, tuple[Subject, ...]] | None = None

    def observe(self, view: View) -> Iterable[Claims]:
        """The driver's flag, and the list as it was."""
        if view.gpus is not self._listed or view.hosts is not self._hosts:
            self._compare(view)
        late = [s for s, since in self._missing.items() if view.now - since > self._forget_after]
        for subject in late:
            del self._missing[subject]
        self._name(view)
        count = len(view.gpus)
        lost = view.gpu("gpu_lost")
        answering = np.bincount(view.gpus.hosts, ~(lost > 0), minlength=len(view.hosts)) > 0
        missing = np.array([view.now - since >= _SETTLE_SECONDS for since in self._missing.values()], dtype=bool)
        hosts = self._all.hosts[count:]
        gone = missing & answering[hosts] & view.alive[hosts]
        enters = np.concatenate([lost > 0, gone])
        yield Claims(
            kind=KIND,
            subjects=self._all,
            enters=enters,
            stays=np.concatenate([lost > 0, np.ones(len(missing), dtype=bool)]),
            confidence=np.concatenate([np.full(count, 0.99), np.full(len(missing), 0.8)]),
            known=np.concatenate([~np.isnan(lost), view.alive[hosts]]),
            because=lambda place: self._words(place, count),
        )

    def _words(self, place: int, count: int) -> str:
        if place < count:
            return "the driver answers “GPU is lost”; drain the node and restart it, then inspect it if it comes again"
        return "the agent listed this GPU before and does not any more, while others answer; restart the node"

    def _compare(self, view: View) -> None:
        """Whom hosts that are still there no longer list."""
        for subject in self._listed.names:
            if subject not in view.gpus.places and Subject(subject.host) in view.hosts.places:
                self._missing.setdefault(subject, view.now)
        for subject in list(self._missing):
            if subject in view.gpus.places or Subject(subject.host) not in view.hosts.places:
                del self._missing[subject]
        self._listed, self._hosts = view.gpus, view.hosts

    def _name(self, view: View) -> None:
        key = (view.gpus, view.hosts, tuple(self._missing))
        if key == self._key:
            return
        self._key = key
        hosts = [view.hosts.places[Subject(subject.host)] for subject in self._missing]
        positions = np.concatenate([view.gpus.hosts, np.array(hosts, dtype=np.int64)])
        self._all = subjects((*view.gpus.names, *self._missing), positions) if hosts else view.gpus
