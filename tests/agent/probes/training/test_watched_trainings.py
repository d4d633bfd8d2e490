"""Tests of the choice of processes that are watched."""

from pathlib import Path

from flyball_agent.probes.training.watched_trainings import WatchedTrainings
from tests.agent.probes.training.test_search import Machine


def test_a_training_is_watched_within_seconds(tmp_path: Path) -> None:
    """A training is found at the second look, two seconds after the first, though readings are a little early."""
    machine, watched = Machine(tmp_path), WatchedTrainings(tmp_path)
    machine.run(20, 0.05)
    found = []
    for second in range(4):
        watched.update(100.0 + 0.999 * second)
        found.append([process.pid for process in watched.mains])
        machine.run(20, 0.05 + second + 1)
    assert found == [[], [], [20], [20]]
