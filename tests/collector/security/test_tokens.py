"""Tokens: who may look, who may operate, and what must not be listened with."""

from pathlib import Path

import pytest

from flyball_collector.security.tokens import (
    Role,
    TokensError,
    TokensFile,
    find_token,
    is_loopback,
    listening_fault,
    new_token,
    parse_tokens,
    split_listen,
)
from flyball_collector.settings import HttpSettings


def test_a_new_token_is_found_by_its_line() -> None:
    """The line that `new_token` gives admits its token, with its role, and no other token."""
    token, line = new_token(Role.OPERATOR, "ada at home")
    other, _ = new_token(Role.VIEWER, "bob")
    tokens = parse_tokens(f"# people\n\n{line}\n")
    found = find_token(tokens, token)
    assert found is not None
    assert (found.role, found.name) == (Role.OPERATOR, "ada at home")
    assert find_token(tokens, other) is None
    assert find_token(tokens, "x" * 100_000) is None


@pytest.mark.parametrize("line", ["admin " + "0" * 64 + " x", "viewer 1234 x", "viewer " + "0" * 64, "viewer"])
def test_a_wrong_line_is_named(line: str) -> None:
    """A line that cannot be read is refused with its number."""
    with pytest.raises(TokensError, match="line 2"):
        parse_tokens(f"# first\n{line}\n", "tokens")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """A token that is taken out of the file stops at once; a broken file leaves the last good one in force."""
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


def test_a_file_without_tokens_is_refused(tmp_path: Path) -> None:
    """An empty file would lock everybody out, so it is refused at the start, as is a missing one."""
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
def test_loopback_is_this_machine_alone(host: str, expected: bool) -> None:
    """Only addresses that no other machine can reach count as loopback."""
    assert is_loopback(host) is expected


def test_beyond_loopback_tls_and_tokens_are_needed() -> None:
    """Listening for the network without protection is refused and says what is missing, unless it is insisted on."""
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
def test_a_wrong_address_is_said(listen: str) -> None:
    """An address that cannot be listened at is an error that shows it."""
    with pytest.raises(ValueError, match="host:port"):
        split_listen(listen)
