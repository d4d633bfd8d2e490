"""A user's command, tried for real."""

import pickle
import sys
import time
from pathlib import Path

import pytest

from flyball_planner.sweep.commands import Command, CommandFailed
from flyball_planner.sweep.configurations import Configuration
from flyball_planner.sweep.trial import run_trial
from flyball_reports.errors import InputError


def _python(code: str, *arguments: str, timeout_seconds: float | None = None) -> Command:
    return Command((sys.executable, "-c", code, *arguments), timeout_seconds=timeout_seconds)


def test_values_reach_arguments_and_environment() -> None:
    """`{depth}` is filled in, other braces stay, and the environment names every value."""
    code = (
        "import json, os, sys; print('noise'); print(json.dumps({'a': sys.argv[1], 'b': os.environ['FLYBALL_DEPTH']}))"
    )
    answer = _python(code, "{depth}/{other}")(depth=7)
    assert answer == {"a": "7/{other}", "b": "7"}


@pytest.mark.parametrize("printed", ["print()", "print('done')", "print('[1]')", "pass"])
def test_a_command_need_not_answer(printed: str) -> None:
    """Without a JSON object at the end the configuration's samples count."""
    outcome = run_trial(_python(printed), Configuration.of({"samples": 50}))
    assert (outcome.failure, outcome.patterns) == ("", 50)
    assert outcome.seconds > 0


def test_a_failure_says_what_the_command_said() -> None:
    """The status and the end of its complaint are the reason."""
    with pytest.raises(CommandFailed, match=r"exit status 3: .*no such depth"):
        _python("import sys; print('no such depth', file=sys.stderr); sys.exit(3)")()


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    """Neither it nor what it started goes on."""
    trace = tmp_path / "alive"
    child = f"import time; time.sleep(0.6); open({str(trace)!r}, 'w')"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    with pytest.raises(CommandFailed, match=r"longer than 0.3 s"):
        _python(code, timeout_seconds=0.3)()
    time.sleep(0.7)
    assert not trace.exists()


def test_a_missing_program_is_a_failure_of_its_configuration() -> None:
    """A sweep goes on and names the program."""
    outcome = run_trial(Command(("no-such-program",)), Configuration.of({"depth": 3}))
    assert "no-such-program" in outcome.failure


def test_a_command_needs_a_program() -> None:
    """Nothing to run is the caller's mistake."""
    with pytest.raises(InputError, match="at least a program"):
        Command(())


def test_a_command_can_be_sent_to_another_process() -> None:
    """It survives pickling, as executors need."""
    command = _python("pass", timeout_seconds=3)
    assert pickle.loads(pickle.dumps(command)) == command  # noqa: S301  our own bytes
