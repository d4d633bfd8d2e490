"""Tests of a run: what it counts, what it reports, and that nothing invalid reaches the training."""

import json
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket, open_run, steps_of


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[ListeningSocket]:
    """Yield a listening socket."""
    with ListeningSocket(tmp_path / "agent.sock") as listening:
        yield listening


class Hostile:
    """An object whose every use fails."""

    def __str__(self) -> str:
        raise ValueError("no text")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    def __hash__(self) -> int:
        raise ValueError("no hash")

    def __float__(self) -> float:
        raise ValueError("no number")


def test_a_run_opens_reports_and_leaves(agent: ListeningSocket) -> None:
    """The agent receives a hello at once, a report of the steps, and a goodbye."""
    run = open_run(agent.path, total_steps=10)
    (hello,) = agent.lines()
    assert (hello["kind"], hello["run"], hello["total_steps"]) == ("hello", "a-run", 10)
    for _ in run.data(range(3)):
        run.step(tokens=100, samples=2, loss=1.5)
    run.finish()
    lines = agent.lines()
    assert lines[-1] == {"kind": "goodbye"}
    reports = steps_of(lines)
    assert sum(report["steps"] for report in reports) == 3
    assert sum(report.get("tokens", 0) for report in reports) == 300
    assert sum(report.get("samples", 0) for report in reports) == 6
    assert reports[-1]["step"] == 3
    assert reports[-1]["loss"] == 1.5


def test_the_first_step_only_starts_the_clock(agent: ListeningSocket) -> None:
    """Loading a model before the first step does not count as a step."""
    run = open_run(agent.path)
    time.sleep(0.2)
    run.step()
    run.step()
    run.finish()
    reports = steps_of(agent.lines())
    assert sum(report["steps"] for report in reports) == 1
    assert sum(report["step_seconds"] for report in reports) < 0.2
    assert reports[-1]["step"] == 2


def test_waiting_for_input_is_counted(agent: ListeningSocket) -> None:
    """The time until an item arrives is waiting, and the rest of the step is not."""

    def slow() -> Iterator[int]:
        for item in range(3):
            time.sleep(0.1)
            yield item

    run = open_run(agent.path)
    for _ in run.data(slow()):
        time.sleep(0.02)
        run.step()
    summary = run.summary()
    run.finish()
    assert summary.overall.step_seconds is not None
    assert summary.overall.data_wait_share is not None
    assert 0.4 < summary.overall.data_wait_share < 0.95
    assert summary.primary_bottleneck == "data wait"


def test_data_passes_everything_through() -> None:
    """A measured loader has the items, the length, the truth value and the attributes of the loader."""

    class Loader(list[int]):
        batch_size = 7

    run = open_run(Path("/nowhere/agent.sock"))
    data = run.data(Loader([3, 4]))
    assert (list(data), len(data), bool(data), data.batch_size, data[1]) == ([3, 4], 2, True, 7, 4)
    assert list(data) == [3, 4]
    generator = (item for item in (1, 2))
    measured = run.data(generator)
    assert next(measured) == 1
    assert list(measured) == [2]
    with pytest.raises(TypeError):
        len(run.data(iter([1])))  # type: ignore[arg-type]  # the same error as without the run
    assert bool(run.data(iter([])))
    assert run.data(5) == 5


def test_errors_of_the_loader_reach_the_script() -> None:
    """An exception of the loader is the script's own."""

    def broken() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(open_run(Path("/nowhere/agent.sock")).data(broken()))


