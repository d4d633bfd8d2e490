"""Lost GPU time: counted once for its innermost cause, never if unknown, and kept over restarts."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.waste import CAUSES, LONGEST_SECONDS, NAMES, WasteLedger
from flyball_collector.diagnosis.waste_keeper import ID, KIND, WasteKeeper, encode
from flyball_collector.diagnosis.waste_totals import FORGET_SECONDS, MAX_RUNS
from flyball_collector.store.contract import Document, StoreUnavailable
from flyball_collector.store.memory import MemoryStore
from flyball_proto.v1 import telemetry_pb2 as pb

A, B = "host-00000", "host-00001"
GIB = 2.0**30


def event(kind: str, subject: Subject, level: float | None = None, **evidence: float) -> Event:
    return Event(
        condition="c",
        time_ns=1,
        state=State.RAISED,
        kind=BY_NAME[kind],
        subject=subject,
        severity=BY_NAME[kind].severity,
        confidence=0.9,
        level=level,
        evidence=evidence,
    )


class Fleet:
    """Two hosts with two held GPUs each; time passes second by second."""

    def __init__(self, hosts: int = 2) -> None:
        self.machines = Machines(hosts, gpus=2)
        self.busy = self.along(0.25)
        self.clock = self.along(1.5e9)
        self.used = self.along(40 * GIB)
        self.active: list[Event] = []
        self.ledger = WasteLedger()
        self.now = 1000.0

    def along(self, value: float) -> NDArray[np.float64]:
        return np.full(len(self.machines.gpus), value)

    def raised(self, *active: Event) -> None:
        self.ledger.on_events(active)
        self.active = list(active)

    def go(self, seconds: int, step: float = 1.0) -> None:
        for _ in range(seconds):
            self.now += step
            gpus = {
                "gpu_utilization_ratio": self.busy,
                "gpu_sm_clock_hertz": self.clock,
                "gpu_memory_used_bytes": self.used,
            }
            self.ledger.add_second(ArrayView(self.machines, self.now, gpu=gpus), lambda: self.active)

    def run(self, host: int, run: str, gpus: Sequence[int] = (0, 1), rank: int = 0) -> None:
        names = [self.machines.gpus.names[2 * host + gpu].gpu for gpu in gpus]
        members = [
            pb.Member(pid=1 + gpu, run=run, rank=rank + gpu, gpus=[name]) for gpu, name in zip(gpus, names, strict=True)
        ]
        self.machines.states[host].tenancy = pb.Tenancy(members=members)

    def lost(self) -> dict[str, dict[str, float]]:
        return {host: by_cause(lost) for host, lost in self.ledger.hosts.all().items()}

    def lost_by_run(self) -> dict[str, dict[str, float]]:
        return {run: by_cause(lost) for run, lost in self.ledger.runs.all().items()}


def by_cause(lost: NDArray[np.float64]) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in zip(NAMES, lost, strict=True) if value}


@pytest.fixture
def fleet() -> Fleet:
    fleet = Fleet()
    fleet.go(1)  # the first second only sets the start
    return fleet


def test_idle_time_with_a_cause_is_lost(fleet: Fleet) -> None:
    """Both GPUs of the host that waits for its disk lose their idle time; the other host loses nothing."""
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.go(10)
    assert fleet.lost() == {A: {"disk": 15.0}}


def test_without_a_cause_nothing_is_lost(fleet: Fleet) -> None:
    """A GPU that idles without a known cause is not waste, and neither is one that is limited by its own speed."""
    fleet.go(10)
    fleet.raised(event("bottleneck_gpu_compute", Subject(A, fleet.machines.gpus.names[0].gpu)))
    fleet.go(10)
    assert fleet.lost() == {}


def test_unknown_is_not_lost(fleet: Fleet) -> None:
    """A GPU without readings loses nothing, and neither does one that is not held."""
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.busy[0] = np.nan
    fleet.used[1] = 0.0
    fleet.go(10)
    assert fleet.lost() == {}


def test_seconds_count_once(fleet: Fleet) -> None:
    """The first of several causes gets them. A GPU's own cause leaves its neighbour to the host's cause."""
    gpu = fleet.machines.gpus.names[0].gpu
    fleet.raised(
        event("bottleneck_idle_gpu", Subject(A, gpu)),
        event("bottleneck_disk", Subject(A)),
        event("gpu_xid", Subject(A, gpu)),
    )
    fleet.go(10)
    assert fleet.lost() == {A: {"gpu_xid": 7.5, "disk": 7.5}}
    assert sum(fleet.lost()[A].values()) == 2 * 10 * 0.75


def test_a_cause_that_is_over_takes_no_more_time(fleet: Fleet) -> None:
    """Seconds go to the cause that is active when they pass."""
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.go(4)
    fleet.raised(event("bottleneck_cpu", Subject(A)))
    fleet.go(2)
    fleet.ledger.on_events([event("bottleneck_cpu", Subject(A))])
    fleet.active = []
    fleet.go(10)
    assert fleet.lost() == {A: {"disk": 6.0, "cpu": 3.0}}


def test_a_slowed_gpu_loses_the_reduction_of_its_clock(fleet: Fleet) -> None:
    """The clock is compared with its usual value while the GPU works. If that is unknown, nothing is lost."""
    fleet.busy[:] = 1.0
    fleet.go(10)
    gpu = fleet.machines.gpus.names[0].gpu
    fleet.raised(event("thermal_slowdown", Subject(A, gpu)))
    fleet.go(10)
    assert fleet.lost() == {}, "it is about to be slowed down, and is not yet"
    fleet.clock[0] = 0.75e9
    fleet.go(10)
    assert fleet.lost() == {A: {"thermal_slowdown": 5.0}}
    fleet.busy[0] = 0.0
    fleet.go(10)
    assert fleet.lost() == {A: {"thermal_slowdown": 5.0}}


def test_a_capped_gpu_loses_the_difference_to_its_peers(fleet: Fleet) -> None:
    """The condition reports the share, which counts while the GPU works."""
    fleet.busy[:] = 0.5
    fleet.raised(event("power_capped", Subject(A, fleet.machines.gpus.names[0].gpu), level=0.2))
    fleet.go(10)
    assert fleet.lost() == {A: {"power_capped": 1.0}}


def test_a_hang_takes_the_whole_run(fleet: Fleet) -> None:
    """GPUs that wait in a collective look busy. All seconds of the run are lost, on each of its hosts."""
    fleet.run(0, "train")
    fleet.run(1, "train", gpus=[1], rank=2)
    fleet.busy[:] = 1.0
    fleet.raised(event("run_hang", Subject(run="train")))
    fleet.go(10)
    assert fleet.lost() == {A: {"run_hang": 20.0}, B: {"run_hang": 10.0}}
    assert fleet.lost_by_run() == {"train": {"run_hang": 30.0}}


def test_a_straggler_costs_its_run_and_a_slow_rank_only_itself(fleet: Fleet) -> None:
    """Steps that take a quarter longer lose a fifth of the time: for all ranks, or for the slow rank alone."""
    fleet.busy[:] = 1.0
    fleet.run(0, "train")
    fleet.run(1, "train", rank=2)
    fleet.raised(event("straggler", Subject(A, run="train", rank=0), step_ratio=1.25))
    fleet.go(10)
    assert fleet.lost_by_run() == {"train": {"straggler": 8.0}}
    fleet.raised(event("fail_slow", Subject(A, run="train", rank=0), step_ratio=1.25))
    fleet.go(10)
    assert fleet.lost_by_run() == {"train": {"straggler": 8.0, "fail_slow": 2.0}}


def test_a_straggler_from_the_start_loses_the_excess_of_its_own_work(fleet: Fleet) -> None:
    """If there is no past to compare with, its own sections are compared with those of its peers."""
    fleet.busy[:] = 1.0
    fleet.run(0, "train")
    own = {"step_ratio": 1.0, "own_seconds": 0.9, "peers_own_seconds": 0.6, "step_seconds": 1.0}
    fleet.raised(event("straggler", Subject(A, run="train", rank=0), **own))
    fleet.go(10)
    assert fleet.lost_by_run() == {"train": {"straggler": 6.0}}


def test_gpus_may_move_to_another_run(fleet: Fleet) -> None:
    """Seconds belong to the run that holds the GPU when they pass."""
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.run(0, "first")
    fleet.go(2)
    fleet.run(0, "second")
    fleet.go(4)
    assert fleet.lost_by_run() == {"first": {"disk": 3.0}, "second": {"disk": 6.0}}


def test_a_pause_of_the_collector_is_not_counted(fleet: Fleet) -> None:
    """Time that was not observed counts a few seconds at most; a clock that goes back counts nothing."""
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.go(1, step=3600.0)
    assert fleet.lost() == {A: {"disk": 1.5 * LONGEST_SECONDS}}
    fleet.go(1, step=-7200.0)
    assert fleet.lost() == {A: {"disk": 1.5 * LONGEST_SECONDS}}


def test_a_returning_host_continues_with_its_totals(fleet: Fleet) -> None:
    """Counters never fall while the collector runs. After a day, they start again."""
    fleet.raised(event("bottleneck_disk", Subject(B)))
    fleet.go(2)
    both, one = fleet.machines, Machines(1, gpus=2)

    def only(machines: Machines) -> None:
        fleet.machines = machines
        fleet.busy, fleet.clock, fleet.used = fleet.along(0.25), fleet.along(1e9), fleet.along(40 * GIB)

    only(one)
    fleet.go(5)
    assert fleet.lost() == {B: {"disk": 3.0}}
    only(Machines(2, gpus=2))
    fleet.go(2)
    assert fleet.lost() == {B: {"disk": 6.0}}
    only(one)
    fleet.go(1)
    only(Machines(1, gpus=2, first=5))
    fleet.go(1, step=FORGET_SECONDS + 1)
    assert fleet.lost() == {}
    assert len(both.hosts) == 2


def test_ended_runs_make_room_for_new_ones(fleet: Fleet) -> None:
    """The number of runs is limited; those that ended first are replaced."""
    runs = fleet.ledger.runs
    codes = [runs.code(f"run-{n}", 0.0) for n in range(MAX_RUNS)]
    assert len(set(codes)) == MAX_RUNS
    assert runs.code("one more", 1.0) == -1
    runs.put("run-0", np.ones(len(CAUSES)), FORGET_SECONDS + 2)
    assert runs.code("one more", FORGET_SECONDS + 3) >= 0
    assert runs.all().keys() == {"run-0"}


async def test_totals_continue_after_a_restart(fleet: Fleet) -> None:
    """Saved totals are added once to the new ones, for hosts, for hosts not back yet, and for runs."""
    store = MemoryStore()
    fleet.run(0, "train")
    fleet.raised(event("bottleneck_disk", Subject(A)), event("bottleneck_cpu", Subject(B)))
    fleet.go(10)
    await load_and_save(fleet.ledger, store)
    again = Fleet(hosts=1)
    again.raised(event("bottleneck_disk", Subject(A)))
    again.run(0, "train")
    again.go(3)
    keeper = WasteKeeper(again.ledger, store)
    assert await keeper.load()
    assert await keeper.load()
    assert again.lost() == {A: {"disk": 18.0}, B: {"cpu": 15.0}}
    assert again.lost_by_run() == {"train": {"disk": 18.0}}
    await keeper.save()
    third = Fleet()
    await WasteKeeper(third.ledger, store).load()
    assert third.lost() == again.lost()


async def load_and_save(ledger: WasteLedger, store: MemoryStore) -> None:
    keeper = WasteKeeper(ledger, store)
    assert await keeper.load()
    await keeper.save()


class Unreadable(MemoryStore):
    """A store that fails while `down` is set."""

    down = False

    def get_document(self, kind: str, id: str) -> Document | None:  # noqa: A002
        if self.down:
            raise StoreUnavailable("down")
        return super().get_document(kind, id)


async def test_stored_totals_are_not_overwritten_before_they_were_loaded(fleet: Fleet) -> None:
    """If the store is not available at the start, nothing in it is lost, and it is loaded later."""
    store = Unreadable()
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.go(10)
    await load_and_save(fleet.ledger, store)
    again = Fleet()
    again.raised(event("bottleneck_disk", Subject(A)))
    again.go(3)
    keeper = WasteKeeper(again.ledger, store, every_seconds=0.01, retry_seconds=0.01)
    store.down = True
    assert not await keeper.load()
    store.down = False
    await keeper.save()
    document = store.get_document(KIND, ID)
    assert document is not None
    assert document.body == encode(fleet.ledger)
    task = asyncio.create_task(keeper.run(), name="keeper")
    async with asyncio.timeout(60):
        while getattr(store.get_document(KIND, ID), "body", None) != encode(again.ledger):  # noqa: ASYNC110  its task
            await asyncio.sleep(0.01)
    task.cancel()
    assert again.lost() == {A: {"disk": 18.0}}


async def test_unchanged_totals_are_not_saved_again(fleet: Fleet) -> None:
    """An idle fleet causes no writes."""
    store = MemoryStore()
    fleet.raised(event("bottleneck_disk", Subject(A)))
    fleet.go(10)
    keeper = WasteKeeper(fleet.ledger, store)
    await keeper.load()
    await keeper.save()
    await keeper.save()
    document = store.get_document(KIND, ID)
    assert document is not None
    assert document.revision == 1


async def test_an_invalid_document_is_ignored() -> None:
    """A damaged document, or causes of another version, do not matter."""
    for body, expected in (
        (b"\xff{", {}),
        (b'{"hosts":{"%s":{"disk":2,"of_old":5}}}' % A.encode(), {A: {"disk": 2.0}}),
    ):
        store, ledger = MemoryStore(), WasteLedger()
        store.put_document(KIND, ID, body)
        assert await WasteKeeper(ledger, store).load()
        assert {host: by_cause(lost) for host, lost in ledger.hosts.all().items()} == expected


def test_every_cause_is_one_kind() -> None:
    """Names are those of conditions without the prefix."""
    assert len(set(NAMES)) == len(NAMES)
    assert {name for name, _ in CAUSES} <= BY_NAME.keys()
