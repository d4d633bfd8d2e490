import json
from pathlib import Path

import pytest

from flyball.command import run


def test_an_authority_is_made_used_listed_and_renewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From nothing to a certificate a host, each step saying what comes next."""
    home = ["--directory", str(tmp_path / "c")]
    assert run(["certs", "init", str(tmp_path / "c")]) == 0
    assert run(["certs", "issue", "gpu-01", *home]) == 0
    assert run(["certs", "issue", "--collector", "flyball", "--san", "10.0.0.1", "--days", "7", *home]) == 0
    assert 'certificate_file = "/etc/flyball/flyball.crt"' in capsys.readouterr().out
    assert run(["certs", "renew", *home]) == 0
    assert "renewed" in capsys.readouterr().out
    assert run(["certs", "list", "--format", "json", *home]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["for"]) for each in listed] == [
        ("ca", "authority"),
        ("flyball", "collector"),
        ("gpu-01", "agent"),
    ]
    assert run(["certs", "list", *home]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["issue", "gpu-01"], "make one: flyball certs init"),
        (["renew", "gpu-01"], "cannot be read"),
        (["list"], "cannot be read"),
    ],
)
def test_without_an_authority_the_first_step_is_named(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and status 1, never a traceback."""
    assert run(["certs", *words, "--directory", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err


def test_an_unknown_host_is_not_renewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error renews nothing else instead."""
    run(["certs", "init", str(tmp_path / "c")])
    assert run(["certs", "renew", "gpu-1", "--directory", str(tmp_path / "c")]) == 1
    assert "no certificate of gpu-1" in capsys.readouterr().err
