"""Tests of the counters of control groups that show whose limit a kill was about."""

import shutil
from pathlib import Path

import pytest

from flyball_agent.memory_kills.group_counters import GroupHierarchy, chain_of, is_visible
from flyball_agent.memory_kills.kill import KillSource, Limit, MemoryKill
from flyball_agent.memory_kills.watched_groups import KEPT_TICKS, WatchedGroups

POD = "/kubepods.slice/pod1.slice"
LEAF = f"{POD}/main.scope"
GIB = 1 << 30


class FakeGroups:
    """Groups in a folder, with the files that the kernel would write."""

    def __init__(self, root: Path, *, unified: bool = True, local: bool = True) -> None:
        self.mount = root / "fs/cgroup" if unified else root / "fs/cgroup/memory"
        self.mount.mkdir(parents=True)
        if unified:
            (self.mount / "cgroup.controllers").write_text("memory\n")
        self._unified, self._local = unified, local
        self._counts: dict[str, dict[str, int]] = {}
        self.watched = WatchedGroups(GroupHierarchy(root))

    def add(self, path: str, limit: str = "max") -> None:
        """Create a group, and those around it."""
        for each in reversed(chain_of(path)):
            if each not in self._counts:
                self._counts[each] = {"kills": 0, "own_kills": 0, "hits": 0, "own_hits": 0}
                (self.mount / each[1:]).mkdir()
                self._write(each, "memory.max" if self._unified else "memory.limit_in_bytes", "max")
        self._write(path, "memory.max" if self._unified else "memory.limit_in_bytes", limit)
        self._write(path, "memory.peak" if self._unified else "memory.max_usage_in_bytes", limit.replace("max", "0"))
        self._flush()

    def kill(self, path: str, *, limit_of: str = "") -> None:
        """Count a kill of a process in a group, for the limit of a group or (empty) for want of the host's memory."""
        self._counts[path]["own_kills"] += 1
        for each in chain_of(path):
            self._counts[each]["kills"] += 1
        if limit_of:
            self._counts[limit_of]["own_hits"] += 1
            for each in chain_of(limit_of):
                self._counts[each]["hits"] += 1
        self._flush()

    def remove(self, path: str) -> None:
        """Remove a group; its counts stay in those around it."""
        shutil.rmtree(self.mount / path[1:])
        self._counts = {each: counts for each, counts in self._counts.items() if path not in chain_of(each)}

    def _write(self, path: str, name: str, text: str) -> None:
        (self.mount / path[1:] / name).write_text(f"{text}\n")

    def _flush(self) -> None:
        for path, counts in self._counts.items():
            if self._unified:
                self._write(path, "memory.events", f"max 3\noom {counts['hits']}\noom_kill {counts['kills']}")
                if self._local:
                    own = f"max 3\noom {counts['own_hits']}\noom_kill {counts['own_kills']}"
                    self._write(path, "memory.events.local", own)
            else:
                self._write(
                    path, "memory.oom_control", f"oom_kill_disable 0\nunder_oom 0\noom_kill {counts['own_kills']}"
                )
                self._write(path, "memory.failcnt", str(counts["own_hits"]))


@pytest.fixture
def groups(tmp_path: Path) -> FakeGroups:
    """Return a container in a pod, of version 2."""
    made = FakeGroups(tmp_path)
    made.add(LEAF)
    return made


def test_the_limit_of_the_group_itself(groups: FakeGroups) -> None:
    """The kernel counts `oom` at the group whose limit was reached."""
    groups.add(LEAF, str(GIB))
    assert groups.watched.update((LEAF,)) == []
    groups.kill(LEAF, limit_of=LEAF)
    expected = MemoryKill(
        Limit.GROUP, KillSource.GROUP_EVENTS, group=LEAF, limit_bytes=GIB, used_bytes=GIB, process_group=LEAF
    )
    assert groups.watched.update((LEAF,)) == [expected]
    assert groups.watched.update((LEAF,)) == []


def test_the_limit_of_a_group_around_it(groups: FakeGroups) -> None:
    """A pod may have a limit below the sum of its containers' limits."""
    groups.add(POD, str(2 * GIB))
    groups.watched.update((LEAF,))
    groups.kill(LEAF, limit_of=POD)
    [kill] = groups.watched.update((LEAF,))
    assert (kill.limit, kill.group, kill.limit_bytes, kill.process_group) == (Limit.GROUP, POD, 2 * GIB, LEAF)


