"""`flyball certs`."""

import json
import re
import socket
import tomllib
from pathlib import Path

import pytest

from flyball.command import run
from flyball_agent.settings import AgentSettings
from flyball_collector.settings import CollectorSettings
from flyball_daemon.settings import load

ROOT = Path(__file__).parents[3]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, capsys: Captured) -> Path:
    """A certificate authority."""
    folder = tmp_path / "ca"
    assert run(["certs", "init", str(folder)]) == 0
    capsys.readouterr()
    return folder


def test_certificates_are_created_listed_and_renewed(home: Path, capsys: Captured) -> None:
    """One for a host and one for a collector."""
    words = ["--directory", str(home)]
    assert run(["certs", "issue", "gpu-01", *words]) == 0
    assert run(["certs", "issue", "--collector", "flyball", "--san", "10.0.0.1", "--days", "7", *words]) == 0
    capsys.readouterr()
    assert run(["certs", "renew", *words]) == 0
    assert "Renewed" in capsys.readouterr().out
    assert run(["certs", "list", "--format", "json", *words]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["for"]) for each in listed] == [
        ("ca", "authority"),
        ("flyball", "collector"),
        ("gpu-01", "agent"),
    ]
    assert run(["certs", "list", *words]) == 0
    assert re.search(r"gpu-01 +agent +\d{4}-\d\d-\d\d \d\d:\d\d UTC +365  gpu-01\n", capsys.readouterr().out)


def test_several_certificates_are_issued_at_once(home: Path, tmp_path: Path, capsys: Captured) -> None:
    """Names are arguments, or lines of a file with comments; a name that is given twice is issued once."""
    names = tmp_path / "hosts.txt"
    names.write_text("# rack 7\ngpu-02\n\n  gpu-03  # spare\ngpu-01\n")
    words = ["certs", "issue", "gpu-01", "--from", str(names), "-d", str(home), "--format", "json"]
    assert run(words) == 0
    issued = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in issued] == ["gpu-01", "gpu-02", "gpu-03"]
    assert all(Path(each["certificate_file"]).exists() and Path(each["key_file"]).exists() for each in issued)


def test_one_wrong_name_changes_nothing(home: Path, tmp_path: Path, capsys: Captured) -> None:
    """All names are checked before the first file is written."""
    names = tmp_path / "hosts.txt"
    names.write_text("gpu-01\nnot a host\n")
    assert run(["certs", "issue", "--from", str(names), "-d", str(home)]) == 2
    assert "'not a host'" in capsys.readouterr().err
    assert run(["certs", "issue", "gpu-01", "-d", str(home)]) == 0
    assert run(["certs", "issue", "gpu-02", "gpu-01", "-d", str(home)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert sorted(path.name for path in (home / "agents").iterdir()) == ["gpu-01.crt", "gpu-01.key"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name at least one host"),
        (["--from", "none.txt"], "there is no file none.txt; write one host name on each line"),
        (["a", "b", "--san", "c"], "--san belongs to one host"),
    ],
)
def test_wrong_arguments_of_issue(words: list[str], message: str, home: Path, capsys: Captured) -> None:
    """Status 2, one line."""
    assert run(["certs", "issue", *words, "-d", str(home)]) == 2
    assert message in capsys.readouterr().err


def test_the_printed_steps_match_the_shipped_units(home: Path, capsys: Captured) -> None:
    """The settings are valid, and the key is copied to the file that the unit passes on as a credential."""
    for words, collector, daemon in (
        (["--collector", "flyball"], True, "collector"),
        (["gpu-01", "gpu-02"], False, "agent"),
    ):
        assert run(["certs", "issue", *words, "-d", str(home)]) == 0
        text = capsys.readouterr().out
        block = text.partition(f"{daemon}.toml:\n")[2].partition("\n3. ")[0]
        file = home / "settings.toml"
        file.write_text(block)
        tls = (
            load(CollectorSettings, file=file).settings.grpc
            if collector
            else load(AgentSettings, file=file).settings.tls
        )
        assert (tls.ca_file, tls.certificate_file) == ("/etc/flyball/ca.crt", f"/etc/flyball/{daemon}.crt")
        assert tls.key_file == f"/run/credentials/flyball-{daemon}.service/key"
        unit = (ROOT / "deploy" / "systemd" / f"flyball-{daemon}.service").read_text()
        assert "DynamicUser=yes" in unit  # so the key must be a credential, and certificates readable by all
        assert f"\nLoadCredential=key:/etc/flyball/{daemon}.key\n" in unit
        copied = set(re.findall(r"/etc/flyball/[\w.-]+\.(?:crt|key)", text))
        assert copied == {"/etc/flyball/ca.crt", f"/etc/flyball/{daemon}.crt", f"/etc/flyball/{daemon}.key"}
        assert tomllib.loads(block)
    assert 'collector = ["flyball:3590"]' in text
    assert f"scp {home}/agents/gpu-02.key root@gpu-02:/etc/flyball/agent.key" in text


def test_files_for_this_machine_are_installed_not_copied(home: Path, capsys: Captured) -> None:
    """The collector is often the machine with the authority."""
    assert run(["certs", "issue", "--collector", socket.gethostname(), "-d", str(home)]) == 0
    text = capsys.readouterr().out
    assert f"install -D -m 0644 {home}/ca.crt /etc/flyball/ca.crt" in text
    assert "scp" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["issue", "gpu-01"], "create one: flyball certs init"),
        (["renew", "gpu-01"], "create one: flyball certs init"),
        (["list"], "has no certificate authority. Name its folder with --directory, or create one"),
    ],
)
def test_without_an_authority_the_commands_fail(
    words: list[str], message: str, tmp_path: Path, capsys: Captured
) -> None:
    """With one line and status 1."""
    assert run(["certs", *words, "--directory", str(tmp_path)]) == 1
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_a_folder_that_does_not_exist_is_a_wrong_argument(tmp_path: Path, capsys: Captured) -> None:
    """Nothing is created."""
    for words in (["issue", "a"], ["renew"], ["list"]):
        assert run(["certs", *words, "-d", str(tmp_path / "none")]) == 2
        assert f"there is no folder {tmp_path / 'none'}" in capsys.readouterr().err
    (tmp_path / "file").touch()
    for words in (["init", str(tmp_path / "file")], ["list", "-d", str(tmp_path / "file")]):
        assert run(["certs", *words]) == 2
        assert f"{tmp_path / 'file'} is a file; name " in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_an_unknown_host_is_not_renewed(home: Path, capsys: Captured) -> None:
    """A wrong name is a wrong argument; no other certificate is renewed instead."""
    assert run(["certs", "renew", "gpu-1", "--directory", str(home)]) == 2
    assert "no certificate for gpu-1" in capsys.readouterr().err
    assert run(["certs", "issue", "gpu-01", "--directory", str(home)]) == 0
    assert run(["certs", "renew", "gpu-1", "--directory", str(home)]) == 2
    assert "no certificate for gpu-1; did you mean 'gpu-01'?" in capsys.readouterr().err
