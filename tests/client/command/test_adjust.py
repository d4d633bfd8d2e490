"""`flyball adjust` against a real collector's HTTP side, with a governor and ranks that answer."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
import typer
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from flyball.command import adjust, runs
from flyball.command.adjust import choice_of
from flyball.command.adjust_view import adjustments_view, effect_text, gain_text, progress_text, values_view
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import write_view
from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.http.adjustment_answers import adjustment_answer
from flyball_collector.http.adjustment_testing import AdjustableTraining, faster, some_adjustment
from flyball_collector.http.testing import serving
from tests.client.terminal import terminal

PIPE = {"TTY_COMPATIBLE": "0", "FORCE_COLOR": ""}


@pytest.fixture(autouse=True)
def _quiet_collector() -> Iterator[None]:
    """Keep the collector's log out of the command's output, because both are in this process."""
    with capture_logs():
        yield


async def run(url: str, *words: str, app: typer.Typer | None = None) -> Result:
    """Run the command in a thread, because the collector answers on the event loop."""
    arguments = [*words, "--collector", url]
    return await asyncio.to_thread(CliRunner().invoke, app or adjust.build(), arguments, env=PIPE)


def failure(result: Result) -> str:
    """Return the error of a command that failed."""
    assert isinstance(result.exception, CommandError), result.output
    return str(result.exception)


async def test_a_value_is_set_and_its_adjustment_is_listed() -> None:
    """The command prints what was offered and how to follow it; the list has state, gain and reason."""
    training = await AdjustableTraining().begin()
    training.play(30)
    async with serving(training.parts) as url:
        offered = (await run(url, "set", "r", "workers", "4", "--why", "idle CPU")).stdout.splitlines()
        made = training.governor.find(run="r")[0]
        assert offered[0].startswith("workers 2 → 4 on r: offered to 4 ranks for step ")
        assert offered[1] == f"Follow it: flyball adjust show {made.id} --watch"
        training.answer()
        training.play(40, step_seconds=0.16)
        shown = (await run(url, "list", "r")).stdout.splitlines()
        assert shown[0].split() == ["ID", "TIME", "RUN", "CHANGE", "STATE", "GAIN", "REASON"]
        assert shown[1].split()[:1] == [made.id]
        assert "workers 2 → 4" in shown[1]
        assert "kept" in shown[1]
        assert "+2" in shown[1]
        document = json.loads((await run(url, "list", "--format", "json")).stdout)
        assert [each["id"] for each in document["adjustments"]] == [made.id]
        assert (await run(url, "list", "other")).stdout == "No adjustments.\n"
        assert made.id in (await run(url, "list", "--state", "kept")).stdout
        assert (await run(url, "list", "--state", "proposed")).stdout == "No adjustments.\n"
        assert "'new' is not one of in_progress, proposed" in failure(await run(url, "list", "--state", "new"))


async def test_details_show_who_decided_what_and_what_was_measured() -> None:
    """The first digits of an id are enough."""
    training = await AdjustableTraining().begin()
    training.play(30)
    async with serving(training.parts) as url:
        await run(url, "set", "r", "workers", "4", "--why", "idle CPU")
        training.answer()
        training.play(40, step_seconds=0.16)
        shown = (await run(url, "show", "000")).stdout
    for words in ("workers 2 → 4  r  kept, +2", "idle CPU", "1: does not change results", "Measured speed: +2",
                  "Decisions", "a local user", "Ranks: 4 applied", "4 on a, b"):  # fmt: skip
        assert words in shown, shown
    line = next(line for line in shown.splitlines() if line.startswith("step time"))
    assert line.split() == ["step", "time", "200.0", "ms", "160.0", "ms"]


async def test_a_proposal_is_approved_or_vetoed() -> None:
    """The output has the new state."""
    training = await AdjustableTraining().begin()
    training.play(30)
    async with serving(training.parts) as url:
        first = training.propose()
        assert "waits for approval" in (await run(url, "show", first.id)).stdout
        vetoed = (await run(url, "veto", first.id, "--why", "evaluation at noon")).stdout
        assert vetoed == "workers 2 → 4 on r: vetoed by a local user: evaluation at noon.\n"
        assert "does not wait" in failure(await run(url, "approve", first.id))
        training.play(30)
        second = training.propose(to=8)
        assert "offered to 4 ranks" in (await run(url, "approve", second.id)).stdout
        training.answer()
        assert "workers 8 → 2 on r: offered" in (await run(url, "undo", second.id)).stdout


async def test_watching_ends_with_the_adjustment() -> None:
    """Each state is a line on the standard error, and the end is shown with what was measured."""
    training = await AdjustableTraining().begin()
    training.play(30)

    async def train() -> None:
        while True:
            training.answer()
            training.play(10, step_seconds=0.16 if training.value["workers"] == 4 else 0.2)
            await asyncio.sleep(0.05)

    async with serving(training.parts) as url:
        task = asyncio.create_task(train())
        result = await asyncio.wait_for(run(url, "set", "r", "workers", "4", "--watch"), 60)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert "workers 2 → 4: kept, +2" in result.stderr
    assert "Measured speed: +2" in result.stdout


async def test_values_and_policy_are_shown_and_set(capsys: pytest.CaptureFixture[str]) -> None:
    """Each value has its choices, its class, and why it cannot change now."""
    training = await AdjustableTraining(settings=AdjustmentsSettings(enabled=True)).begin()
    async with serving(training.parts) as url:
        shown = (await run(url, "values", "r")).stdout
        lines = {line.split()[0]: line for line in shown.splitlines() if line}
        assert lines["r"] == "r  policy ask"
        assert "1, 2, 4, 8, 16, 32" in lines["micro_batch"]
        assert "2: equal results up to rounding" in lines["micro_batch"]
        assert "blocked: compiled" in lines["compiled"]
        assert "all ranks have declared values; they agree in the job's own store" in shown
        assert (await run(url, "set", "r", "workers", "4.0")).stdout.startswith("workers 2 → 4 on r: ")
        assert json.loads((await run(url, "values", "r", "--format", "json")).stdout)["policy"] == "ask"
        assert (await run(url, "policy", "r")).stdout == "The policy of r is ask.\n"
        await training.begin(policy="auto")
        assert "r  policy ask (the training asks for auto)" in (await run(url, "values", "r")).stdout
        limited = (await run(url, "policy", "r", "auto")).stdout
        assert limited == "The policy of r is ask, not auto: the collector allows ask at most.\n"
        assert (await run(url, "policy", "r", "off", "--why", "benchmark")).stdout == "The policy of r is off.\n"
        assert "off" in failure(await run(url, "set", "r", "workers", "4"))
        decided = (await run(url, "policy", "r")).stdout
        assert decided.startswith("The policy of r is off; off was set by a local user at ")
        assert decided.endswith(" UTC: benchmark.\n")
        training.governor.host_lost("b")
        shown = (await run(url, "values", "r")).stdout
        assert "not declared by ranks 2, 3" in shown
        assert "4 ranks; those that have declared no values: 2, 3. Check that the agents" in shown
        older = json.loads((await run(url, "values", "r", "--format", "json")).stdout)
        for answer, key in ((older, "policy_set"), (older, "missing_ranks"), (older["values"][0], "refused")):
            del answer[key]  # as from a collector of an earlier version
        write_view(values_view(older))
        assert "those that have declared no values: unknown" in capsys.readouterr().out


async def test_the_policy_of_a_run_that_declares_nothing_is_off() -> None:
    """A training with the policy `off` declares nothing, so no other policy may be shown for it, and why."""
    training = AdjustableTraining()
    training.play(3)
    async with serving(training.parts) as url:
        heading, reason = (await run(url, "values", "r")).stdout.splitlines()
        assert heading == "r  policy off"
        assert reason.endswith("changed. The script's policy may be `off`, or the agents allow no adjustments.")
        nothing = "The policy of r is off: no rank has declared a value that can be changed.\n"
        assert (await run(url, "policy", "r")).stdout == nothing
        assert json.loads((await run(url, "policy", "r", "--format", "json")).stdout)["policy"] == "off"


async def test_errors_name_what_is_wrong_and_what_to_do() -> None:
    """Unknown runs, values, choices and ids, and a collector that allows nothing."""
    training = await AdjustableTraining().begin()
    training.play(30)
    async with serving(training.parts) as url:
        assert "VALUE 3 is not a choice of workers; expected 1, 2, 4, 8" in failure(
            await run(url, "set", "r", "workers", "3")
        )
        assert "did you mean 'workers'?" in failure(await run(url, "set", "r", "worker", "4"))
        assert "no run named 'nobody'; `flyball runs` lists them" in failure(await run(url, "values", "nobody"))
        unknown = failure(await run(url, "undo", "9f2"))
        assert unknown == "no adjustment with the id '9f2'; `flyball adjust list` lists them"
        unknown = failure(await run(url, "undo", "9f2a000000000000"))
        assert unknown == "no adjustment with the id '9f2a000000000000'; `flyball adjust list` lists them"
        assert failure(await run(url, "show", "")).startswith("no adjustment with the id ''")
        waiting = training.propose()
        training.propose("micro_batch", 8)
        assert "several adjustments begin with '0000'" in failure(await run(url, "show", "0000"))
        assert "interactive terminal" in failure(await run(url, "list", "--watch"))
        long = failure(await run(url, "policy", "r", "off", "--why", 501 * "x"))
        assert long == "--why has 501 characters; at most 500 are allowed"
        assert failure(await run(url, "veto", waiting.id, "--why", "\udcff")) == "--why is not valid UTF-8"
    training = await AdjustableTraining(settings=AdjustmentsSettings()).begin()
    async with serving(training.parts) as url:
        assert "Adjustments are off on this collector." in (await run(url, "list")).stdout
        assert "Adjustments are off on this collector." in (await run(url, "values", "r")).stdout
        off = failure(await run(url, "policy", "r", "auto"))
        assert off.startswith("adjustments are off on this collector; set adjustments.enabled")
        assert "flyball up --adjust" in off


async def test_a_run_shows_its_adjustments() -> None:
    """`flyball runs NAME` has its policy and the newest ones; JSON has all of it."""
    app = typer.Typer()
    app.command()(runs.runs)
    training = await AdjustableTraining().begin()
    training.play(30)
    async with serving(training.parts) as url:
        await run(url, "set", "r", "workers", "4", "--why", "idle CPU")
        shown = (await run(url, "r", app=app)).stdout
        document = json.loads((await run(url, "r", "--format", "json", app=app)).stdout)
    section = shown[shown.index("\nAdjustments\n") :]
    assert "policy ask (the collector allows auto) · 3 values can be changed" in section
    assert "workers 2 → 4" in section
    assert "idle CPU" in section
    assert document["adjustments"]["policy"] == "ask"


def test_choices_are_recognised_as_people_write_them() -> None:
    """on is true, "0.5" is 0.5, and a text stays a text; without choices the form of the value decides."""
    known: list[dict[str, Any]] = [{"name": "a", "choices": [True, False]}, {"name": "b", "choices": [0, 0.1, 0.5]},
             {"name": "c", "choices": ["bf16", "8"]}, {"name": "d", "choices": []}]  # fmt: skip
    found = [choice_of(known, *pair) for pair in (("a", "on"), ("a", "false"), ("b", "0.5"), ("c", "8"))]
    assert found == [True, False, 0.5, "8"]
    assert [choice_of(known, "d", text) for text in ("8", "0.5", "off", "true", "bf16", "[1]")] == [
        8, 0.5, False, True, "bf16", "[1]"
    ]  # fmt: skip
    with pytest.raises(WrongArgument, match="expected on, off"):
        choice_of(known, "a", "1")


def test_gains_and_states_are_short() -> None:
    """From a factor of 2 on, a factor is easier to read than a percentage."""
    assert [gain_text(gain) for gain in (1.034, 1.004, 0.94, 1.0, 15.2)] == ["+3 %", "+0.4 %", "-6 %", "+0 %", "×15.2"]
    found = _answer(effect=faster(1.034), reason="slower\x1b[31m")
    assert effect_text(found["effect"]) == "+3 % (+1 % … +5 %)"
    assert progress_text(found) == "kept, +3 % (+1 % … +5 %): slower�[31m"
    vetoed = _answer(state=AdjustmentState.VETOED, reason="vetoed by otto: useless")
    assert progress_text(vetoed) == "vetoed by otto: useless"
    policy = _answer(state=AdjustmentState.VETOED, reason="the policy is off")
    assert progress_text(policy) == "vetoed: the policy is off"


def test_text_of_hosts_controls_no_terminal() -> None:
    """Names, reasons and answers of ranks are printed as text."""
    hostile = "\x1b[31m[bold]x"
    found = {"adjustments": [_answer(name=hostile, because=hostile, run=hostile)], "more": False, "enabled": True}
    app = typer.Typer()
    app.command()(lambda: write_view(adjustments_view(found)))
    shown = CliRunner().invoke(app, [], env=terminal(200)).stdout
    assert "[bold]x" in shown
    assert "\x1b[31m[bold]" not in shown


def _answer(**fields: Any) -> dict[str, Any]:
    return dict(msgspec.to_builtins(adjustment_answer(some_adjustment(**fields))))
