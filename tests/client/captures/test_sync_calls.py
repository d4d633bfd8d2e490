"""Synchronising calls are counted by their place in the script, whose warnings are shown as before."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from flyball.captures.capture_run import CaptureUnavailable
from flyball.captures.sync_calls import SyncCalls
from tests.client.captures.capturing_agent import CapturingAgent

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SYNC = "called a synchronizing CUDA operation (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:108.)"


class StandinSyncMode:
    """The debug mode of torch.cuda on a machine without a GPU: `wait` does what a synchronising call does there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mode = 0
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: self.mode)
        monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", self._set)

    def _set(self, mode: int) -> None:
        self.mode = mode

    def wait(self) -> None:
        """Warn as PyTorch does, at the line that calls this."""
        assert self.mode != 2, "the mode is never error"
        if self.mode == 1:
            warnings.warn(SYNC, UserWarning, stacklevel=2)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandinSyncMode:
    """A GPU whose mode can be seen."""
    return StandinSyncMode(monkeypatch)


def test_calls_are_counted_by_place(gpu: StandinSyncMode) -> None:
    """The most frequent place is first, however the script filters its warnings, even as errors."""
    calls = SyncCalls()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls.begin()
        for _ in range(3):
            gpu.wait()
        gpu.wait()
        counts = calls.end()
    assert list(counts.values()) == [3, 1]
    assert all(place.startswith(f"{__file__}:") for place in counts)
    assert gpu.mode == 0


def test_everything_is_as_before_at_the_end(gpu: StandinSyncMode) -> None:
    """Filters, the function that shows warnings, the mode, and which warnings were shown already."""

    def warn() -> None:
        warnings.warn("from the script", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        warn()
        filters, show = list(warnings.filters), warnings.showwarning
        calls = SyncCalls()
        calls.begin()
        warn()
        warnings.warn("another one", UserWarning, stacklevel=1)
        gpu.wait()
        calls.end()
        warn()
        assert (warnings.filters, warnings.showwarning) == (filters, show)
    assert [str(each.message) for each in shown] == ["from the script", "another one"]


@pytest.mark.usefixtures("gpu")
def test_a_function_that_the_script_sets_meanwhile_stays() -> None:
    """Restoring must not undo the script's own change."""
    calls = SyncCalls()
    with warnings.catch_warnings():
        calls.begin()
        own = lambda *_, **__: None  # noqa: E731  as a script may write it
        warnings.showwarning = own
        calls.end()
        assert warnings.showwarning is own


def test_a_mode_of_the_script_is_left_alone(gpu: StandinSyncMode) -> None:
    """A script that looks for synchronising calls itself keeps its mode."""
    gpu.mode = 1
    calls = SyncCalls()
    with pytest.raises(CaptureUnavailable, match=r"the script uses torch\.cuda\.set_sync_debug_mode itself"):
        calls.begin()
    assert calls.end() == {}
    assert gpu.mode == 1


def test_a_capture_lists_the_places(agent: CapturingAgent, gpu: StandinSyncMode) -> None:
    """As many steps as ordered are counted, and what cannot be seen is in the file."""
    agent.order("syncs", steps=3)
    for _ in range(10):
        gpu.wait()
        gpu.wait()
        agent.run.step()
    line, content = agent.result()
    assert line["detail"].startswith("2.0 synchronising calls a step at 2 places.")
    found = json.loads(content)
    assert (found["steps"], found["calls"]) == (3, 6)
    assert [each["calls_per_step"] for each in found["places"]] == [1.0, 1.0]
    assert Path(found["places"][0]["place"].rsplit(":", 1)[0]) == Path(__file__)
    assert "torch.distributed" in found["missed"]
    assert gpu.mode == 0


def test_a_run_that_ends_restores_the_mode(agent: CapturingAgent, gpu: StandinSyncMode) -> None:
    """Nothing warns after the run."""
    agent.order("syncs", steps=100)
    agent.steps(4)
    assert gpu.mode == 1
    agent.run.finish()
    assert gpu.mode == 0


def test_a_call_inside_of_torch_belongs_to_the_line_of_the_script(gpu: StandinSyncMode) -> None:
    """Such as the one that prints a tensor."""
    inside: dict[str, Any] = {"gpu": gpu}
    exec(compile("def print_tensor():\n    gpu.wait()\n", torch.__file__, "exec"), inside)  # noqa: S102  a place in torch
    calls = SyncCalls()
    calls.begin()
    inside["print_tensor"]()
    (place,) = calls.end()
    assert place.startswith(f"{__file__}:")