def test_marks_divide_the_step() -> None:
    """A mark counts the time since the mark before it, without the sections between them."""
    run = open_run(Path("/nowhere/agent.sock"))
    run.step()
    time.sleep(0.02)
    run.mark("forward")
    time.sleep(0.01)
    with run.section("checkpoint"):
        time.sleep(0.1)
        with run.section("upload"):
            time.sleep(0.02)
    run.mark("backward")
    run.step()
    sections = run.summary().sections
    assert sections["forward"] >= 0.02
    assert 0.01 <= sections["backward"] < 0.1
    assert sections["checkpoint"] >= 0.1
    assert sections["upload"] >= 0.02
    step_seconds = run.summary().overall.step_seconds
    assert step_seconds is not None
    assert math.isclose(sum(sections.values()), step_seconds, rel_tol=0.2)


def test_waiting_inside_of_a_section_belongs_to_the_section() -> None:
    """An evaluation that waits for its own loader does not count as waiting of the training."""

    def slow() -> Iterator[int]:
        time.sleep(0.02)
        yield 1

    run = open_run(Path("/nowhere/agent.sock"))
    run.step()
    with run.section("evaluation"):
        assert list(run.data(slow())) == [1]
    run.step()
    summary = run.summary()
    assert summary.overall.data_wait_share == 0
    assert summary.sections["evaluation"] >= 0.02


def test_a_mark_inside_of_a_section_leaves_no_negative_time() -> None:
    """Marks and sections may overlap: no time is negative."""
    run = open_run(Path("/nowhere/agent.sock"))
    run.step()
    with run.section("evaluation"):
        time.sleep(0.01)
        for _ in run.data([1]):
            pass
        run.mark("inner")
    run.mark("after")
    run.step()
    assert all(seconds >= 0 for seconds in run.summary().sections.values())


