"""`flyball scale` on real commands: a law only where the times show one."""

import json
import sys

import pytest

from flyball.command import run
from flyball.command.scale import result_of
from flyball_planner.scaling.fitting import Point, fit

Captured = pytest.CaptureFixture[str]


def test_a_size_that_the_command_does_not_use_is_an_error(capsys: Captured) -> None:
    """Nothing is run, and the message has the placeholder and the variable."""
    assert run(["scale", "--sizes", "1,2,3", "--", "sleep", "60"]) == 2
    message = capsys.readouterr().err
    assert "neither {samples} nor FLYBALL_SAMPLES" in message
    assert "env FLYBALL_SAMPLES={samples}" in message


def test_start_up_is_not_a_law(capsys: Captured) -> None:
    """A command whose time is mostly its start gets a range and larger sizes, and no law."""
    command = [sys.executable, "-c", "sorted(range({samples}))"]
    assert run(["scale", "--sizes", "10,100,1000", "--repeats", "2", "--", *command]) == 0
    text = capsys.readouterr().out
    assert "there is no single forecast" in text
    assert "Time grows as" not in text
    assert "flyball scale --sizes 1000," in text


@pytest.mark.parametrize("power", [1, 2])
def test_a_clear_law_has_a_forecast(power: int) -> None:
    """Its headline names the law, and JSON has the same forecast for each size."""
    found = fit([Point(n, 1e-4 * n**power * f) for n in (100, 1000, 10_000) for f in (0.98, 1.0, 1.02)])
    result = result_of(found, [10**6])
    assert result.sections[0].text == (f"Time grows as O(n{'²' if power == 2 else ''}).",)
    document = json.loads(json.dumps(result.document))
    (forecast,) = document["forecast"]
    assert forecast["seconds"]["low"] < 1e-4 * 10 ** (6 * power) < forecast["seconds"]["high"]
    assert document["next"] is None


def test_an_unclear_law_has_no_middle() -> None:
    """JSON has no law and no single forecast, but the range and the forecast of each law that fits."""
    found = fit([Point(n, 0.05 + 1e-7 * n * f) for n in (100, 1000, 10_000, 50_000) for f in (0.9, 1.0, 1.1)])
    document = json.loads(json.dumps(result_of(found, [10**8], ["sort", "{samples}"]).document))
    assert document["law"] is None
    (forecast,) = document["forecast"]
    assert forecast["seconds"] is None
    assert forecast["range_seconds"]["low"] < forecast["range_seconds"]["high"]
    assert len(forecast["by_law"]) > 1
    assert document["next"]["sizes"]


@pytest.mark.parametrize(("target", "words"), [(100_000, " … "), (10**9, " or more")])
def test_a_range_that_shows_nothing_has_no_upper_end(target: int, words: str) -> None:
    """Times that hardly grow leave every law possible: far beyond them, the worst one would give thousands of years."""
    found = fit([Point(n, 0.3 * f) for n in (100, 1000, 10_000, 50_000) for f in (0.7, 1.0, 1.3)])
    sections = {each.title: each for each in result_of(found, [target], ["sort", "{samples}"]).sections}
    ((size, seconds),) = sections["Possible range"].tables[0].rows
    assert size == f"{target:,}"
    assert words in seconds
