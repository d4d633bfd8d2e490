"""Wrong command lines in plain words."""

from pathlib import Path

import pytest

from flyball.command import run
from flyball.command.usage_errors import number_text, range_text, usage_error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["models", "-f", "htm"], "--format htm: expected one of table, markdown, json, html; did you mean 'html'?"),
        (["models", "-f", "pdf"], "--format pdf: expected one of table, markdown, json, html."),
        (["configure", "H100", "--devices", "0"], "--devices 0: expected 1 to 1,000,000."),
        (["configure", "H100", "--days", "-1"], "--days -1: expected 0.1 to 3650."),
        (["events", "--limit", "0"], "--limit 0: expected at least 1."),
        (["configure", "H100", "--devices", "two"], "--devices two: expected an integer."),
        (["recommend", "--hours", "1", "-n", "many"], "--samples many: expected an integer."),
        (["recommend", "--hours", "1", "-n", "1.5"], "--samples 1.5: expected an integer."),
        (["storage", "-t", "1", "-n", "1e16"], "--samples 1e16: expected 1 to 1e15."),
        (["configure", "H100", "--devices", "1e3"], "--devices 1e3: expected an integer; write 1000."),
        (["configure", "H100", "--days", "two"], "--days two: expected a number."),
        (["plan", "--verbos", "run.yaml"], "no such option: --verbos; did you mean '--verbose'?"),
        (["plan"], "missing argument FILE."),
        (["plan", "a", "b"], "unexpected argument: b."),
        (["plan", "a", "--format"], "--format needs a value."),
        (["storage", "-n", "5"], "missing option --tokens."),
        (["token", "add"], "missing argument ROLE: one of viewer, operator."),
        (["token", "add", "vewer", "x"], "ROLE vewer: expected one of viewer, operator; did you mean 'viewer'?"),
        (["silence", "add"], "missing argument NAME=PATTERN."),
        (["host"], "missing argument NAME."),
        (["silence", "ad"], "there is no command 'ad'; did you mean 'add'?"),
        (["silence", "xyz"], "there is no command 'xyz'; expected add, list, end."),
    ],
)
def test_a_wrong_command_line_is_one_plain_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the option with its value, what was expected, a similar word, and the help."""
    assert run(words) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"flyball: {message} See `flyball {words[0]}")
    assert errors.count("\n") == 1


def test_a_file_without_permission_has_the_usual_message(tmp_path: Path) -> None:
    """Typer checks it before the command does."""
    message = f"Invalid value for '--token-file' (env var: 'FLYBALL_TOKEN_FILE'): Path '{tmp_path}' is not readable."
    assert usage_error(message).startswith(f"cannot read {tmp_path}: no read permission. Run as root")


def test_unknown_errors_are_kept() -> None:
    """Only their first letter changes."""
    assert usage_error("Something else.") == "something else"
    assert usage_error("Invalid value for '--x': Bad.") == "--x: bad"


def test_ranges_in_words() -> None:
    """Large limits are short, and limits of ports have no commas."""
    assert range_text("1<=x<=65535") == "1 to 65535"
    assert range_text("0<x<5.0") == "0 to 5"
    assert range_text("x>0") == "above 0"
    assert range_text("x<=7.0") == "at most 7"
    assert number_text("1000000000000000") == "1e15"
    assert number_text("1000000.0") == "1,000,000"
    assert range_text("other") == "other"
