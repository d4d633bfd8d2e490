"""`ProfilingEngine`: measuring this process and its children."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import flyball
from flyball.profiling.engine import ProfilingEngine
from flyball.profiling.profiling_summary import ProfilingSummary
from tests.client.profiling.disks import needs_a_disk
from tests.processes import wait_for

BUSY = "import time\nwhile time.process_time() < {seconds}: pass"


def profile_threads() -> list[str]:
    """Return the names of the profiler's threads in this process."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("flyball-profile")]


def spend(seconds: float) -> None:
    """Use CPU time in this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def python(program: str) -> None:
    """Run a program in another process."""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_names_are_those_of_the_package() -> None:
    """`from flyball import ProfilingEngine, ProfilingSummary, ResourceSnapshot`."""
    assert flyball.ProfilingEngine is ProfilingEngine
    assert flyball.ProfilingSummary is ProfilingSummary
    assert flyball.ResourceSnapshot.__module__ == "flyball.profiling.resource_snapshot"


def test_this_process_and_its_ended_children_are_measured() -> None:
    """CPU time of both, each once."""
    with ProfilingEngine(0.05) as engine:
        before = sum(os.times()[:4])
        spend(0.2)
        python(BUSY.format(seconds=0.3))
        used = sum(os.times()[:4]) - before
    found = engine.stop()
    assert found.cpu_seconds is not None
    assert used - 0.05 <= found.cpu_seconds <= used + 0.25  # the profiler's own thread is a part of the process
    assert found.peak_processes >= 2
    assert found.duration_seconds > 0.4
    assert found.cpu_avg_percent == pytest.approx(100 * found.cpu_seconds / found.duration_seconds)


def test_what_was_used_before_the_start_does_not_count() -> None:
    """Also not by children that were waited for before."""
    spend(0.3)
    with ProfilingEngine(60) as engine:
        pass
    cpu_seconds = engine.stop().cpu_seconds
    assert cpu_seconds is not None
    assert cpu_seconds < 0.2


def test_memory_that_is_taken_and_released_counts_in_the_peak() -> None:
    """Although no sample is due while it is held: the kernel keeps the peak."""
    program = (
        "from flyball import ProfilingEngine\n"
        "import time\n"
        "with ProfilingEngine(60) as engine:\n"
        "    time.sleep(0.35)\n"
        "    held = bytearray(200_000_000)\n"
        "    del held\n"
        "print(engine.stop().peak_memory_mb, engine.stop().memory_avg_mb)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    peak, average = done.stdout.split()
    assert 200 < float(peak) < 280
    assert float(average) < 150


def test_written_bytes_are_those_of_the_tree(tmp_path: Path) -> None:
    """Those of a child count once."""
    needs_a_disk(tmp_path)
    program = f"import os; f=open({str(tmp_path / 'file')!r},'wb'); f.write(bytes(5_000_000)); f.flush(); os.fsync(f)"
    with ProfilingEngine(0.05) as engine:
        python(program)
    found = engine.stop()
    assert found.disk_write_bytes == pytest.approx(5_000_000, rel=0.05)
    assert found.disk_write_operations is not None
    assert found.disk_write_operations >= 1


def test_samples_and_levels_are_counted_by_the_program() -> None:
    """Rates are items a second; each snapshot has those of its time."""
    engine = ProfilingEngine(0.02)
    level = engine.level("node0")
    with engine:
        engine.add_samples(30)
        engine.add_samples(20)
        level.add(100)
        wait_for(
            "a snapshot with the level", lambda: any(s.level_rates for s in engine.snapshots()), pause_seconds=0.01
        )
    found = engine.stop()
    assert found.samples == 50
    assert found.learning_rate_per_level["node0"] == pytest.approx(100 / found.duration_seconds)
    rates = [rate.items_per_second for snapshot in engine.snapshots() for rate in snapshot.level_rates]
    assert max(rates) > found.learning_rate_per_level["node0"]


def test_levels_of_an_open_run_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reports a run need not count twice."""
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "no-agent.sock"))
    with flyball.run("profiled") as run, ProfilingEngine(60) as engine:
        run.step()
        run.level("node1").add(40, seconds=2.0)
        run.step()
        found = engine.stop()
    assert found.learning_rate_per_level == {"node1": 20.0}


def test_starting_and_stopping_twice_changes_nothing() -> None:
    """As cells of a notebook that run again. After `stop`, `start` begins a new measurement."""
    engine = ProfilingEngine(60)
    assert engine.stop().unavailable == {"all": "start() was not called"}
    assert engine.start() is engine
    engine.add_samples(7)
    assert engine.start().running
    assert profile_threads() == ["flyball-profile"]
    first = engine.stop()
    assert first.samples == 7
    assert engine.stop() is first
    assert (engine.running, profile_threads()) == (False, [])
    engine.start()
    assert engine.running
    assert engine.stop().samples is None


def test_an_engine_that_nobody_has_any_more_ends_its_thread() -> None:
    """A notebook's cell that runs again makes a new engine."""
    ProfilingEngine(0.02, api_url="127.0.0.1:9").start()
    gc.collect()
    wait_for("the threads end", lambda: not profile_threads(), pause_seconds=0.01)


