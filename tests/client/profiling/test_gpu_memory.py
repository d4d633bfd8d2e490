"""GPU memory through the stand-in library."""

import os
from pathlib import Path

from flyball.profiling.gpu_memory import GpuMemory, GpuUse
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenarios import make_scenario


def test_the_memory_of_each_gpu_and_of_the_tree_is_read(tmp_path: Path) -> None:
    """The stand-in's scenario has one process on each GPU."""
    scenario = make_scenario("steady", 2)
    standin = StandIn(tmp_path, scenario)
    gpus = GpuMemory(str(standin.library))
    found = gpus.read({os.getpid()})
    assert found.used_bytes is not None
    assert len(found.used_bytes) == 2
    assert all(used > 1e9 for used in found.used_bytes)
    assert found.tree_bytes is not None
    assert found.tree_bytes > 1e9
    assert gpus.read({1}).tree_bytes is None
    gpus.close()


def test_a_machine_without_the_driver_has_a_reason() -> None:
    """The library is not loaded before the first reading."""
    gpus = GpuMemory("libdoes-not-exist.so.1")
    assert gpus.reason == ""
    assert gpus.read({1}) == GpuUse(None, None)
    assert "libdoes-not-exist.so.1 is not installed" in gpus.reason
    gpus.close()
