"""Bearer tokens of people and scrapers: a file of `ROLE SHA256-OF-TOKEN NAME` lines, re-read when it changes."""

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import structlog

from flyball_collector.settings import HttpSettings

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_TOKEN_BYTES = 512
_log = structlog.stdlib.get_logger(__name__)


class Role(IntEnum):
    """What a caller may do; a higher role may all that a lower one may."""

    VIEWER = 1
    OPERATOR = 2


class TokensError(ValueError):
    """A tokens file cannot be used; the message names the line."""


@dataclass(frozen=True, slots=True)
class Token:
    """One line of the file."""

    role: Role
    digest: bytes  # SHA-256 of the token; tokens are long and random, so no slow hash is needed
    name: str


def parse_tokens(text: str, source: str = "tokens") -> tuple[Token, ...]:
    """Read the lines of a tokens file; empty lines and lines that begin with `#` say nothing."""
    return tuple(_tokens(text, source))


def _tokens(text: str, source: str) -> Iterator[Token]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        role = next((role for role in Role if role.name.lower() == words[0]), None)
        if role is None or len(words) < 3 or not _DIGEST.fullmatch(words[1].lower()):
            raise TokensError(
                f"{source}, line {number}: expected `ROLE SHA256-OF-TOKEN NAME` with ROLE viewer or operator "
                "and 64 hexadecimal digits (printf %s TOKEN | sha256sum)"
            )
        yield Token(role, bytes.fromhex(words[1]), words[2].strip())


def new_token(role: Role, name: str) -> tuple[str, str]:
    """A fresh token, and the line of the tokens file that admits it."""
    token = secrets.token_urlsafe(32)
    return token, f"{role.name.lower()} {hashlib.sha256(token.encode()).hexdigest()} {name}"


def find_token(tokens: tuple[Token, ...], presented: str) -> Token | None:
    """The token that was presented; takes equally long whichever it is, or none."""
    if len(presented) > _MAX_TOKEN_BYTES:
        return None
    digest = hashlib.sha256(presented.encode()).digest()
    found = None
    for token in tokens:
        if hmac.compare_digest(token.digest, digest):
            found = token
    return found


class TokensFile:
    """The tokens of a file; a file that became unreadable or wrong leaves the last good ones in force."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._stamp()
        self._tokens = self._read()

    def find(self, presented: str) -> Token | None:
        """Who presents this token, by the file as it is now."""
        self._refresh()
        return find_token(self._tokens, presented)

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._tokens = self._read()
        except TokensError as error:
            _log.warning("tokens_not_reloaded", file=str(self._path), reason=str(error))

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> tuple[Token, ...]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TokensError(f"{self._path} cannot be read: {error}") from None
        tokens = parse_tokens(text, str(self._path))
        if not tokens:
            raise TokensError(f"{self._path} holds no token: nobody could look at anything")
        return tokens


def is_loopback(host: str) -> bool:
    """Whether an address or host name (with or without brackets) is this machine alone."""
    name = host.strip("[]").partition("%")[0].lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def split_listen(listen: str) -> tuple[str, int]:
    """`host:port`, `[v6]:port` or `:port` in two; raises `ValueError` that says what was wrong."""
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ValueError(f"listen address {listen!r}: expected host:port")
    return host.strip("[]"), int(port)


def listening_fault(settings: HttpSettings, *, insecure: bool) -> str | None:
    """Why these settings must not be listened with; `None` when they may."""
    host, _ = split_listen(settings.listen)
    if bool(settings.certificate_file) != bool(settings.key_file):
        return "http.certificate_file and http.key_file: set both or none"
    if insecure or is_loopback(host):
        return None
    missing = [
        key
        for key, value in (
            ("http.certificate_file", settings.certificate_file),
            ("http.key_file", settings.key_file),
            ("http.tokens_file", settings.tokens_file),
        )
        if not value
    ]
    if not missing:
        return None
    return (
        f"http.listen is {settings.listen}, beyond loopback, but {', '.join(missing)} not set: anybody on the network "
        "could read the fleet. Set them, listen on 127.0.0.1, or say --insecure"
    )
