"""Combines the subjects of several orders: GPUs, and named resources of each host."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View

Places = NDArray[np.int64]


@dataclass(slots=True)
class JoinedSubjects:
    """GPUs first, then each resource along hosts. The order stays the same object until the fleet changes."""

    resources: tuple[str, ...]
    _of: tuple[Subjects, Subjects] | None = None
    _made: Subjects | None = None

    def subjects(self, view: View) -> Subjects:
        """Return the order for this view."""
        of = (view.hosts, view.gpus)
        if self._made is None or self._of is None or self._of[0] is not of[0] or self._of[1] is not of[1]:
            names = list(view.gpus.names)
            places = [view.gpus.hosts]
            for resource in self.resources:
                names += [Subject(host.host, resource=resource) for host in view.hosts.names]
                places.append(np.arange(len(view.hosts), dtype=np.int64))
            self._of, self._made = of, subjects(names, np.concatenate(places))
        return self._made


def source_of(now: Subjects, before: Subjects) -> Places:
    """Return the earlier position of each subject; −1 if it is new."""
    source = np.full(len(now), -1, dtype=np.int64)
    here, there = now.shared_with(before)
    source[here] = there
    return source
