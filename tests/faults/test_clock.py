"""Clocks that jump: sampling, spool and store go on, and the skew is shown."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.conftest import AgentMaker
from tests.judge import assert_pace, assert_whole, last_sequence
from tests.processes import Collector, wait_for

pytestmark = pytest.mark.faults


def _library() -> str | None:
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return str(found[0]) if found else None


@pytest.mark.skipif(_library() is None, reason="libfaketime is not installed (make test installs it as root on Debian)")
@pytest.mark.parametrize("hours", [1, -1])
def test_a_wall_clock_that_steps_an_hour_changes_nothing_but_the_skew(
    hours: int, tmp_path: Path, collector: Collector, make_agent: AgentMaker
) -> None:
    """No hour without samples, no burst, no gap in the sequence; the skew metric shows the step."""
    offset = tmp_path / "offset"
    offset.write_text("+0s")
    environment = {
        "LD_PRELOAD": str(_library()),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    agent = make_agent(environment=environment).start()
    wait_for("the host reports", lambda: last_sequence(collector, "node-1") > 10)
    offset.write_text(f"{hours * 3600:+d}s")
    assert_pace(collector, "node-1", 5)
    skew = collector.get("/api/v1/hosts/node-1")["host"]["clock_skew_seconds"]
    assert skew == pytest.approx(hours * 3600, abs=10)
    stored = assert_whole(collector, agent, "node-1", at_least=30)
    assert len(stored) == 1


def test_faketime_does_step_the_clock_of_a_process(tmp_path: Path) -> None:
    """The test above depends on this: the wall clock moves, the monotonic clock does not."""
    library = _library()
    if library is None:
        pytest.skip("libfaketime is not installed")
    offset = tmp_path / "offset"
    offset.write_text("+3600s")
    environment = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    script = "import time; print(time.time(), time.monotonic())"
    output = subprocess.run(
        ["python3", "-c", script], env=environment, capture_output=True, text=True, check=True
    ).stdout
    wall, monotonic = map(float, output.split())
    assert wall - time.time() == pytest.approx(3600, abs=60)
    assert abs(monotonic - time.monotonic()) < 60
