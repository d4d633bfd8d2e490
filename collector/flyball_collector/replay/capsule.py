"""Incident capsules: everything around an event in one file, for replay anywhere.

A capsule is a ZIP archive: `capsule.json` describes it; `definitions/KIND/ID` are layouts, unavailable readings and
tenancies; `hosts/N/inventory` and `hosts/N/rows-M` are a host's inventory and its rows in the form of blocks.
"""

import lzma
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from google.protobuf.message import DecodeError

from flyball_collector.blocks.codec import decode, encode
from flyball_collector.blocks.errors import BlockError
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.stored_series import Find, HostRows
from flyball_collector.store.definitions import definition_id
from flyball_daemon.file_faults import read_fault
from flyball_proto.v1 import telemetry_pb2 as pb

FORMAT = 1
SUFFIX = ".flyball"
MANIFEST = "capsule.json"

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_MEMBERS = 100_000
"""A capsule may come from anyone, so the resources for unpacking are limited."""


_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    BlockError,
    DecodeError,
    EOFError,
    OSError,  # from bz2 only: the file is already in memory
    ValueError,  # an offset before the file's beginning, a name that is not UTF-8
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
"""Exceptions that damaged data cause while unpacking."""

_AGAIN = "copy it again, or create it again with `flyball capsule`"


class Capsule(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a capsule, beside its rows and definitions."""

    format: int
    version: str  # of the collector that wrote it
    agents: dict[str, str]  # the agents' versions by host
    written_ns: int
    start_ns: int
    end_ns: int
    hosts: tuple[str, ...]
    event: dict[str, Any]  # the event it is about, as in the API
    events: tuple[dict[str, Any], ...]  # all events of these hosts in the time range
    scores: tuple[dict[str, Any], ...]  # the writing version's scores of the rows, every ten seconds
    settings: dict[str, Any]  # the section `[diagnosis]`


class Contents(msgspec.Struct, frozen=True):
    """The contents of a capsule that was read."""

    capsule: Capsule
    hosts: tuple[HostRows, ...]
    find: Find


def write(capsule: Capsule, hosts: Sequence[HostRows], find: Find) -> bytes:
    """Return the file's bytes. Definitions that no longer exist are left out."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(capsule), indent=1))
        for kind, digest in sorted(_referred(hosts)):
            if (body := find(kind, digest)) is not None:
                archive.writestr(f"definitions/{kind}/{definition_id(digest)}", body)
        for number, rows in enumerate(hosts):
            if rows.inventory is not None:
                archive.writestr(f"hosts/{number}/inventory", rows.inventory.SerializeToString(deterministic=True))
            for piece, group in enumerate(rows.groups):
                archive.writestr(f"hosts/{number}/rows-{piece:06}", encode([group]), zipfile.ZIP_STORED)
    return file.getvalue()


def read(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Contents:
    """Read a capsule. Raises `ReplayError` with the fault of the file."""
    try:
        with path.open("rb") as file:
            body = file.read(max_bytes + 1)  # everything at once, so that later errors are the capsule's fault
    except OSError as error:
        raise ReplayError(read_fault(path, error)) from None
    if len(body) > max_bytes:
        raise ReplayError(f"{path}: not a capsule: the file has more than {max_bytes:,} bytes")
    return _read(BytesIO(body), str(path), max_bytes)


def settings_of(capsule: Capsule) -> tuple[DiagnosisSettings, list[str]]:
    """Return the settings under which it was written, as far as this version has them, and the unknown keys."""
    known, unknown = {}, []
    for key, value in capsule.settings.items():
        try:
            msgspec.convert({key: value}, DiagnosisSettings)
        except msgspec.ValidationError:
            unknown.append(key)
        else:
            known[key] = value
    return msgspec.convert(known, DiagnosisSettings), unknown


def is_capsule(path: Path) -> bool:
    """Return True if the file begins like a capsule. Pipes are skipped, because their bytes would be lost."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def _read(file: BinaryIO, name: str, max_bytes: int) -> Contents:
    try:
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, name, max_bytes)
        capsule = _manifest(members, name)
        definitions = {key: body for key, body in members.items() if key.startswith("definitions/")}
        hosts = tuple(_host(members, number, host) for number, host in enumerate(capsule.hosts))
    except _DAMAGE as error:
        raise ReplayError(f"{name}: the capsule is damaged: {error}; {_AGAIN}") from None
    _check_rows(hosts, definitions, name)
    return Contents(capsule, hosts, lambda kind, digest: definitions.get(f"definitions/{kind}/{definition_id(digest)}"))


def _members(archive: zipfile.ZipFile, name: str, max_bytes: int) -> dict[str, bytes]:
    """Return every file of the archive within the limits. The sizes in its directory are not trusted."""
    entries = archive.infolist()
    left = max_bytes
    members = {}
    if len(entries) > MAX_MEMBERS:
        raise ReplayError(f"{name}: {len(entries)} files in the capsule; the limit is {MAX_MEMBERS}")
    for entry in entries:
        with archive.open(entry) as file:
            body = file.read(left + 1)
        left -= len(body)
        if left < 0:
            raise ReplayError(f"{name}: more than {max_bytes:,} bytes in the capsule")
        members[entry.filename] = body
    return members


def _manifest(members: Mapping[str, bytes], name: str) -> Capsule:
    if MANIFEST not in members:
        raise ReplayError(f"{name}: not a Flyball capsule: {MANIFEST} is missing")
    try:
        version = msgspec.json.decode(members[MANIFEST], type=dict[str, Any]).get("format")
        if version != FORMAT:
            raise ReplayError(f"{name}: the capsule has format {version}; this version of Flyball reads {FORMAT}")
        return msgspec.json.decode(members[MANIFEST], type=Capsule)
    except msgspec.DecodeError as error:
        raise ReplayError(f"{name}: {MANIFEST}: {error}") from None


def _host(members: Mapping[str, bytes], number: int, host: str) -> HostRows:
    prefix = f"hosts/{number}/"
    pieces = sorted(key for key in members if key.startswith(f"{prefix}rows-"))
    groups = tuple(group for piece in pieces for group in decode(members[piece]))
    inventory = members.get(f"{prefix}inventory")
    return HostRows(host, groups, pb.Inventory.FromString(inventory) if inventory is not None else None)


def _check_rows(hosts: Sequence[HostRows], definitions: Mapping[str, bytes], name: str) -> None:
    """Raise `ReplayError` if nothing in the capsule can be replayed."""
    if not any(len(group.sequences) for rows in hosts for group in rows.groups):
        raise ReplayError(f"{name}: the capsule has no readings; {_AGAIN}")
    layouts = {digest for kind, digest in _referred(hosts) if kind == "layout"}
    if not any(f"definitions/layout/{definition_id(digest)}" in definitions for digest in layouts):
        raise ReplayError(f"{name}: the capsule has no layouts for its readings; {_AGAIN}")


def _referred(hosts: Iterable[HostRows]) -> set[tuple[str, int]]:
    """Return every definition that rows refer to."""
    found: set[tuple[str, int]] = set()
    for group in (group for rows in hosts for group in rows.groups):
        found.add(("layout", group.layout))
        found.update(("unavailable", int(digest)) for digest in set(group.unavailable.tolist()) if digest)
        found.update(("tenancy", int(digest)) for digest in set(group.tenancy.tolist()) if digest)
    return found
