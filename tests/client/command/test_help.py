"""Help, versions, usage errors and completion of the whole command line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

import flyball_agent.command as agent_command
import flyball_collector.command as collector_command
from flyball.command import COMMANDS, SEPARATE, SUMMARIES, load, run

FLYBALL = Path(sys.executable).parent / "flyball"
Captured = pytest.CaptureFixture[str]


def commands() -> Iterator[tuple[list[str], TyperCommand]]:
    """Yield every command with its words, those of groups too."""
    for name in SUMMARIES:
        if name in SEPARATE:
            continue
        command = load(name)
        if isinstance(command, TyperGroup):
            for member, each in command.commands.items():
                assert isinstance(each, TyperCommand)
                yield [name, member], each
        else:
            yield [name], command


ALL = {" ".join(words): command for words, command in commands()}
GROUPS = ["certs", "config", "silence", "spool", "store", "token"]


def test_help_lists_the_commands_in_groups(capsys: Captured) -> None:
    """One short line each; the same without arguments."""
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert list(COMMANDS) == ["Watch", "Runs", "Incidents", "Plan", "Code", "Measure", "Administer"]
    for group, members in COMMANDS.items():
        block = text.partition(f"\n{group}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in block.splitlines()] == list(members)
    assert all(len(summary) < 60 and summary.endswith(".") for summary in SUMMARIES.values())
    assert run([]) == 0
    assert capsys.readouterr().out == text


def test_every_module_of_a_command_is_listed() -> None:
    """A command that is not in a group could not be called."""
    folder = Path(__file__).parents[3] / "client" / "flyball" / "command"
    texts = {path.stem: path.read_text() for path in folder.glob("*.py") if path.stem != "__init__"}
    found = {name for name, text in texts.items() if re.search(r"^EXAMPLES = |^def build\(\)", text, re.MULTILINE)}
    assert found == set(SUMMARIES) - set(SEPARATE)


@pytest.mark.parametrize(
    "words", [*ALL, *GROUPS, "agent", "collector", "run", "agent spool inspect", "collector store backup"]
)
def test_every_help_has_the_same_form(words: str) -> None:
    """Usage, a description, sections in one order, the help option last, and examples that name the command."""
    done = subprocess.run([FLYBALL, *words.split(), "--help"], capture_output=True, text=True, check=True, timeout=60)
    usage, _, rest = done.stdout.partition("\n\n")
    assert usage.startswith(f"Usage: flyball{'-' if words.startswith(('agent', 'collector')) else ' '}{words}")
    assert rest[:1].isupper()
    titles = re.findall(r"^(\w+):$", done.stdout, re.MULTILINE)
    assert titles == [title for title in ("Arguments", "Options", "Commands", "Examples") if title in titles]
    assert {"Options", "Examples"} <= set(titles)
    options = rest.partition("Options:\n")[2].partition("\n\n")[0].splitlines()
    assert options[-1].split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."]
    examples = rest.partition("Examples:\n")[2]
    assert f"flyball{'-' if words.startswith(('agent', 'collector')) else ' '}{words}" in examples
    assert "  " not in {line[:3] for line in options}
    assert done.stderr == ""


@pytest.mark.parametrize("words", ALL)
def test_options_have_meanings_and_one_letter_means_one_thing(words: str) -> None:
    """`-f` is --format, `-o` is --output and `-c` is --config in every command."""
    letters = {"-f": "--format", "-o": "--output", "-c": "--config", "-d": "--directory", "-v": "--verbose"}
    for parameter in ALL[words].params:
        assert getattr(parameter, "help", None), parameter.name
        if isinstance(parameter, TyperOption):
            for letter, name in letters.items():
                assert (letter in parameter.opts) <= (name in parameter.opts), (words, parameter.opts)
                assert name not in parameter.opts or letter in parameter.opts, (words, parameter.opts)


@pytest.mark.parametrize("words", ALL)
def test_every_command_with_output_can_write_json(words: str) -> None:
    """Only live screens and scripts have no --format."""
    formats = [each for each in ALL[words].params if "--format" in each.opts]
    if words in {"up", "demo", "top", "completion"}:
        assert not formats
        return
    (option,) = formats
    assert "json" in option.make_metavar(typer.Context(ALL[words]))


def test_versions(capsys: Captured) -> None:
    """`flyball --version`, those of the daemons, and `flyball version` with the packages."""
    number = version("flyball-fleet")
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"flyball {number}\n"
    assert agent_command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"flyball-agent {number}\n"
    with pytest.raises(SystemExit):
        collector_command.main(["--version"])
    assert capsys.readouterr().out == f"flyball-collector {number}\n"
    assert run(["version"]) == 0
    assert "numpy" in capsys.readouterr().out
    assert run(["version", "--format", "json"]) == 0
    versions = json.loads(capsys.readouterr().out)
    assert versions["flyball-fleet"] == number
    assert versions["python"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hots"], "flyball: there is no command 'hots'; did you mean 'hosts' or 'host'? See `flyball --help`."),
        (["hosts", "--bogus"], "flyball: no such option: --bogus. See `flyball hosts --help`."),
        (["plan"], "flyball: missing argument FILE. See `flyball plan --help`."),
        (["certs", "isue"], "flyball: there is no command 'isue'; did you mean 'issue'? See `flyball certs --help`."),
        (["storage", "-n", "a", "-t", "b"], "--samples a: expected an integer. See `flyball storage --help`."),
        (["events", "-f", "table", "--limit", "0"], "--limit 0: expected at least 1. See `flyball events --help`."),
        (["certs"], "Usage: flyball certs [OPTIONS] COMMAND [ARGS]..."),
        (["agent", "--bogus"], "flyball-agent: no such option: --bogus. See `flyball-agent --help`."),
        (["collector", "store"], "flyball-collector store: missing argument COMMAND: one of backup, size. See"),
    ],
)
def test_wrong_command_lines_end_with_status_2(words: list[str], message: str) -> None:
    """One line, on the standard error, that names the help; a group alone prints its help there."""
    done = subprocess.run([FLYBALL, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1 or words == ["certs"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["plan", "none.yaml"], 2),
        (["plan", "wrong.yaml"], 2),
        (["plan", "."], 2),
        (["validate", "wrong.yaml"], 2),
        (["hardware", "no such device"], 2),
        (["models", "no such model"], 2),
        (["prices", "no such device"], 2),
        (["examples", "no such example"], 2),
        (["audit", "none.py"], 2),
        (["calibrate", "none.csv"], 2),
        (["replay", "none.csv"], 2),
        (["replay", "--store", "sqlite:///none.db", "--host", "a"], 2),
        (["store", "size", "--url", "sqlite:///none.db"], 2),
        (["store", "size", "--config", "none.toml"], 2),
        (["spool", "inspect", "none"], 2),
        (["config", "show", "--config", "none.toml"], 2),
        (["capsule", "id", "--before", "soon"], 2),
        (["capsule", "id", "--output", "none/file"], 2),
        (["silence", "add", "host"], 2),
        (["hosts", "--token-file", "none"], 2),
        (["hosts", "--ca-file", "none"], 2),
        (["hosts", "--ca-file", "wrong.yaml"], 2),
        (["hosts", "--collector", "here"], 2),
        (["demo", "--scenario", "calm"], 2),
        (["agent", "--config", "none.toml"], 2),
        (["agent", "--set", "none=1"], 2),
        (["collector", "--config", "none.toml"], 2),
        (["collector", "--set", "none=1"], 2),
        (["hosts", "--collector", "http://127.0.0.1:1"], 1),
        (["certs", "list"], 1),
    ],
)
def test_wrong_values_end_with_2_and_other_failures_with_1(words: list[str], status: int, tmp_path: Path) -> None:
    """Without a traceback, and with a message."""
    (tmp_path / "wrong.yaml").write_text("model: [\n")
    done = subprocess.run([FLYBALL, *words], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert done.stderr or words[0] == "validate"
    assert "Traceback" not in done.stderr


def test_an_unexpected_error_is_one_line(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """The traceback is printed only if FLYBALL_DEBUG is set."""

    def fail(_package: str) -> str:
        raise RuntimeError("unexpected")

    monkeypatch.setattr("flyball.command.version.installed", fail)
    assert run(["version"]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("flyball: internal error: RuntimeError: unexpected. Set FLYBALL_DEBUG=1")
    assert errors.count("\n") == 1
    monkeypatch.setenv("FLYBALL_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run(["version"])


def test_a_closed_pipe_is_not_an_error() -> None:
    """`flyball models | head -1` ends quietly."""
    command = f"{FLYBALL} models --format json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "{\n"


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """A real bash that has loaded the printed script completes names of commands, members of groups and options."""
    asked = ("flyball ev", "flyball certs is", "flyball events --se", "flyball events --severity ")
    program = 'eval "$(flyball completion bash)"\n'
    for line in asked:
        words = [*line.split(), *([""] if line.endswith(" ") else [])]
        quoted = " ".join(f"'{word}'" for word in words)
        program += f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        program += '_flyball_completion flyball; echo "${COMPREPLY[*]}"\n'
    environment = {**os.environ, "PATH": f"{FLYBALL.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    assert done.stderr == ""
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["events"],
        ["issue"],
        ["--severity"],
        ["info", "warning", "critical"],
    ]


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/flyball.sh"),
        ("zsh", ".zfunc/_flyball"),
        ("fish", ".config/fish/completions/flyball.fish"),
    ],
)
def test_completion_is_installed(
    shell: str, file: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script that is printed is also written to the home folder, for the shell that is named or in use."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    assert run(["completion"]) == 0
    script = capsys.readouterr().out
    assert "_FLYBALL_COMPLETE" in script
    assert run(["completion", shell, "--install"]) == 0
    assert (tmp_path / file).read_text().strip() == script.strip()
    monkeypatch.setenv("SHELL", "/bin/ksh")
    assert run(["completion"]) == 2