def test_a_kill_without_a_reached_limit_is_the_hosts(groups: FakeGroups) -> None:
    """If the host's memory runs out, kills rise and no limit was reached."""
    groups.watched.update((LEAF,))
    groups.kill(LEAF)
    [kill] = groups.watched.update((LEAF,))
    assert (kill.limit, kill.group, kill.process_group) == (Limit.HOST, "", LEAF)


def test_a_container_that_disappears_with_its_process_is_still_named(groups: FakeGroups) -> None:
    """The groups around it keep its counts, and its limit was read before."""
    groups.add(LEAF, str(GIB))
    groups.watched.update((LEAF,))
    groups.kill(LEAF, limit_of=LEAF)
    groups.remove(LEAF)
    [kill] = groups.watched.update(())
    assert (kill.limit, kill.group, kill.limit_bytes, kill.process_group) == (Limit.GROUP, LEAF, GIB, LEAF)


def test_the_kill_of_a_neighbour_is_not_one_of_the_training(groups: FakeGroups) -> None:
    """Another pod's kill is a limit's, of a group that is not watched."""
    groups.add("/kubepods.slice/pod2.slice")
    groups.watched.update((LEAF,))
    groups.kill("/kubepods.slice/pod2.slice", limit_of="/kubepods.slice/pod2.slice")
    [kill] = groups.watched.update((LEAF,))
    assert (kill.limit, kill.group, kill.process_group) == (Limit.GROUP, "", "/kubepods.slice")


def test_a_kernel_without_local_events_names_the_innermost_group(tmp_path: Path) -> None:
    """Before Linux 5.2 only counts that include the groups below exist."""
    groups = FakeGroups(tmp_path, local=False)
    groups.add(LEAF, str(GIB))
    groups.watched.update((LEAF,))
    groups.kill(LEAF, limit_of=LEAF)
    [kill] = groups.watched.update((LEAF,))
    assert (kill.limit, kill.group, kill.source) == (Limit.GROUP, LEAF, KillSource.GROUP_COUNTS)


def test_version_1_needs_a_group_that_was_full(tmp_path: Path) -> None:
    """Its hits also count where only the page cache was shrunk: they matter where the highest use is at the limit."""
    groups = FakeGroups(tmp_path, unified=False)
    groups.add("/slurm/job_1", str(GIB))
    groups.add("/slurm/job_2", str(GIB))
    (groups.mount / "slurm/job_2/memory.max_usage_in_bytes").write_text(str(GIB // 2))
    groups.watched.update(("/slurm/job_1", "/slurm/job_2"))
    groups.kill("/slurm/job_1", limit_of="/slurm/job_1")
    groups.kill("/slurm/job_2", limit_of="/slurm/job_2")
    found = {kill.process_group: kill for kill in groups.watched.update(("/slurm/job_1", "/slurm/job_2"))}
    assert (found["/slurm/job_1"].limit, found["/slurm/job_1"].limit_bytes) == (Limit.GROUP, GIB)
    assert found["/slurm/job_2"].limit is Limit.HOST


def test_a_group_is_watched_for_a_while_after_its_last_process(groups: FakeGroups) -> None:
    """The process of a group has gone when its kill is read; groups without processes are forgotten later."""
    groups.watched.update((LEAF,))
    assert groups.watched.update(()) == []
    groups.kill(LEAF, limit_of=LEAF)
    assert len(groups.watched.update(())) == 1
    for _ in range(KEPT_TICKS + 2):
        groups.watched.update(())
    groups.kill(LEAF, limit_of=LEAF)
    assert groups.watched.update(()) == []


def test_only_one_file_is_read_while_nothing_happens(groups: FakeGroups) -> None:
    """The outermost group counts the kills of all groups inside it: nothing else is read, however many there are."""
    paths = tuple(f"{POD}/{number}.scope" for number in range(20))
    for path in paths:
        groups.add(path)
    groups.watched.update(paths)
    for path in paths:
        (groups.mount / path[1:] / "memory.events").write_text("oom_kill 99\n")
    assert groups.watched.update(paths) == []


def test_paths_outside_the_agents_view_are_left_alone() -> None:
    """In a container the kernel shows groups around it with `..`."""
    assert [is_visible(path) for path in ("/a", "/../a", "a", "/a\0", "/a..b")] == [True, False, False, False, True]
    assert chain_of("/") == ()
