"""Tests of the search for trainings in a tree of process files."""

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest

from flyball_agent.probes.training.search import (
    EXAMINED_A_SEARCH,
    IDLE_SECONDS,
    LIST_EVERY,
    LONGEST_PAUSE,
    MOST_NEW,
    TrainingSearch,
    is_collector,
    pause_of,
)

TICKS = os.sysconf("SC_CLK_TCK")
TORCH = "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/python3/dist-packages/torch/lib/libtorch_cpu.so\n"
NO_LIBRARY = "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n"
EVERY = 2.0


class Machine:
    """A `/proc` of processes whose CPU time a test sets."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        self.search = TrainingSearch(proc, own_pid=1000)

    def run(self, pid: int, cpu_seconds: float, maps: str = TORCH, *, parent: int = 1, started: int = 500) -> None:
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        fields = f"{parent} 1 1 0 -1 0 0 0 0 0 {round(cpu_seconds * TICKS)} 0 0 0 20 0 1 0 {started} 0"
        (folder / "stat").write_text(f"{pid} (python) R {fields}\n")
        (folder / "maps").write_text(maps)

    def found(self) -> list[int]:
        return self.search.search(EVERY)


def test_finds_what_computes_with_arrays(tmp_path: Path) -> None:
    """A working process with such a library trains; another one, the agent itself and kernel threads do not."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0)
    machine.run(30, 9.0, NO_LIBRARY)
    machine.run(40, 9.0, parent=2)
    machine.run(1000, 9.0)
    assert machine.found() == [20]


@pytest.mark.parametrize("place", [2**15 - 9, 2**15 - 8, 2**15 - 1, 2**15, 2**19])
def test_a_library_is_found_wherever_its_name_is(tmp_path: Path, place: int) -> None:
    """The maps of a large process are read in blocks, and a name may lie across two of them."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0, "x" * (place - TORCH.index("/libtorch")) + TORCH)
    assert machine.found() == [20]


def test_workers_belong_to_the_process_that_started_them(tmp_path: Path) -> None:
    """A worker of a working process is not a training of its own, but the ranks of an idle launcher are."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0)
    machine.run(21, 5.0, parent=20)
    machine.run(50, 5.0, parent=49)
    machine.run(49, 0.1)
    assert machine.found() == [20, 50]


def test_a_young_process_is_looked_at_again(tmp_path: Path) -> None:
    """A process that has not loaded its libraries yet is found once it works."""
    machine = Machine(tmp_path)
    machine.run(20, 0.05, NO_LIBRARY)
    assert machine.found() == []
    machine.run(20, 2.0)
    assert machine.found() == [20]


def test_a_training_that_starts_beside_another_one_is_found(tmp_path: Path) -> None:
    """Its use is measured from the first look on, so it is watched in the second search after it started."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0)
    for search in range(1, 6):
        machine.run(20, 9.0 + 2.0 * search)
        assert machine.found() == [20]
    machine.run(30, 0.05, NO_LIBRARY)
    machine.run(20, 21.0)
    assert machine.found() == [20]
    machine.run(30, 1.5)
    machine.run(20, 23.0)
    assert machine.found() == [20, 30]


def test_processes_of_no_interest_are_looked_at_less_and_less_often(tmp_path: Path) -> None:
    """A process that never computes is looked at every other minute, however many there are."""
    machine = Machine(tmp_path)
    machine.run(30, 0.05, NO_LIBRARY)
    for _ in range(70):
        machine.found()
    machine.run(30, 9.0)
    found = [machine.found() for _ in range(LONGEST_PAUSE + 1)]
    assert [] in found
    assert found[-1] == [30]


def test_a_process_that_lives_for_months_costs_no_more_than_a_young_one() -> None:
    """The pause is the longest one after ten million looks too, and no large number is computed for it."""
    assert [pause_of(looks) for looks in (1, 2, 9, 10, 12)] == [1, 2, 16, LONGEST_PAUSE, LONGEST_PAUSE]
    tracemalloc.start()
    try:
        assert pause_of(10_000_000) == LONGEST_PAUSE
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


def test_light_work_beside_a_training_is_none(tmp_path: Path) -> None:
    """A process that uses less than a quarter of what the heaviest one uses is not watched."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0)
    machine.run(30, 9.0)
    machine.found()
    for search in range(1, 8):
        machine.run(20, 9.0 + 2.0 * search)
        machine.run(30, 9.0 + 0.2 * search)
        found = machine.found()
    assert found == [20]


