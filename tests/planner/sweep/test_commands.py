"""Tests that run a user's command."""

import pickle
import sys
import time
from pathlib import Path

import pytest

from flyball_planner.sweep.commands import Command, CommandFailed
from flyball_planner.sweep.configurations import SweepConfiguration
from flyball_planner.sweep.trial import run_trial
from flyball_reports.errors import InputError


def _python(code: str, *arguments: str, timeout_seconds: float | None = None) -> Command:
    return Command((sys.executable, "-c", code, *arguments), timeout_seconds=timeout_seconds)


def test_values_are_passed_as_arguments_and_environment() -> None:
    """`{depth}` is replaced, other braces are kept, and the environment has every value."""
    code = (
        "import json, os, sys; print('text'); print(json.dumps({'a': sys.argv[1], 'b': os.environ['FLYBALL_DEPTH']}))"
    )
    answer = _python(code, "{depth}/{other}")(depth=7)
    assert answer == {"a": "7/{other}", "b": "7"}


@pytest.mark.parametrize("code", ["print()", "print('done')", "print('[1]')", "pass"])
def test_a_command_need_not_print_json(code: str) -> None:
    """Without a JSON object as its last line, the configuration's samples are counted."""
    outcome = run_trial(_python(code), SweepConfiguration.of({"samples": 50}))
    assert (outcome.failure, outcome.patterns) == ("", 50)
    assert outcome.seconds > 0


def test_a_failure_includes_the_commands_error() -> None:
    """The reason has the exit status and the end of stderr."""
    with pytest.raises(CommandFailed, match=r"exit status 3: .*no such depth"):
        _python("import sys; print('no such depth', file=sys.stderr); sys.exit(3)")()


def test_a_timeout_ends_a_command_and_its_children(tmp_path: Path) -> None:
    """After the timeout neither the command nor its child process runs."""
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(0.6); open({str(mark)!r}, 'w')"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    with pytest.raises(CommandFailed, match=r"longer than 0.3 s"):
        _python(code, timeout_seconds=0.3)()
    time.sleep(0.7)
    assert not mark.exists()


def test_a_missing_program_fails_its_configuration() -> None:
    """The failure names the missing program, and the sweep can continue."""
    outcome = run_trial(Command(("no-such-program",)), SweepConfiguration.of({"depth": 3}))
    assert "no-such-program" in outcome.failure


def test_a_command_needs_a_program() -> None:
    """A command without a program is an error."""
    with pytest.raises(InputError, match="at least a program"):
        Command(())


def test_a_command_can_be_sent_to_another_process() -> None:
    """A command can be pickled, which executors need."""
    command = _python("pass", timeout_seconds=3)
    assert pickle.loads(pickle.dumps(command)) == command  # noqa: S301  trusted bytes
