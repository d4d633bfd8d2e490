"""Tokens, and the addresses that need them."""

import stat
from pathlib import Path

import pytest

from flyball_collector.security.tokens import (
    Role,
    TokensError,
    TokensFile,
    add_token_line,
    find_token,
    is_loopback,
    listening_fault,
    new_token,
    parse_tokens,
    read_tokens,
    revoke_tokens,
    split_listen,
)
from flyball_collector.settings import HttpSettings


def test_a_new_token_is_found_by_its_line() -> None:
    """The line from `new_token` authenticates its token, with its role, and no other token."""
    token, line = new_token(Role.OPERATOR, "ada at home")
    other, _ = new_token(Role.VIEWER, "bob")
    tokens = parse_tokens(f"# people\n\n{line}\n")
    found = find_token(tokens, token)
    assert found is not None
    assert (found.role, found.name) == (Role.OPERATOR, "ada at home")
    assert find_token(tokens, other) is None
    assert find_token(tokens, "x" * 100_000) is None


@pytest.mark.parametrize("line", ["admin " + "0" * 64 + " x", "viewer 1234 x", "viewer " + "0" * 64, "viewer"])
def test_an_invalid_line_is_an_error(line: str) -> None:
    """The error has the line number."""
    with pytest.raises(TokensError, match="tokens:2: not a line of a tokens file"):
        parse_tokens(f"# first\n{line}\n", "tokens")


def test_a_changed_file_is_reloaded(tmp_path: Path) -> None:
    """A removed token is rejected at once. An invalid file leaves the last valid tokens in force."""
    first, first_line = new_token(Role.VIEWER, "first")
    second, second_line = new_token(Role.VIEWER, "second")
    file = tmp_path / "tokens"
    file.write_text(first_line)
    tokens = TokensFile(file)
    assert tokens.find(first)
    file.write_text(f"{second_line}\n")
    assert tokens.find(first) is None
    assert tokens.find(second)
    file.write_text("nonsense that is longer")
    assert tokens.find(second)
    file.unlink()
    assert tokens.find(second)


def test_a_revoked_token_is_refused_at_once_even_if_it_is_the_last_one(tmp_path: Path) -> None:
    """Comments, other tokens and the file's mode are kept. A running collector uses the changed file."""
    file = tmp_path / "tokens"
    secrets = []
    for name in ("first", "second"):
        secret, line = new_token(Role.VIEWER, name)
        add_token_line(file, line)
        secrets.append(secret)
    file.write_text(f"# people\n\n{file.read_text()}")
    file.chmod(0o640)
    tokens = TokensFile(file)
    first, second = read_tokens(file)
    revoke_tokens(file, [first])
    assert tokens.find(secrets[0]) is None
    assert tokens.find(secrets[1])
    assert file.read_text().startswith("# people\n\nviewer ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    revoke_tokens(file, [second])
    assert tokens.find(secrets[1]) is None
    assert read_tokens(file) == ()


def test_a_new_file_is_readable_by_the_collectors_user(tmp_path: Path) -> None:
    """It has only hashes, and the unit's user is not the file's owner."""
    file = tmp_path / "tokens"
    add_token_line(file, new_token(Role.VIEWER, "a")[1])
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    file.chmod(0o600)
    add_token_line(file, new_token(Role.VIEWER, "b")[1])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_id_names_a_token_without_revealing_it() -> None:
    """The id is the start of the hash."""
    secret, line = new_token(Role.VIEWER, "a")
    (token,) = parse_tokens(line)
    assert token.id == line.split()[1][:12]
    assert token.id not in secret


def test_a_file_without_tokens_is_an_error(tmp_path: Path) -> None:
    """An empty file would lock everyone out, so it is an error at the start, as is a missing file."""
    (tmp_path / "tokens").write_text("# nobody\n")
    for name in ("tokens", "missing"):
        with pytest.raises(TokensError, match=name):
            TokensFile(tmp_path / name)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
        ("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("", False),
        ("localhost.evil.example", False), ("127.0.0.1.evil.example", False),
    ],
)  # fmt: skip
def test_loopback_addresses(host: str, expected: bool) -> None:
    """Only addresses that no other machine can reach are loopback."""
    assert is_loopback(host) is expected


def test_other_addresses_need_tls_and_tokens() -> None:
    """Other addresses without protection are an error that lists the missing settings, unless `insecure` is set."""
    open_to_all = HttpSettings(listen="0.0.0.0:3591")
    fault = listening_fault(open_to_all, insecure=False)
    assert fault is not None
    assert "http.tokens_file" in fault
    assert listening_fault(open_to_all, insecure=True) is None
    assert listening_fault(HttpSettings(), insecure=False) is None
    full = HttpSettings(listen="0.0.0.0:3591", certificate_file="c", key_file="k", tokens_file="t")
    assert listening_fault(full, insecure=False) is None
    assert listening_fault(HttpSettings(certificate_file="c"), insecure=True) is not None


@pytest.mark.parametrize("listen", ["3591", "host:", "host:x", "host:70000"])
def test_an_invalid_address_is_an_error(listen: str) -> None:
    """The error shows the address."""
    with pytest.raises(ValueError, match="host:port"):
        split_listen(listen)
