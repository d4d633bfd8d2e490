"""`flyball token`."""

import json
import stat
from pathlib import Path

import pytest

from flyball.command import run
from flyball_collector.security.tokens import Role, TokensFile

Captured = pytest.CaptureFixture[str]


def add(file: Path, capsys: Captured, name: str = "prometheus", role: str = "viewer") -> str:
    """Add a token and return its secret."""
    assert run(["token", "add", role, name, "--file", str(file)]) == 0
    return capsys.readouterr().out.strip()


def test_a_new_token_is_accepted(tmp_path: Path, capsys: Captured) -> None:
    """The file holds only its hash; a line without a line break at its end stays whole."""
    file = tmp_path / "tokens"
    viewer = add(file, capsys)
    file.write_text(file.read_text().rstrip("\n"))
    operator = add(file, capsys, "Ada Lovelace", "operator")
    tokens = TokensFile(file)
    for secret, role, name in ((viewer, Role.VIEWER, "prometheus"), (operator, Role.OPERATOR, "Ada Lovelace")):
        found = tokens.find(secret)
        assert found is not None
        assert (found.role, found.name) == (role, name)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert viewer not in file.read_text()


def test_only_the_secret_is_on_the_standard_output(tmp_path: Path, capsys: Captured) -> None:
    """So that it can be redirected to a file; the notes are on the standard error."""
    assert run(["token", "add", "viewer", "grafana"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.split()) == 1
    assert "Add this line to the collector's tokens file: viewer " in captured.err
    assert run(["token", "add", "viewer", "grafana", "--file", str(tmp_path / "tokens"), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert TokensFile(tmp_path / "tokens").find(document["token"])


def test_the_notes_name_a_file_that_the_unit_can_read(tmp_path: Path, capsys: Captured) -> None:
    """The unit cannot read home folders, so the file is installed in /etc/flyball with mode 0644."""
    file = tmp_path / "tokens"
    assert run(["token", "add", "viewer", "grafana", "--file", str(file)]) == 0
    notes = capsys.readouterr().err
    assert f"install -D -m 0644 {file} /etc/flyball/tokens" in notes
    assert '[http]\n  tokens_file = "/etc/flyball/tokens"' in notes


def test_tokens_are_listed_without_secrets(tmp_path: Path, capsys: Captured) -> None:
    """Id, role and name."""
    file = tmp_path / "tokens"
    secret = add(file, capsys)
    add(file, capsys, "Ada Lovelace", "operator")
    assert run(["token", "list", "--file", str(file)]) == 0
    table = capsys.readouterr().out
    assert run(["token", "list", "--file", str(file), "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["role"], each["name"]) for each in listed] == [("viewer", "prometheus"), ("operator", "Ada Lovelace")]
    assert all(each["id"] in table and each["name"] in table for each in listed)
    assert secret not in table
    assert all(set(each) == {"id", "role", "name"} for each in listed)


def test_a_token_is_revoked_by_name_or_id(tmp_path: Path, capsys: Captured) -> None:
    """A running collector rejects it at once; other tokens and comments stay."""
    file = tmp_path / "tokens"
    file.write_text("# people\n")
    first, second, third = (add(file, capsys, name) for name in ("ada", "bob", "bob"))
    running = TokensFile(file)
    assert run(["token", "revoke", "ada", "--file", str(file)]) == 0
    assert "rejects the token from the next request on, without a restart" in capsys.readouterr().out
    assert running.find(first) is None
    assert run(["token", "revoke", "bob", "--file", str(file)]) == 2
    message = capsys.readouterr().err
    assert "2 tokens have the name 'bob'" in message
    wanted = running.find(second)
    assert wanted is not None
    assert wanted.id in message
    assert run(["token", "revoke", wanted.id, "--file", str(file), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["restart_needed"] is False
    assert running.find(second) is None
    assert running.find(third)
    assert file.read_text().startswith("# people\n")


def test_the_file_can_come_from_the_collectors_settings(tmp_path: Path, capsys: Captured) -> None:
    """If systemd passes a copy of it to the collector, the command asks for a restart."""
    file, config = tmp_path / "tokens", tmp_path / "collector.toml"
    add(file, capsys)
    config.write_text(f'[http]\ntokens_file = "{file}"\n')
    assert run(["token", "list", "--config", str(config)]) == 0
    assert "prometheus" in capsys.readouterr().out
    config.write_text('[http]\ntokens_file = "/run/credentials/flyball-collector.service/tokens"\n')
    assert run(["token", "revoke", "prometheus", "--file", str(file), "--config", str(config)]) == 0
    assert "systemctl restart flyball-collector" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "viewer", "a\nb"], "NAME"),
        (["add", "admin", "a"], "ROLE admin: expected one of viewer, operator"),
        (["add", "viewer", "a", "--file", "wrong"], "wrong:1: not a line of a tokens file"),
        (["add", "viewer", "a", "--file", "/dev/zero"], "is larger than 4 MB, so it is not a tokens file"),
        (["list", "--file", "none"], "there is no file none"),
        (["list", "--file", "wrong"], "wrong:1: not a line of a tokens file; expected"),
        (["list", "--config", "empty.toml"], "name the tokens file with --file"),
        (["revoke", "nobody", "--file", "good"], "good has no token with the id or name 'nobody'"),
        (["revoke", "prometeus", "--file", "good"], "did you mean 'prometheus'?"),
    ],
)
def test_wrong_arguments_end_with_status_2(
    words: list[str], message: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one line, and without a change."""
    monkeypatch.chdir(tmp_path)
    Path("wrong").write_text("nonsense\n")
    Path("empty.toml").write_text("")
    add(Path("good"), capsys)
    assert run(["token", *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
