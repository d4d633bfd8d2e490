"""An optimizer of PyTorch reports its steps through `flyball.attach`."""

from pathlib import Path

import pytest

import flyball
from tests.outside.frameworks.recorder import Recorder, steps_of, total

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A socket that the client finds."""
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "agent.sock"))
    return Recorder(tmp_path / "agent.sock")


def test_each_step_of_the_optimizer_ends_a_step(recorder: Recorder) -> None:
    """The first step starts the clock; three more are reported. Another optimizer is not counted."""
    weights = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    generator, critic = [torch.optim.Adam([weight]) for weight in weights]
    with recorder:
        run = flyball.attach(generator, run="optimizer", labels={"a": "b"})
        for _ in range(4):
            for optimizer, weight in zip((generator, critic), weights, strict=True):
                optimizer.zero_grad()
                weight.sum().backward()
                optimizer.step()
        run.finish()
        recorder.wait_closed()
    (lines,) = recorder.connections
    assert lines[0]["labels"] == {"a": "b"}
    assert (total(lines, "steps"), steps_of(lines)[-1]["step"]) == (3, 4)


def test_attaching_again_replaces_the_run(recorder: Recorder) -> None:
    """In a notebook a cell runs twice: only the newer run counts the steps."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with recorder:
        first = flyball.attach(optimizer, run="one")
        second = flyball.attach(optimizer, run="two")
        optimizer.step()
        assert (first.last_step, second.last_step) == (0, 1)
        first.finish()
        second.finish()
