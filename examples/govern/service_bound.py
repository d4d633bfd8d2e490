"""A training that waits for a service is made at least 15 times as fast, by three changes one after the other.

    python -m examples.govern.service_bound

The learner makes 110 calls for each sample, one after the other. Nobody does anything: the collector finds that calls
take nearly all of the time, and changes the number of patterns in a call, the number of connections, and the number of
samples that are learnt at once. It learns exactly the same patterns as without the changes.
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

from examples.govern import learner
from examples.govern.daemons import Daemons, DemonstrationFailed, daemons
from examples.govern.figures import Result, Shown, demonstrate, parser
from examples.govern.trainings import ROOT, Training, training

SPEED_UP = 15.0  # published for one project: 12–14 s a sample became 0.5–0.8 s, 15 to 28 times
MOST_SECONDS = 300.0
SETTLED_SECONDS = 5.0


def show(fleet: Daemons) -> Result:
    """Run the learner until its last adjustment is over and its speed is reached."""
    with _service() as port, training("examples.govern.learner", str(port), agent_socket=fleet.socket) as run:
        until = time.monotonic() + MOST_SECONDS
        while time.monotonic() < until and not _settled(fleet, run):
            time.sleep(0.5)
        time.sleep(SETTLED_SECONDS)
        if run.end():
            raise DemonstrationFailed("the training has ended with an error")
    return _result(fleet, run)


def _settled(fleet: Daemons, run: Training) -> bool:
    """Return True if the three values were changed and nothing is in progress."""
    found = fleet.adjustments(learner.RUN)
    kept = {each["name"] for each in found if each["state"] == "kept"}
    in_progress = [each for each in found if each["state"] in {"proposed", "offered", "committed", "applied"}]
    return len(kept) >= 3 and not in_progress and _speed_up(run) >= SPEED_UP


def _speed_up(run: Training) -> float:
    found = list(learner.changes(run.lines))
    return median(found[0][1]) / median(found[-1][1]) if found else 0.0


def _result(fleet: Daemons, run: Training) -> Result:
    speed_up, last = _speed_up(run), run.lines[-1]
    rows = [
        Shown(f"calls {calls}, connections {pool}, workers {workers}", f"{median(seconds):.4f} s a sample")
        for (calls, pool, workers), seconds in learner.changes(run.lines)
    ]
    return Result(
        fleet.adjustments(learner.RUN),
        [
            *rows,
            Shown("speed-up", f"{speed_up:.1f}×", f"≥ {SPEED_UP:.0f}×", speed_up >= SPEED_UP),
            Shown("patterns learnt", f"equal after {last['samples']} samples", "equal", bool(last["equal"])),
        ],
    )


@contextlib.contextmanager
def _service() -> Iterator[int]:
    """Run the service in a process of its own; yields its port."""
    command = [sys.executable, "-m", "examples.govern.service"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None  # noqa: S101  it was started with pipes
        assert process.stdout is not None  # noqa: S101
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(timeout=10)


def main() -> None:
    """Run the demonstration."""
    chosen = parser(__doc__).parse_args()

    def run() -> Result:
        with daemons() as fleet:
            return show(fleet)

    demonstrate("A learner makes 110 calls to a service for each sample …", run, as_json=chosen.json)


if __name__ == "__main__":
    main()
