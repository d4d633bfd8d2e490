"""Loader workers and prefetch."""

import pytest

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.diagnosis.subject import Subject
from tests.collector.adjustments.rules.runs import (
    GIB,
    NOW,
    SECOND,
    adjustment,
    event,
    find,
    host,
    ranks,
    situation,
    to_of,
    value,
)


def more_workers(added: float, on: str = "a") -> Advice:
    """Return the advice to add loader workers on a host."""
    return Advice(
        rule="more_workers",
        subject=Subject(on),
        because="40 % of each step waits for input",
        change="add loader workers",
        proposed={"workers_added": added},
        gain=Gain(1.2, 1.6),
        confidence=0.8,
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="a test",
    )


@pytest.mark.parametrize(("now", "added", "cores", "to"), [
    (0, 8, 64.0, 2), (2, 8, 64.0, 4), (4, 16, 64.0, 8), (4, 3, 64.0, None), (4, 16, 4.0, None), (2, 8, 5.0, 4),
])  # fmt: skip
def test_workers_are_added_within_all_limits(now: int, added: float, cores: float, to: int | None) -> None:
    """Two are added at first, then as many again: never more than advised, and never more than cores."""
    found = situation(advice=(more_workers(added),), hosts=(host(cores=cores),))
    assert to_of(find("add_loader_workers", [value("loader_workers", now)], found)) == to


def test_the_ranks_of_a_host_share_its_cores() -> None:
    """Four ranks on 16 cores get four workers each, although one rank alone could have more."""
    workers = [value("loader_workers", 2)]
    found = situation(advice=(more_workers(64),), hosts=(host(cores=16.0),))
    assert to_of(find("add_loader_workers", ranks(*[workers] * 4), found)) == 4
    few = situation(advice=(more_workers(64),), hosts=(host(cores=8.0),))
    assert find("add_loader_workers", ranks(*[workers] * 4), few) is None


def test_workers_need_memory_and_advice() -> None:
    """Nothing is added under memory pressure, or without the advice."""
    found = situation(event("memory_pressure"), advice=(more_workers(8),))
    assert find("add_loader_workers", [value("loader_workers")], found) is None
    assert find("add_loader_workers", [value("loader_workers")], situation()) is None


def test_prefetch_is_deepened_when_workers_cannot_be_added() -> None:
    """While workers can be added they come first; prefetch also needs a worker and memory."""
    waits = event("bottleneck_data_wait")
    prefetch, workers = value("loader_prefetch"), value("loader_workers")
    advised = situation(waits, advice=(more_workers(8),))
    assert find("deepen_prefetch", [workers, prefetch], advised) is None
    assert to_of(find("deepen_prefetch", [workers, prefetch], situation(waits))) == 4
    assert find("deepen_prefetch", [value("loader_workers", 0), prefetch], situation(waits)) is None
    full = situation(waits, hosts=(host(memory_available_bytes=100 * GIB),))
    assert find("deepen_prefetch", [workers, prefetch], full) is None


@pytest.mark.parametrize(("kind", "gpu", "to"), [
    ("memory_pressure", "", 4), ("oom_kill", "", 4), ("memory_exhaustion", "", 4), ("memory_exhaustion", "GPU-0", None),
    ("bottleneck_cpu", "", None),
])  # fmt: skip
def test_a_host_without_memory_loses_workers(kind: str, gpu: str, to: int | None) -> None:
    """Half the workers are stopped if the host's memory is short; a GPU's memory is another matter."""
    assert to_of(find("remove_loader_workers", [value("loader_workers", 8)], situation(event(kind, gpu=gpu)))) == to


def test_workers_are_removed_once_for_each_condition() -> None:
    """A condition from before the change does not remove more."""
    old = event("memory_pressure", raised_ns=NOW - 60 * SECOND)
    removed = [adjustment("loader_workers", 8, 4, ago=30, protects=True)]
    assert find("remove_loader_workers", [value("loader_workers", 4)], situation(old), removed) is None


def test_prefetch_is_shortened_after_the_workers() -> None:
    """At the last worker, fewer batches are prefetched."""
    pressure = situation(event("memory_pressure"))
    prefetch = value("loader_prefetch", 8)
    assert find("shorten_prefetch", [value("loader_workers", 4), prefetch], pressure) is None
    assert to_of(find("shorten_prefetch", [value("loader_workers", 1), prefetch], pressure)) == 4


@pytest.mark.parametrize(("now", "cores", "to"), [(16, 4.0, 4), (8, 4.0, None), (16, None, None)])
def test_many_more_workers_than_cores_are_reduced(now: int, cores: float | None, to: int | None) -> None:
    """Twice as many as cores are too many; with unknown cores nothing is proposed."""
    found = situation(hosts=(host(cores=cores),))
    assert to_of(find("fit_loader_workers", [value("loader_workers", now)], found)) == to
