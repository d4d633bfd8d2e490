"""Tests of the lines that go to the agent: the agent accepts whatever a run can write."""

import math

from hypothesis import given
from hypothesis import strategies as st

from flyball.training.figures import Figures
from flyball.training.identity import Identity, all_labels
from flyball.training.introduction import Introduction
from flyball.training.progress import Progress
from flyball.training.report_line import steps_line
from flyball.training.texts import clean
from flyball_agent.runs.messages import Hello, StepsMessage, decode

amounts = st.one_of(st.none(), st.floats(0, 1e15), st.integers(0, 2**53))


@given(st.text(), st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.floats())), st.text())
def test_the_agent_accepts_any_hello(name: str, labels: dict[str, object], policy: str) -> None:
    """A hello is valid for any name, labels and policy."""
    found, _ = all_labels(labels, {})
    known = Introduction(
        clean(name) or "run",
        Identity(1, 2, 0, clean(name)),
        total_steps=10,
        total_samples=20,
        labels=found,
        policy=clean(policy, 20),
    )
    message = decode(known.line())
    assert isinstance(message, Hello)
    assert (message.run, message.rank, message.world_size) == (clean(name) or "run", 1, 2)


@given(amounts, amounts, st.one_of(st.none(), st.floats()), st.integers(0, 10**15), st.text())
def test_the_agent_accepts_any_report(
    tokens: float | None, samples: float | None, loss: float | None, nanoseconds: int, name: str
) -> None:
    """A report is valid for any sums, any loss and any names, and has the same values."""
    figures, progress = Figures(), Progress(0)
    figures.steps, figures.nanoseconds, figures.waits, figures.wait = 3, nanoseconds, 1, nanoseconds // 2
    figures.tokens, figures.samples, progress.loss = tokens, samples, loss
    figures.throttled, figures.paused, figures.oom_retries = nanoseconds, nanoseconds, nanoseconds % 3
    short = clean(name, 60) or "unnamed"
    figures.add_section(short, nanoseconds)
    figures.add_calls(short, 2, nanoseconds, 1)
    figures.add_level(short, 2.5, 0.5)
    message = decode(steps_line(7, figures, progress, 2))
    assert isinstance(message, StepsMessage)
    assert (message.step, message.steps, message.tokens, message.samples) == (7, 3, tokens, samples)
    assert math.isclose(message.step_seconds, nanoseconds / 1e9, abs_tol=1e-6)
    rest = message.step_seconds if nanoseconds else None
    assert (message.throttled_seconds, message.paused_seconds) == (rest, rest)
    assert message.oom_retries == (nanoseconds % 3 or None)
    assert len(message.section_seconds) == len(message.levels) == 1


def test_unknown_values_are_left_out() -> None:
    """Values that were not measured are not sent as 0."""
    line = steps_line(1, Figures(), Progress(0), 0).decode()
    assert line == '{"kind":"steps","step":1,"steps":0,"step_seconds":0.000000}\n'
