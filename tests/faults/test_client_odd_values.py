"""Odd names, labels and values never reach the training as an error, nor the agent as a line that it refuses."""

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flyball
from flyball.training.run import Run
from flyball_agent.runs.messages import CapturedMessage, Goodbye, Hello, StepsMessage, decode
from tests.client.training.listening_socket import ListeningSocket

pytestmark = pytest.mark.faults


class Hostile:
    """An object that raises whatever is done with it."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError("no")

    __str__ = __float__ = __int__ = __index__ = __hash__ = __eq__ = __bool__ = __len__ = __iter__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __getattr__ = _refuse


TEXTS = st.one_of(
    st.text(), st.text(min_size=200, max_size=300), st.just("x" * 10_240), st.text('\x00\x1b\ud800\u202e\n"\\')
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.binary(), st.decimals(), st.complex_numbers(),
    st.lists(st.integers(), max_size=2), st.builds(object), st.builds(Hostile), st.just(10**400), st.just(2**63),
)  # fmt: skip


@contextmanager
def listening(folder: Path) -> Iterator[ListeningSocket]:
    """Yield an agent's side for each example."""
    path = folder / "agent.sock"
    path.unlink(missing_ok=True)
    before = os.environ.get("FLYBALL_SOCKET")
    os.environ["FLYBALL_SOCKET"] = str(path)
    try:
        with ListeningSocket(path) as agent:
            yield agent
    finally:
        os.environ.pop("FLYBALL_SOCKET")
        if before is not None:
            os.environ["FLYBALL_SOCKET"] = before


def accepted(agent: ListeningSocket) -> list[Hello | StepsMessage | Goodbye | CapturedMessage]:
    """Return the messages of a run, each of which the real agent accepts."""
    messages = [decode(json.dumps(line).encode()) for line in agent.lines()]
    assert all(isinstance(message, Hello | StepsMessage | Goodbye | CapturedMessage) for message in messages)
    return messages  # type: ignore[return-value]  # checked before


EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@EXAMPLES
@given(name=VALUES, steps=VALUES, samples=VALUES, rank=VALUES, size=VALUES, policy=VALUES,
       labels=st.one_of(VALUES, st.dictionaries(TEXTS, VALUES, max_size=20)))  # fmt: skip
def test_a_run_opens_with_anything(
    tmp_path: Path, name: Any, steps: Any, samples: Any, rank: Any, size: Any, policy: Any, labels: Any
) -> None:
    """Names are cut, numbers dropped, and the agent gets a valid hello."""
    with listening(tmp_path) as agent:
        options = {"labels": labels, "rank": rank, "world_size": size, "policy": policy}
        run = flyball.run(name, total_steps=steps, total_samples=samples, **options)
        run.step()
        run.finish()
        hello, *_, goodbye = accepted(agent)
        assert isinstance(hello, Hello)
        assert 0 < len(hello.run) <= 200
        assert isinstance(goodbye, Goodbye)


@EXAMPLES
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["step", "mark", "section", "call", "level", "data", "loss"]), VALUES, VALUES, VALUES
        ),
        max_size=30,
    )
)
def test_a_run_accepts_anything(tmp_path: Path, calls: list[tuple[str, Any, Any, Any]]) -> None:
    """Numbers, names and losses of any kind: nothing raises, and each report is valid."""
    with listening(tmp_path) as agent:
        run = flyball.run("odd")
        run._report_ns = 0
        for call, one, two, three in calls:
            _do(run, call, one, two, three)
        run.step()
        run.finish()
        messages = accepted(agent)
        boundaries = sum(call == "step" for call, *_ in calls) + 1
        counted = sum(message.steps for message in messages if isinstance(message, StepsMessage))
        assert boundaries - 1 <= counted <= boundaries


def _do(run: Run, call: str, one: Any, two: Any, three: Any) -> None:
    if call == "step":
        run.step(one, tokens=two, samples=three, loss=one)
    elif call == "mark":
        run.mark(one)
    elif call == "section":
        with run.section(one):
            run.mark(two)
    elif call == "call":
        with run.call(one):
            pass
    elif call == "level":
        run.level(one).add(two, three)
    elif call == "loss":
        run.note_loss(one)
    else:
        try:
            expected: object = list(one)
        except Exception as error:  # noqa: BLE001  whatever iterating raises, it raises with the client as well
            expected = type(error)
        try:
            found: object = list(run.data(one))
        except Exception as error:  # noqa: BLE001  likewise
            found = type(error)
        assert found == expected


def test_odd_values_are_counted(tmp_path: Path) -> None:
    """A user can see that something was not valid."""
    with listening(tmp_path) as agent:
        run = flyball.run("x" * 10_240, total_steps=-1, labels={"": "", "a": "\x00"})
        assert run.dropped == 4
        for value in (Hostile(), "text", -1, float("nan"), 10**400):
            run.step(tokens=value)
        assert run.dropped == 9
        run.finish()
        assert sum(message.dropped or 0 for message in accepted(agent) if isinstance(message, StepsMessage)) == 9


def test_steps_that_go_back_are_a_new_attempt(tmp_path: Path) -> None:
    """A script that resumes from a checkpoint, again and again."""
    with listening(tmp_path) as agent:
        run = flyball.run("resumed")
        run._report_ns = 0
        for number in (1, 2, 3, 2, 3, 1, 2, 3, 4):
            run.step(number)
        run.finish()
        messages = accepted(agent)
        attempts = [message.attempt for message in messages if isinstance(message, Hello)]
        assert attempts == [0, 1, 2]
        assert [message.step for message in messages if isinstance(message, StepsMessage)][-1] == 4


def test_a_process_without_free_descriptors_trains_on(tmp_path: Path) -> None:
    """The run connects when one is free again."""
    with listening(tmp_path) as agent:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.open("/dev/null", os.O_RDONLY)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            run = flyball.run("starved")
            run.step()
            connected = run.connected
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        run._reporter._link._retry_at = run._due = 0  # a second later
        run.step()
        assert (connected, run.connected) == (False, True)
        run.finish()
        assert isinstance(accepted(agent)[0], Hello)