def test_an_error_or_an_interrupt_ends_the_measurement() -> None:
    """It passes through, and no thread remains."""
    for kind in (KeyboardInterrupt, ValueError):
        engine = ProfilingEngine(60)
        with pytest.raises(kind), engine:
            raise kind
        assert not engine.running
        assert profile_threads() == []


FORKED = """
import os, sys, threading, time
from flyball import ProfilingEngine
engine = ProfilingEngine(0.01, api_url="127.0.0.1:9").start()
engine.add_samples(5)
failed = 0
for _ in range(20):
    child = os.fork()
    if child == 0:
        engine.add_samples(1000)
        engine.level("a").add(1)
        engine.start()
        found = engine.stop()
        with ProfilingEngine(60) as own:
            own.add_samples(3)
        right = not engine.running and found.samples == 5 and threading.active_count() == 1 and own.stop().samples == 3
        os._exit(0 if right else 1)
    failed += os.waitpid(child, 0)[1] != 0
print(failed, engine.running, engine.stop().samples)
"""


def test_a_forked_child_is_not_measured_twice_and_does_not_hang() -> None:
    """The inherited engine does nothing there; a new one measures the child."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "0 True 5\n", done.stderr


FORKED_WHILE_ADDING = """
import os, threading, time
from flyball.profiling.engine import ProfilingEngine
from flyball.profiling.profile_record import ProfileRecord

adding, go_on = threading.Event(), threading.Event()

class SlowRecord(ProfileRecord):
    def add(self, sample):
        super().add(sample)
        adding.set()
        go_on.wait()

import flyball.profiling.engine as module
module.ProfileRecord = SlowRecord
engine = ProfilingEngine(60)
threading.Thread(target=engine.start, daemon=True).start()
adding.wait()
child = os.fork()
if child == 0:
    os._exit(engine.stop().snapshots + 10)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
go_on.set()
"""


def test_a_child_that_is_forked_during_a_sample_does_not_wait_for_its_lock() -> None:
    """Nobody in the child would release it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED_WHILE_ADDING],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "11\n", done.stderr


def test_a_program_that_never_stops_the_engine_ends_as_it_would() -> None:
    """Its exit status and its output are its own."""
    program = "from flyball import ProfilingEngine; ProfilingEngine(0.01).start(); print('done'); raise SystemExit(3)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "done\n", "")


def test_only_the_standard_library_is_imported() -> None:
    """A training may have none of our packages."""
    program = (
        "import sys\nfrom flyball import ProfilingEngine\nwith ProfilingEngine() as engine: pass\n"
        "allowed = sys.stdlib_module_names | {'flyball', 'flyball_agent', 'flyball_planner', '__main__'}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - allowed))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _with_path(program)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def _with_path(program: str) -> str:
    folders = [str(Path(__file__).parents[3] / name) for name in ("client", "agent", "planner")]
    return f"import sys; sys.path += {folders!r}\n{program}"


def test_the_file_has_the_summary_so_far(tmp_path: Path) -> None:
    """It may be written while the measurement goes on, and after it."""
    path = tmp_path / "profile.json"
    with ProfilingEngine(60) as engine:
        engine.export_json(path)
        assert json.loads(path.read_text())["summary"]["snapshots"] == 1
    engine.export_json(str(path))
    found = json.loads(path.read_text())
    assert found["summary"]["snapshots"] == len(found["snapshots"]) >= 2


@pytest.mark.parametrize("interval", [0, -1, float("nan"), float("inf"), 1e9, "1", True, None])
def test_a_wrong_interval_is_an_error_at_once(interval: object) -> None:
    """The message has the value and what is allowed."""
    with pytest.raises(ValueError, match="sampling_interval must be"):
        ProfilingEngine(interval)  # type: ignore[arg-type]


def test_a_failure_of_a_sample_is_a_reason_and_not_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the profiler reaches the program."""

    def fail() -> None:
        raise OSError("broken")

    monkeypatch.setattr("flyball.profiling.sampler.read_machine", fail)
    with ProfilingEngine(60) as engine:
        pass
    assert engine.stop().unavailable["snapshot"] == "OSError: broken"
    assert engine.stop().snapshots == 0


def test_a_process_that_may_not_start_threads_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary has the reason, and `stop` does not wait."""

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with ProfilingEngine(60, api_url="127.0.0.1:9") as engine:
        engine.add_samples(1)
    found = engine.stop()
    assert (found.snapshots, found.samples) == (0, 1)
    assert found.unavailable == {"snapshot": "can't start new thread"}


def test_a_failure_before_the_first_sample_is_a_reason_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not reach the program, and nothing waits for a thread that has ended."""

    def fail(_pid: int) -> None:
        raise OSError("broken")

    monkeypatch.setattr("flyball.profiling.engine.ProcessTree", fail)
    with ProfilingEngine(60) as engine:
        pass
    assert engine.stop().unavailable == {"snapshot": "OSError: broken"}
    assert profile_threads() == []


def test_a_system_without_proc_measures_what_python_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time of this process and its ended children; the rest is unknown, with a reason."""
    monkeypatch.setattr("flyball.profiling.engine.has_proc", lambda: False)
    with ProfilingEngine(60) as engine:
        spend(0.1)
    found = engine.stop()
    assert found.cpu_seconds is not None
    assert found.cpu_seconds >= 0.05
    assert found.memory_avg_mb is None
    assert found.disk_write_bytes is None
    assert "disk" in found.unavailable
