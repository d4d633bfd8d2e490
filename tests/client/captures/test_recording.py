"""Captures in a training: one at a time, from boundary to boundary, and whatever fails is only an answer."""

import gzip
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from flyball.captures import memory, recording
from tests.client.captures.capturing_agent import ORDER, CapturingAgent, temporary_folders


def test_memory_is_captured_at_the_next_step(agent: CapturingAgent) -> None:
    """Facts of the process arrive as an open file, and nothing is left in the temporary folder."""
    agent.order("memory")
    agent.steps(1)
    line, content = agent.result()
    assert {key: line[key] for key in ("kind", "id", "state", "file_name")} == {
        "kind": "captured",
        "id": ORDER["id"],
        "state": "done",
        "file_name": "memory.json.gz",
    }
    facts = json.loads(gzip.decompress(content))
    assert facts["process"]["rss_bytes"] > 1_000_000
    assert facts["process"]["threads"] >= 1
    assert facts["cuda"] is None
    assert temporary_folders() == []


def test_facts_are_measured_for_as_many_steps_as_ordered(agent: CapturingAgent) -> None:
    """The file is the evidence that the audit reads."""
    agent.order("measure", steps=4)
    agent.steps(8)
    line, content = agent.result()
    assert line["file_name"] == "evidence.yaml"
    assert content.startswith(b"# Measured in 4 steps")


def test_two_captures_at_once_are_refused(agent: CapturingAgent) -> None:
    """The second order has a reason, and the first one goes on."""
    agent.order("measure", steps=4)
    agent.steps(3)
    agent.order("memory", id="0" * 16)
    agent.steps(1)
    refused = [each for each in agent.answers() if each["id"] == "0" * 16]
    assert [(each["state"], each["detail"]) for each in refused] == [
        ("failed", "another capture is in progress in this process; try again later")
    ]
    agent.steps(8)
    assert agent.result()[0]["file_name"] == "evidence.yaml"
    agent.order("memory")
    agent.steps(1)
    assert agent.result()[0]["file_name"] == "memory.json.gz"


def test_a_training_can_refuse_captures(agent: CapturingAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable in its environment is enough."""
    monkeypatch.setenv("FLYBALL_CAPTURES", "0")
    agent.order("memory")
    agent.steps(1)
    assert agent.failure() == "captures are switched off in this process (FLYBALL_CAPTURES=0)"


ODD: tuple[dict[str, Any], ...] = (
    {"what": "core_dump"},
    {"what": None},
    {"steps": "many"},
    {"seconds": []},
    {"max_bytes": "x"},
    {"steps": float("nan")},
)


@pytest.mark.parametrize("fields", ODD)
def test_an_odd_order_is_answered(agent: CapturingAgent, fields: dict[str, Any]) -> None:
    """Whatever the agent sends, the training goes on and the answer has a reason."""
    agent.order(**{"what": "memory", **fields})
    before = agent.run.last_step
    agent.steps(2)
    assert agent.failure()
    assert agent.run.last_step == before + 3


def test_a_result_beyond_the_limit_is_not_delivered(agent: CapturingAgent) -> None:
    """The reason has both sizes, and the file is deleted."""
    agent.order("memory", max_bytes=10)
    agent.steps(1)
    assert "the limit is 10" in agent.failure()
    assert temporary_folders() == []


def test_without_a_socket_for_results_the_reason_names_where_it_was_sought(agent: CapturingAgent) -> None:
    """In a container with the wrong mount, an operator reads what to mount."""
    Path(agent.place).unlink()
    agent.order("memory")
    agent.steps(1)
    reason = agent.failure()
    assert agent.place in reason
    assert "A container needs the socket's folder" in reason


def test_a_full_queue_of_results_does_not_make_the_training_wait(agent: CapturingAgent) -> None:
    """An agent that does not accept costs an answer, and no time."""
    kept = []
    for _ in range(64):
        connection = agent.results.__class__(agent.results.family)
        connection.setblocking(False)
        kept.append(connection)
        try:
            connection.connect(agent.place)
        except BlockingIOError:
            break
    agent.order("memory")
    began = time.monotonic()
    agent.steps(1)
    assert time.monotonic() - began < 30
    assert "Resource temporarily unavailable" in agent.failure()
    for connection in kept:
        connection.close()


def test_a_folder_that_cannot_be_written_is_an_answer(agent: CapturingAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space, no permission, no folder: the training goes on."""
    monkeypatch.setattr(tempfile, "tempdir", "/none")
    agent.order("memory")
    agent.steps(1)
    assert "No such file or directory" in agent.failure()


def test_a_capture_that_would_take_too_long_is_not_begun(agent: CapturingAgent) -> None:
    """Between two boundaries nothing can end it, so the duration of a step is looked at first."""
    agent.order("measure", steps=1000, seconds=1)
    agent.steps(1)
    time.sleep(0.02)
    agent.steps(1)
    assert "Ask for fewer steps" in agent.failure()


def test_steps_that_become_slow_end_a_capture_in_time(agent: CapturingAgent) -> None:
    """At its time limit, the part that was measured is delivered, with a remark."""
    agent.order("measure", steps=110, seconds=1)  # so few that a slow step does not make it too long
    agent.steps(100)
    time.sleep(1.1)
    agent.steps(1)
    line, content = agent.result()
    assert line["detail"].startswith("only ")
    assert b"Measured in" in content


def test_a_run_that_ends_ends_its_capture(agent: CapturingAgent) -> None:
    """Nothing is left switched on after the last step, and another run may be captured."""
    agent.order("measure", steps=100)
    agent.steps(5)
    assert recording._current is not None
    assert recording._current.is_in_progress()
    agent.run.finish()
    assert not recording._current.is_in_progress()


def test_an_abandoned_capture_does_not_block_others(agent: CapturingAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that never reaches a boundary again is given up after its time."""
    agent.order("measure", steps=100)
    agent.steps(3)
    first = recording._current
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 1000)
    agent.order("memory", id="1" * 16)
    agent.steps(1)
    assert recording._current is not first
    assert agent.result()[0]["id"] == "1" * 16


def test_looking_for_tensors_takes_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With millions of objects the search ends, and the result is marked as incomplete."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(memory, "SCAN_SECONDS", -1.0)
    assert memory.memory_facts()["tensors"]["complete"] is False
