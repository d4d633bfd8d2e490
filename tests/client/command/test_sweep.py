"""`flyball sweep` on real commands: values that make no difference are not ranked."""

import itertools
import json
import sys

import pytest

from flyball.command import run
from flyball.command.sweep_report import result_of
from flyball_planner.sweep.configurations import SweepConfiguration
from flyball_planner.sweep.trial import TrialOutcome

Captured = pytest.CaptureFixture[str]


def test_a_value_that_the_command_does_not_use_is_an_error(capsys: Captured) -> None:
    """Nothing is run, and the message has the placeholder, the variable, and how to pass it on."""
    assert run(["sweep", "--try", "depth=1-3", "--", "sleep", "60"]) == 2
    message = capsys.readouterr().err
    assert "neither {depth} nor FLYBALL_DEPTH" in message
    assert "env FLYBALL_DEPTH={depth}" in message


def test_the_same_value_twice_is_an_error(capsys: Captured) -> None:
    """The message names the value."""
    assert run(["sweep", "--try", "depth=3,4,3", "--", "echo", "{depth}"]) == 2
    assert "depth has the value 3 twice" in capsys.readouterr().err


def test_equal_speeds_are_not_ranked() -> None:
    """Speeds that differ by less than equal runs are listed without a rank, and the output has that sentence."""
    seconds = {1: (1.0, 1.1, 0.9), 2: (1.02, 0.93, 1.08), 3: (0.97, 1.06, 1.0)}
    outcomes = [
        TrialOutcome(SweepConfiguration.of({"depth": depth}), each[0], 100, every_seconds=each)
        for depth, each in seconds.items()
    ]
    result = result_of(outcomes)
    assert result.sections[0].title == "No difference"
    assert "No configuration is faster than another" in result.sections[0].text[0]
    document = json.loads(json.dumps(result.document))
    assert document["ranking"] == []
    assert len(document["measured"]) == 3


def test_a_value_that_fails_everywhere_is_one_line(capsys: Captured) -> None:
    """It is named once, and not once for each combination."""
    program = "import json, sys; print(json.dumps(dict(patterns=10 ** (3 * {chunk})))); sys.exit({depth} == 2)"
    words = ["sweep", "--try", "depth=1,2", "--try", "chunk=1,2,3", "--"]
    assert run([*words, sys.executable, "-c", program]) == 0
    text = capsys.readouterr().out
    assert "depth=2 fails in all 3 combinations: exit status 1" in text
    assert text.count("exit status 1") == 1


def test_single_runs_are_ranked_with_a_warning(capsys: Captured) -> None:
    """A ranking of runs that were not repeated mentions it."""
    program = "import json; print(json.dumps(dict(patterns=10 ** (3 * {depth}))))"
    assert run(["sweep", "--try", "depth=1,2,3", "--", sys.executable, "-c", program]) == 0
    text = capsys.readouterr().out
    assert "Ranking" in text
    assert "--repeats 3" in text


def test_short_runs_have_a_warning_and_a_random_order(capsys: Captured) -> None:
    """A command that ignores its values takes only its start: that is the warning, and no depth is run in a block."""
    words = ["sweep", "--try", "depth=1-3", "--try", "chunk=1-4", "--", "true", "{depth}", "{chunk}"]
    assert run(words) == 0
    captured = capsys.readouterr()
    assert "mostly the start of the command" in captured.out
    depths = [line.partition("depth=")[2].split()[0] for line in captured.err.splitlines() if "depth=" in line]
    assert sorted(depths) == ["1"] * 4 + ["2"] * 4 + ["3"] * 4
    assert sum(one != other for one, other in itertools.pairwise(depths)) > 2
