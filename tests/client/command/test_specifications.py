"""Specification files that cannot be planned or read."""

import io
import sys
from pathlib import Path

import pytest

from flyball.command import run

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Write a specification that is planned quickly."""
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model: [\n", "run.yaml:2: "),
        ("model: gpt2\nhardware: RTX_4909_fp16\n", "run.yaml:2: hardware.device"),
        ("model: gpt-two\nhardware: RTX_4090_fp16\n", "run.yaml:1: model.name: unknown model"),
        ("model: gpt2\nhardware: M1_Pro\ntraining: {batch_size: -1}\n", "run.yaml:3: training.batch_size: expected"),
        ("model: {name: mlp, d_in: 9, d_out: 2, batch_size: 3}\nhardware: {device: A100, devices: 8}\n", "no layout"),
        (
            f"model: gpt2\nhardware: M1_Pro\ntraining: {{steps: {':'.join(['1'] * 20_000)}}}\n",
            "run.yaml:3: training.steps: expected an integer of at least 1, not '1:1:1",
        ),
        ("[" * 500_000, "run.yaml:1: not valid YAML: lists and groups are nested more than 20 levels deep"),
        ("", "run.yaml is empty; `flyball examples`"),
        ("title: a\n", "run.yaml: model: is missing; expected the model"),
        (
            "model:\n\tname: gpt2\n",
            "run.yaml:2: not valid YAML: found character that cannot start any token; YAML indents",
        ),
        (
            "model: gpt2\nhardware: M1_Pro\nscalability: {devices: [4, 0]}\n",
            "scalability.devices: expected a list, each an integer of at least 1 and at most 1,000,000, not 0",
        ),
    ],
)
def test_a_wrong_specification_ends_with_status_2_and_its_lines(
    text: str, words: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has what is wrong, where, and the nearest known name."""
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(text, encoding="utf-8")
    assert run(["plan", "run.yaml"]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert run(["validate", "run.yaml"]) == 2


def test_files_that_cannot_be_read_or_written_are_errors(example: Path, tmp_path: Path, capsys: Captured) -> None:
    """A missing file, a folder, a file that is not text, a full disk: one line each."""
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, words in (
        (Path("/dev/zero"), "larger than 4 MB"),
        (tmp_path / "none.yaml", "flyball examples"),
        (tmp_path, "is a folder; name a file"),
        (binary, "is not valid UTF-8"),
    ):
        assert run(["plan", str(path)]) == 2
        assert words in capsys.readouterr().err
        assert run(["validate", str(path)]) == 2
        assert words in capsys.readouterr().out
    endless = tmp_path / "endless.yaml"
    endless.write_text("model: {huggingface: /dev/zero}\nhardware: M1_Pro\n", encoding="utf-8")
    for command in (["plan", str(endless)], ["plan", str(example), "--hardware-file", "/dev/zero"]):
        assert run(command) == 2
        assert "larger than 4 MB" in capsys.readouterr().err
    assert run(["plan", str(example), "--output", "/dev/full", "--format", "json"]) == 1
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "the standard input is empty; `flyball examples`"),
        (b"", "the standard input is empty; `flyball examples`"),
        (b"title: \xff\n", "the standard input is not valid UTF-8"),
        ("# é".encode() * 2_000_000, "cannot read the standard input: larger than 4 MB"),
        ("title: é\r\n".encode(), "-: model: is missing"),
    ],
    ids=["closed", "empty", "no text", "too large", "UTF-8"],
)
def test_the_standard_input_is_read_as_a_file_is(
    content: bytes | None, words: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is UTF-8 whatever the language of the terminal is, and has the limit of a file."""
    given = None if content is None else io.TextIOWrapper(io.BytesIO(content), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", given)
    assert run(["plan", "-"]) == 2
    assert words in capsys.readouterr().err