def test_calls_are_counted_with_their_errors(agent: ListeningSocket) -> None:
    """Calls in the training's thread are a section as well; those of other threads run beside the step."""
    run = open_run(agent.path)
    run.step()
    with pytest.raises(TimeoutError), run.call("kato"):
        raise TimeoutError("too slow")

    def from_thread() -> None:
        for _ in range(500):
            with run.call("kato"):
                pass

    threads = [threading.Thread(target=from_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.step()
    run.finish()
    reports = steps_of(agent.lines())
    calls = [call for report in reports for call in report.get("calls", [])]
    assert sum(call["count"] for call in calls) == 2001
    assert sum(call["errors"] for call in calls) == 1
    assert any("call kato" in report.get("section_seconds", {}) for report in reports)


def test_levels_report_items_and_the_time_between_reports(agent: ListeningSocket) -> None:
    """A level without a time of its own took as long as the second that is reported."""
    run = open_run(agent.path)
    run.step()
    run.level("node0").add(10)
    run.level("node1").add(4, seconds=0.5)
    time.sleep(0.01)
    run.step()
    levels = {level["level"]: level for level in steps_of(agent.lines())[-1]["levels"]}
    assert levels["node0"]["items"] == 10
    assert levels["node0"]["seconds"] >= 0.01
    assert (levels["node1"]["items"], levels["node1"]["seconds"]) == (4, 0.5)
    assert run.summary().levels["node1"] == 8.0


def test_a_step_that_goes_back_is_a_new_attempt(agent: ListeningSocket) -> None:
    """A resumed training opens its run again, with a higher attempt."""
    run = open_run(agent.path)
    run.step(100)
    run.step(101)
    run.step(50)
    run.finish()
    hellos = [line for line in agent.lines() if line["kind"] == "hello"]
    assert [hello["attempt"] for hello in hellos] == [0, 1]
    assert (run.attempt, run.last_step) == (1, 50)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_reported(agent: ListeningSocket, loss: float) -> None:
    """NaN and infinity are findings, and so they are sent."""
    run = open_run(agent.path)
    run.step(loss=loss)
    run.finish()
    assert steps_of(agent.lines())[-1]["loss"] == str(loss)


def test_invalid_values_are_dropped_and_counted() -> None:
    """Nothing that a script passes raises, and what is not valid is counted."""
    run = open_run(Path("/nowhere/agent.sock"))
    odd = Hostile()
    run.step(odd, tokens=odd, samples=odd, loss=odd)
    run.mark(odd)
    with run.section(odd):
        pass
    with run.call(odd):
        pass
    run.level(odd).add(odd)  # type: ignore[arg-type]
    run.step(-1, tokens=-5, samples=math.nan, loss="high")
    run.mark("x" * 10_000)
    run.mark("")
    run.step()
    run.finish()
    assert run.dropped >= 10
    assert all(len(name) <= 60 for name in run.summary().sections)


def test_too_many_names_are_dropped(agent: ListeningSocket) -> None:
    """A name with a counter in it fills neither the report nor the memory."""
    run = open_run(agent.path, report_ns=10**18)
    run.step()
    for number in range(10_000):
        run.mark(f"step {number}")
        run.level(f"level {number}").add(1)
        with run.call(f"service {number}"):
            pass
    run.finish()
    report = steps_of(agent.lines())[-1]
    assert len(report["section_seconds"]) == 32
    assert (len(report["calls"]), len(report["levels"])) == (32, 64)
    assert run.dropped > 20_000


def test_an_exception_in_the_block_is_not_swallowed(agent: ListeningSocket) -> None:
    """The run is left, and the exception goes on."""
    with pytest.raises(KeyboardInterrupt), open_run(agent.path):
        raise KeyboardInterrupt
    assert agent.lines()[-1] == {"kind": "goodbye"}


def test_finishing_twice_has_no_effect_and_steps_afterwards_are_harmless(agent: ListeningSocket) -> None:
    """A notebook may run its cells in any order."""
    run = open_run(agent.path)
    run.finish()
    run.finish()
    run.step(tokens=1)
    assert [line["kind"] for line in agent.lines()].count("goodbye") == 1


def test_actions_run_once_at_the_next_boundary_and_may_fail() -> None:
    """An action that raises is counted, and the others run."""
    run = open_run(Path("/nowhere/agent.sock"))
    seen: list[int] = []

    def fail(_run: Run) -> None:
        raise RuntimeError("not reached by the training")

    run.at_boundary(fail)
    run.at_boundary(lambda known: seen.append(known.last_step))
    run.step()
    run.step()
    assert seen == [1]
    assert run.dropped == 1


def test_messages_of_the_agent_reach_their_action(agent: ListeningSocket) -> None:
    """A message goes to the action for its kind; unknown kinds and rubbish are ignored."""
    run = open_run(agent.path)
    agent.lines()
    seen: list[object] = []
    run.on_message("offer", lambda _, message: seen.append(message["id"]))
    agent.send({"kind": "ok"}, {"kind": "unheard"}, {"kind": "offer", "id": 7}, {"no": "kind"})
    run.step()
    run.on_message("offer", None)
    agent.send({"kind": "offer", "id": 8})
    run.step()
    assert seen == [7]


def test_answers_to_the_agent_go_out_with_the_next_report(agent: ListeningSocket) -> None:
    """Messages wait for the report; too long ones are refused."""
    run = open_run(agent.path)
    assert run.send_message({"kind": "captured", "id": "c1"})
    assert not run.send_message({"kind": "captured", "text": "x" * 100_000})
    run.step()
    assert {"kind": "captured", "id": "c1"} in agent.lines()


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(), st.floats(), st.text()),
            st.one_of(st.none(), st.integers(), st.floats()),
            st.text(max_size=300),
        ),
        max_size=20,
    )
)
def test_any_steps_are_valid_lines(steps: list[tuple[object, object, str]]) -> None:
    """Whatever a script passes, the sums are finite and names are printable."""
    run = open_run(Path("/nowhere/agent.sock"), report_ns=10**18)
    for loss, tokens, name in steps:
        run.mark(name)
        run.step(tokens=tokens, loss=loss)
    summary = run.summary()
    assert summary.step == len(steps)
    assert all(name.isprintable() and name for name in summary.sections)
    json.dumps(summary.sections)
