"""Detects GPUs that no longer respond, and GPUs that an agent no longer lists."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.seen_metrics import ANY_GPU
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_lost"]

_SETTLE_SECONDS = 60.0  # a starting agent or a reloaded driver lists its GPUs one by one


class LostGpuDetector:
    """Reports GPUs that are missing while others of the host respond. If none responds, `gpu_not_reporting` applies."""

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
        """Evaluate the driver's flag, and compare the list of GPUs with the earlier one."""
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
            return "the driver reports “GPU is lost”; drain and restart the host; inspect it if this happens again"
        return "the agent no longer lists this GPU, but other GPUs respond; restart the host"

    def _compare(self, view: View) -> None:
        """Note GPUs that a host no longer lists although it is still there."""
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
