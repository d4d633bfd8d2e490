"""Bearer tokens of people and scrapers: a file of `ROLE SHA256-OF-TOKEN NAME` lines, read again when it changes."""

import contextlib
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import structlog

from flyball_collector.security.pem import CertificateError, replace_file
from flyball_collector.settings import HttpSettings
from flyball_daemon.file_faults import read_fault, write_fault

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_TOKEN_BYTES = 512
_MAX_FILE_BYTES = 4_000_000  # forty thousand tokens
_log = structlog.stdlib.get_logger(__name__)


class Role(IntEnum):
    """The rights of a caller; a higher role has all rights of a lower one."""

    VIEWER = 1
    OPERATOR = 2


class TokensError(ValueError):
    """A tokens file that cannot be used; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Token:
    """One line of the file."""

    role: Role
    digest: bytes  # SHA-256 of the token; tokens are long and random, so no slow hash is needed
    name: str

    @property
    def id(self) -> str:
        """Return the start of the hash, which identifies the token without revealing it."""
        return self.digest.hex()[:12]


def parse_tokens(text: str, source: str = "tokens") -> tuple[Token, ...]:
    """Read the lines of a tokens file; empty lines and lines that begin with `#` are skipped."""
    return tuple(token for token in _lines(text, source) if token is not None)


def _lines(text: str, source: str) -> Iterator[Token | None]:
    """Yield the token of each line, and None for a line without one."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            yield None
            continue
        role = next((role for role in Role if role.name.lower() == words[0]), None)
        if role is None or len(words) < 3 or not _DIGEST.fullmatch(words[1].lower()):
            raise TokensError(
                f"{source}:{number}: not a line of a tokens file; expected `ROLE SHA256-OF-TOKEN NAME` with ROLE "
                "viewer or operator and 64 hexadecimal digits (printf %s TOKEN | sha256sum)"
            )
        yield Token(role, bytes.fromhex(words[1]), words[2].strip())


def new_token(role: Role, name: str) -> tuple[str, str]:
    """Return a fresh token, and its line of the tokens file."""
    token = secrets.token_urlsafe(32)
    return token, f"{role.name.lower()} {hashlib.sha256(token.encode()).hexdigest()} {name}"


def find_token(tokens: tuple[Token, ...], presented: str) -> Token | None:
    """Return the token that was presented. The search takes the same time for every token, and for an unknown one."""
    if len(presented) > _MAX_TOKEN_BYTES:
        return None
    digest = hashlib.sha256(presented.encode()).digest()
    found = None
    for token in tokens:
        if hmac.compare_digest(token.digest, digest):
            found = token
    return found


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Read a tokens file, which may hold no token."""
    return parse_tokens(_read_text(path), str(path))


def add_token_line(path: Path, line: str) -> None:
    """Append a line to a tokens file; a file with other content is not changed.

    All users may read a new file: the collector has to, and it holds only hashes.
    """
    try:
        is_new = not path.exists()
        if not is_new:
            read_tokens(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(descriptor, "r+b") as file:
            content = file.read()
            if is_new:
                os.fchmod(file.fileno(), 0o644)  # whatever the umask is
            separator = "" if content[-1:] in {b"", b"\n"} else "\n"
            file.write(f"{separator}{line}\n".encode())
    except OSError as error:
        raise TokensError(write_fault(path, error)) from None


def revoke_tokens(path: Path, revoked: Sequence[Token]) -> None:
    """Remove the lines of some tokens; comments and all other lines stay. The file is replaced in one step."""
    text = _read_text(path)
    digests = {token.digest for token in revoked}
    pairs = zip(text.splitlines(), _lines(text, str(path)), strict=True)
    kept = [line for line, token in pairs if token is None or token.digest not in digests]
    try:
        before = path.stat()
        replace_file(path, "".join(f"{line}\n" for line in kept).encode(), stat.S_IMODE(before.st_mode))
        with contextlib.suppress(OSError):  # only root may give a file to another user
            os.chown(path, before.st_uid, before.st_gid)
    except CertificateError as error:
        raise TokensError(str(error)) from None
    except OSError as error:
        raise TokensError(write_fault(path, error)) from None


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)  # a device may have no end
    except OSError as error:
        raise TokensError(read_fault(path, error)) from None
    if len(content) > _MAX_FILE_BYTES:
        raise TokensError(f"{path} is larger than {_MAX_FILE_BYTES // 10**6} MB, so it is not a tokens file")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise TokensError(f"{path} is not valid UTF-8, so it is not a tokens file") from None


class TokensFile:
    """The tokens of a file, read again when it changes.

    A file that becomes unreadable or wrong leaves the last good tokens in force. A file without a token is refused at
    the start; a running collector takes it, so that the last token can be revoked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._stamp()
        self._tokens = read_tokens(path)
        if not self._tokens:
            raise TokensError(f"{path} contains no token, so nobody could log in; add one with `flyball token add`")

    def find(self, presented: str) -> Token | None:
        """Return the token that is presented, as the file defines it now; None if it is unknown."""
        self._refresh()
        return find_token(self._tokens, presented)

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._tokens = read_tokens(self._path)
        except TokensError as error:
            _log.warning("tokens_not_reloaded", file=str(self._path), reason=str(error))

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def is_loopback(host: str) -> bool:
    """Return True if an address or host name (with or without brackets) can only be reached from this machine."""
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
    """Split `host:port`, `[v6]:port` or `:port`. Raises `ValueError` with the reason if it is neither of them."""
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ValueError(f"expected host:port, such as 127.0.0.1:3591, not {listen!r}")
    return host.strip("[]"), int(port)


def listening_fault(settings: HttpSettings, *, insecure: bool) -> str | None:
    """Return why the web port must not be opened with these settings; `None` if it may."""
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
        f"http.listen is {settings.listen}, beyond loopback, without {', '.join(missing)}: anyone on the network "
        "could read the fleet. Set them, listen on 127.0.0.1, or use --insecure"
    )
