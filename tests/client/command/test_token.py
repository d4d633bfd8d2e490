import stat
from pathlib import Path

import pytest

from flyball.command import run
from flyball_collector.security.tokens import Role, TokensFile


def test_a_token_that_was_made_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file holds its hash alone; the next one is added behind a line that was not ended."""
    file = tmp_path / "tokens"
    assert run(["token", "viewer", "prometheus", "--file", str(file)]) == 0
    viewer = capsys.readouterr().out.strip()
    file.write_text(file.read_text().rstrip("\n"))
    assert run(["token", "operator", "Ada Lovelace", "--file", str(file)]) == 0
    operator = capsys.readouterr().out.strip()
    tokens = TokensFile(file)
    for secret, role, name in ((viewer, Role.VIEWER, "prometheus"), (operator, Role.OPERATOR, "Ada Lovelace")):
        found = tokens.find(secret)
        assert found is not None
        assert (found.role, found.name) == (role, name)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert viewer not in file.read_text()


def test_without_a_file_the_line_is_shown_apart_from_the_secret(capsys: pytest.CaptureFixture[str]) -> None:
    """The secret alone is on standard output."""
    assert run(["token", "viewer", "grafana"]) == 0
    said = capsys.readouterr()
    assert len(said.out.split()) == 1
    assert "add to the tokens file: viewer " in said.err


def test_a_name_that_would_break_the_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A line end in a name would be a second token."""
    assert run(["token", "viewer", "a\nb"]) == 2
    assert "NAME" in capsys.readouterr().err
