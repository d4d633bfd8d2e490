"""Tests of the summary: rates, the time remaining with its interval, and the text."""

import random

import pytest

from flyball.training.figures import Figures
from flyball.training.progress import Progress
from flyball.training.run_summary import TrainingSummary, summarize

SECOND = 1_000_000_000


class Facts:
    """A run at some step."""

    name, rank, world_size, attempt, dropped = "a-run", 0, 1, 0, 0

    def __init__(
        self,
        last_step: int,
        total_steps: int | None = None,
        total_samples: int | None = None,
        *,
        connected: bool = True,
        hellos: int = 1,
        refusal: str = "",
    ) -> None:
        self.last_step, self.total_steps, self.total_samples = last_step, total_steps, total_samples
        self.connected, self.hellos, self.refusal = connected, hellos, refusal


def second(steps: int, seconds: float, *, samples: float | None = None, wait: float = 0.0) -> Figures:
    """Return the figures of one report."""
    figures = Figures()
    figures.steps, figures.nanoseconds = steps, round(seconds * SECOND)
    figures.samples, figures.wait, figures.waits = samples, round(wait * SECOND), 1
    return figures


def test_recent_and_overall_rates_differ_after_a_slow_start() -> None:
    """The recent rate forgets what was more than a minute ago; the overall rate does not."""
    progress = Progress(0)
    for at in range(1, 61):
        progress.add(at * SECOND, second(1, 1.0, samples=8))
    for at in range(61, 181):
        progress.add(at * SECOND, second(10, 1.0, samples=80))
    summary = summarize(Facts(1260), progress, 180 * SECOND)
    assert summary.recent.steps_per_second == pytest.approx(10)
    assert summary.overall.steps_per_second == pytest.approx(1260 / 180)
    assert summary.recent.samples_per_second == pytest.approx(80)


def test_frequent_summaries_do_not_shorten_the_recent_minute() -> None:
    """With ten summaries a second, the recent rate is still that of the last minute."""
    progress = Progress(0)
    for tenth in range(1, 301):
        progress.add(tenth * SECOND // 10, second(1, 0.1, samples=4))
    for tenth in range(301, 601):
        progress.add(tenth * SECOND // 10, second(3, 0.1, samples=12))
    summary = summarize(Facts(1200), progress, 60 * SECOND)
    assert summary.recent.steps_per_second == pytest.approx(20, rel=0.05)
    assert summary.recent.samples_per_second == pytest.approx(80, rel=0.05)


def test_the_interval_of_the_time_remaining_holds() -> None:
    """On steps whose times vary, the interval contains the true remaining time in about 95 of 100 runs."""
    noise = random.Random(5)
    held = 0
    for _ in range(200):
        progress = Progress(0)
        for at in range(1, 61):
            progress.add(at * SECOND, second(10, sum(max(0.01, noise.gauss(0.1, 0.05)) for _ in range(10))))
        summary = summarize(Facts(600, total_steps=10_600), progress, 60 * SECOND)
        assert summary.remaining_low_seconds is not None
        assert summary.remaining_high_seconds is not None
        held += summary.remaining_low_seconds <= 1_000 * 1.0 <= summary.remaining_high_seconds + 10
    assert held >= 180


def test_samples_serve_where_steps_are_not_known() -> None:
    """A run with a number of samples has a time remaining as well."""
    progress = Progress(0)
    for at in range(1, 11):
        progress.add(at * SECOND, second(1, 1.0, samples=5))
    summary = summarize(Facts(10, total_samples=100), progress, 10 * SECOND)
    assert summary.remaining_seconds == pytest.approx(10)


def test_what_is_not_known_is_none() -> None:
    """Before the first step nothing is claimed."""
    summary = summarize(Facts(0, total_steps=10), Progress(0), SECOND)
    assert summary.recent.step_seconds is None
    assert summary.remaining_seconds is None
    assert summary.primary_bottleneck == ""
    assert str(summary) == "a-run: step 0 of 10, rank 0 of 1"


def test_the_largest_part_limits_the_run() -> None:
    """The part with most of the time is named, with its share."""
    progress = Progress(0)
    figures = second(4, 4.0, wait=1.0)
    figures.add_section("call kato", round(2.5 * SECOND))
    figures.add_calls("kato", 10, round(2.5 * SECOND), 1)
    progress.add(4 * SECOND, figures)
    summary = summarize(Facts(4), progress, 4 * SECOND)
    assert (summary.primary_bottleneck, summary.bottleneck_share) == ("call kato", 0.625)
    text = str(summary)
    assert "call kato, 62% of the step" in text
    assert "calls to kato: 10, 250 ms each, 1 errors" in text
    assert isinstance(summary, TrainingSummary)


def test_a_run_that_no_agent_knows_of_gives_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary names the socket at which no agent listens, or what the agent has answered."""
    monkeypatch.setenv("FLYBALL_SOCKET", "/nowhere/agent.sock")
    missing = summarize(Facts(1, connected=False, hellos=0), Progress(0), SECOND)
    assert str(missing).endswith("not reported: no agent listens at /nowhere/agent.sock")
    answer = '{"kind":"error","error":"run a-run belongs to another user"}'
    refused = summarize(Facts(1, connected=False, refusal=answer), Progress(0), SECOND)
    assert str(refused).endswith("not reported: the agent has refused the run: run a-run belongs to another user")
    finished = summarize(Facts(1, connected=False), Progress(0), SECOND)
    assert finished.not_reported == ""