def test_a_training_that_stops_is_forgotten(tmp_path: Path) -> None:
    """A training that waits for a while is still watched; one that does nothing for half a minute is not."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0)
    searches = [machine.found() for _ in range(int(IDLE_SECONDS / EVERY) + 2)]
    assert searches[0] == searches[5] == [20]
    assert searches[-1] == []


def test_a_process_that_took_over_an_id_is_another_one(tmp_path: Path) -> None:
    """A process id that starts at another time belongs to a new process, with its own libraries."""
    machine = Machine(tmp_path)
    machine.run(20, 9.0)
    assert machine.found() == [20]
    machine.run(20, 9.0, NO_LIBRARY, started=900)
    assert machine.found() == []


class OwnMachine(Machine):
    """A `/proc` that shows this process, and which id was given out last."""

    def __init__(self, proc: Path) -> None:
        super().__init__(proc)
        self.search = TrainingSearch(proc)
        (proc / "self").symlink_to(str(os.getpid()))

    def start(self, pid: int, *, process: int | None = None, counted: bool = True) -> None:
        """Run a process, or another thread of one; `counted`: its id is the newest one."""
        self.run(pid, 9.0)
        (self.proc / str(pid) / "status").write_text(f"Name:\tpython\nTgid:\t{process or pid}\nPid:\t{pid}\n")
        if counted:
            (self.proc / "loadavg").write_text(f"0.5 0.5 0.5 1/100 {pid}\n")


def test_new_processes_are_found_by_their_ids(tmp_path: Path) -> None:
    """Between two lists of all processes only new ids are tried; threads have ids, too, and are left out."""
    machine = OwnMachine(tmp_path)
    machine.start(20)
    assert machine.found() == [20]
    machine.start(30)
    machine.start(31, process=30)
    assert machine.found() == [20, 30]
    machine.start(40, counted=False)
    assert machine.found() == [20, 30]
    for ended in ("30", "31"):
        shutil.rmtree(tmp_path / ended)
    assert machine.found() == [20]
    assert [40 in machine.found() for _ in range(LIST_EVERY)].index(True) > 5


@pytest.mark.parametrize(("own", "newest"), [(os.getpid() + 1, 40), (os.getpid(), 0)])
def test_where_the_newest_id_is_not_known_all_processes_are_listed(tmp_path: Path, own: int, newest: int) -> None:
    """In a container, `/proc` may be that of the host, and `loadavg` still has an id of the container, or none."""
    machine = OwnMachine(tmp_path)
    (tmp_path / "self").unlink()
    (tmp_path / "self").symlink_to(str(own))
    for pid in (40, 50):
        machine.start(pid)
        (tmp_path / "loadavg").write_text(f"0.5 0.5 0.5 1/100 {newest}\n")
        assert pid in machine.found()


@pytest.mark.parametrize("newest", [40 + 2 * MOST_NEW, 10])
def test_many_new_ids_are_a_reason_to_list_all_processes(tmp_path: Path, newest: int) -> None:
    """Also ids that begin again after the largest one."""
    machine = OwnMachine(tmp_path)
    machine.start(40)
    machine.found()
    machine.start(7)
    (tmp_path / "loadavg").write_text(f"0.5 0.5 0.5 1/100 {newest}\n")
    assert machine.found() == [7, 40]


def test_processes_that_were_not_looked_at_have_their_turn(tmp_path: Path) -> None:
    """So many processes that they need two searches are all found, although none of them is new."""
    machine = OwnMachine(tmp_path)
    for pid in range(2000, 2002 + EXAMINED_A_SEARCH):
        machine.start(pid)
    assert [len(machine.found()) for _ in range(2)] == [EXAMINED_A_SEARCH, EXAMINED_A_SEARCH + 2]


def test_processes_that_end_raise_no_error(tmp_path: Path) -> None:
    """A process may end between being listed and being read; a missing `/proc` has no processes."""
    (tmp_path / "20").mkdir()
    assert TrainingSearch(tmp_path).search(EVERY) == []
    assert TrainingSearch(tmp_path / "missing").search(EVERY) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/opt/flyball/bin/python3 /opt/flyball/bin/flyball-collector --config /etc/flyball/collector.toml", True),
        ("/x/.venv/bin/python -m flyball collector --set grpc.listen=127.0.0.1:3590", True),
        ("/x/bin/python /x/bin/flyball collector", True),
        ("/x/bin/python /home/ada/flyball/collector/train.py", False),
        ("/x/bin/python /x/bin/flyball run -- python train.py", False),
        ("python train.py", False),
    ],
)
def test_the_collector_does_not_train(command: str, *, expected: bool) -> None:
    """It computes with NumPy on many machines without a GPU; a script in a folder of that name is a training."""
    assert is_collector(command.replace(" ", "\0").encode()) is expected
