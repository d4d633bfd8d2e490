"""The sums of a process tree: nothing is lost that was seen, and nothing counts twice."""

import random
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from flyball.profiling.process_reading import ConsumedResources, ProcessReading
from flyball.profiling.tree_ledger import TreeLedger

ROOT, OUTSIDE, READER = 100, 1, 99


def reading(pid: int, parent: int, own: float, waited: float = 0.0, io: float = 0.0) -> ProcessReading:
    """Return a process with CPU seconds and written bytes."""
    consumed = ConsumedResources(cpu_seconds=own + waited, write_bytes=io)
    return ProcessReading(pid, 1, parent, 1, 0, consumed, waited, io_known=True)


def cpu(ledger: TreeLedger, *readings: ProcessReading, waited: float = 0.0) -> float:
    """Update the ledger and return its CPU seconds, rounded."""
    return round(ledger.update(readings, ConsumedResources(cpu_seconds=waited)).cpu_seconds, 6)


def test_a_child_that_was_waited_for_counts_once() -> None:
    """The kernel adds its sums to those of its parent."""
    ledger = TreeLedger()
    assert cpu(ledger, reading(ROOT, 1, 1.0), reading(101, ROOT, 2.0)) == 3.0
    assert cpu(ledger, reading(ROOT, 1, 1.0, waited=2.5)) == 3.5


def test_a_child_that_nobody_waits_for_is_kept() -> None:
    """Its parent ignores SIGCHLD: the kernel drops the sums."""
    ledger = TreeLedger()
    cpu(ledger, reading(ROOT, 1, 1.0), reading(101, ROOT, 2.0))
    assert [cpu(ledger, reading(ROOT, 1, 1.0 + own)) for own in range(4)] == [3.0, 4.0, 5.0, 6.0]


def test_a_child_that_disappears_before_its_parent_has_its_sums_counts_once() -> None:
    """The parent was read first, then the child ended: the parent's sums have grown by the next update."""
    ledger = TreeLedger()
    cpu(ledger, reading(ROOT, 1, 1.0), reading(101, ROOT, 2.0))
    assert cpu(ledger, reading(ROOT, 1, 1.0)) == 3.0
    assert cpu(ledger, reading(ROOT, 1, 1.0, waited=2.0)) == 3.0
    assert cpu(ledger, reading(ROOT, 1, 1.5, waited=2.0)) == 3.5


def test_the_growth_of_an_ancestor_pays_for_one_child_only() -> None:
    """A second child of the same size, for which nobody waited, is kept."""
    ledger = TreeLedger()
    cpu(ledger, reading(ROOT, 1, 1.0), reading(101, ROOT, 2.0), reading(102, ROOT, 2.0))
    assert cpu(ledger, reading(ROOT, 1, 1.0, waited=2.0), reading(102, ROOT, 2.0)) == 5.0
    assert cpu(ledger, reading(ROOT, 1, 1.0, waited=2.0)) == 5.0
    assert cpu(ledger, reading(ROOT, 1, 4.0, waited=2.0)) == 8.0


def test_a_child_that_was_read_before_it_ended_counts_once_in_the_end() -> None:
    """The child was read first and ended before its parent was read, whose sums have grown already."""
    ledger = TreeLedger()
    cpu(ledger, reading(101, ROOT, 2.0), reading(ROOT, 1, 1.0))
    cpu(ledger, reading(101, ROOT, 2.0), reading(ROOT, 1, 1.0, waited=2.0))
    for _ in range(3):
        cpu(ledger, reading(ROOT, 1, 1.0, waited=2.0))
    assert cpu(ledger, reading(ROOT, 1, 5.0, waited=2.0)) == 7.0


def test_an_orphan_outside_of_the_tree_is_kept_when_it_ends() -> None:
    """Its new parent is not a member."""
    ledger = TreeLedger()
    cpu(ledger, reading(ROOT, 1, 1.0), reading(101, OUTSIDE, 2.0))
    assert cpu(ledger, reading(ROOT, 1, 1.0, waited=4.0)) == 7.0


