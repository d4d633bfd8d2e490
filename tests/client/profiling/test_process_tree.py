"""Finding the processes of a tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flyball.profiling.process_tree import ProcessTree
from tests.client.profiling.process_table import ProcessTable


@pytest.fixture
def table(tmp_path: Path) -> ProcessTable:
    """Processes 10 (the root), 11 and 12 below it, and 20 outside."""
    table = ProcessTable(tmp_path)
    for pid, parent in ((1, 0), (10, 1), (11, 10), (12, 11), (20, 1)):
        table.put(pid, parent)
    table.newest(20)
    return table


def pids(tree: ProcessTree) -> list[int]:
    """Return the process ids of the tree, as they are read."""
    return [reading.pid for reading in tree.read()]


def test_descendants_of_the_root_are_found_parents_first(table: ProcessTable) -> None:
    """Also if a child has a lower process id than its parent."""
    table.put(5, 12)
    assert pids(ProcessTree(10, proc=str(table.folder))) == [10, 11, 12, 5]
    assert pids(ProcessTree(10, with_root=False, proc=str(table.folder))) == [11, 12, 5]


def test_a_process_whose_parent_has_ended_remains_a_member(table: ProcessTable) -> None:
    """Its children are members too."""
    tree = ProcessTree(10, proc=str(table.folder))
    assert pids(tree) == [10, 11, 12]
    table.end(11)
    table.put(12, 1)
    table.put(13, 12)
    assert pids(tree) == [10, 12, 13]


def test_a_process_id_that_is_used_again_is_another_process(table: ProcessTable) -> None:
    """The start time distinguishes both."""
    tree = ProcessTree(10, proc=str(table.folder))
    pids(tree)
    table.put(12, 1, started=500)
    assert pids(tree) == [10, 11]


def test_a_process_id_of_an_outsider_may_be_used_by_a_member(table: ProcessTable) -> None:
    """Process ids are used again only after they have started again from the lowest one."""
    tree = ProcessTree(10, proc=str(table.folder))
    pids(tree)
    table.put(20, 10, started=500)
    table.newest(3)
    assert pids(tree) == [10, 11, 12, 20]


def test_processes_outside_are_read_once(table: ProcessTable) -> None:
    """A machine with thousands of other processes costs little."""
    tree = ProcessTree(10, proc=str(table.folder))
    pids(tree)
    (table.folder / "20" / "stat").write_text("not a line that can be parsed")
    table.put(20, 10)  # would be found if it were read again
    assert pids(tree) == [10, 11, 12]


def test_a_process_without_readable_io_is_known_otherwise(table: ProcessTable) -> None:
    """Its I/O is marked as unknown."""
    table.put(13, 10, io=False)
    found = {reading.pid: reading.io_known for reading in ProcessTree(10, proc=str(table.folder)).read()}
    assert found == {10: True, 11: True, 12: True, 13: False}


def test_without_proc_the_tree_is_empty(tmp_path: Path) -> None:
    """Other systems have no `/proc`."""
    assert ProcessTree(10, proc=str(tmp_path / "missing")).read() == []


def test_real_children_and_their_children_are_found() -> None:
    """The kernel's own `/proc`."""
    tree = ProcessTree(os.getpid())
    before = set(pids(tree))
    program = "import subprocess, sys; subprocess.run(['sh', '-c', 'echo $$; read x'], stdin=0)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= set(pids(tree))
        child.communicate("\n")
    assert not {child.pid, grandchild} & set(pids(tree))
    assert os.getpid() in before