def test_a_parent_and_its_child_that_end_together_go_to_the_grandparent() -> None:
    """The parent waited for the child, and the grandparent for the parent."""
    ledger = TreeLedger()
    cpu(ledger, reading(ROOT, 1, 1.0), reading(101, ROOT, 2.0), reading(102, 101, 3.0))
    assert cpu(ledger, reading(ROOT, 1, 1.0, waited=5.5)) == 6.5


def test_what_the_reader_waited_for_is_added() -> None:
    """The root of a command, and orphans that it adopted."""
    ledger = TreeLedger(READER)
    cpu(ledger, reading(ROOT, READER, 1.0), reading(101, ROOT, 2.0))
    assert cpu(ledger, reading(101, READER, 2.0), waited=1.2) == 3.2
    assert cpu(ledger, waited=2.3) == 3.5
    assert cpu(ledger) == 3.5


def test_written_bytes_follow_the_same_rule() -> None:
    """The kernel adds the I/O of a child to that of its parent, without a separate sum."""
    ledger = TreeLedger()
    ledger.update([reading(ROOT, 1, 0, io=10), reading(101, ROOT, 0, io=500)])
    assert ledger.update([reading(ROOT, 1, 0, io=530)]).write_bytes == 530


@dataclass
class World:
    """Processes that use CPU time, start others and end."""

    choose: random.Random
    own: dict[int, float] = field(default_factory=lambda: {ROOT: 0.0})
    waited: dict[int, float] = field(default_factory=lambda: {ROOT: 0.0})
    parent: dict[int, int] = field(default_factory=lambda: {ROOT: READER})
    by_reader: float = 0.0
    used: float = 0.0
    next_pid: int = ROOT + 1

    def act(self, waits: float) -> None:
        """Let one process do something. A child that ends is waited for with this probability."""
        pid = self.choose.choice(list(self.own))
        if self.choose.random() < 0.5:
            seconds = self.choose.randint(1, 8) / 4
            self.own[pid] += seconds
            self.used += seconds
        elif self.choose.random() < 0.6:
            self.own[self.next_pid] = self.waited[self.next_pid] = 0.0
            self.parent[self.next_pid] = pid
            self.next_pid += 1
        elif pid != ROOT:
            self._end(pid, self.choose.random() < waits)

    def _end(self, pid: int, waited: bool) -> None:
        total, parent = self.own.pop(pid) + self.waited.pop(pid), self.parent.pop(pid)
        for child, its_parent in self.parent.items():
            if its_parent == pid:
                self.parent[child] = READER
        if waited and parent == READER:
            self.by_reader += total
        elif waited:
            self.waited[parent] += total

    def sample(self, ledger: TreeLedger) -> float:
        """Update the ledger and return its CPU seconds."""
        readings = [reading(pid, self.parent[pid], own, self.waited[pid]) for pid, own in self.own.items()]
        waited, self.by_reader = self.by_reader, 0.0
        return cpu(ledger, *readings, waited=waited)


@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 12), max_size=30))
def test_the_sum_is_exact_if_each_child_is_waited_for(choose: random.Random, pauses: list[int]) -> None:
    """However processes start, work and end between the updates."""
    world, ledger = World(choose), TreeLedger(READER)
    for steps in pauses:
        for _ in range(steps):
            world.act(waits=1.0)
        assert world.sample(ledger) == round(world.used, 6)


@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 12), max_size=30), st.floats(0.0, 1.0))
def test_the_sum_never_exceeds_what_was_used(choose: random.Random, pauses: list[int], waits: float) -> None:
    """Also if some children are not waited for; and it never falls."""
    world, ledger, before = World(choose), TreeLedger(READER), 0.0
    for steps in pauses:
        for _ in range(steps):
            world.act(waits)
        now = world.sample(ledger)
        assert before <= now <= round(world.used, 6)
        before = now
