"""Incident capsules: everything around an event in one file, for replay anywhere.

A capsule is a ZIP archive: `capsule.json` describes it; `definitions/KIND/ID` are layouts, unavailable readings and
tenancies; `hosts/N/inventory` and `hosts/N/rows-M` are a host's inventory and its rows in the form of blocks.
`captures/RANK-ID-NAME` are captures of ranks, which are for people: a replay ignores them.
"""

import errno
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from google.protobuf.message import DecodeError

from flyball_collector.blocks.codec import decode, encode
from flyball_collector.blocks.errors import BlockError
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay.capsule_archive import (
    MAX_DETAIL_BYTES,
    MAX_LAYOUT_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_MANIFEST_VALUES,
    ByteLimit,
    CapsuleArchive,
    json_values,
)
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.row_limits import RowLimits
from flyball_collector.replay.stored_series import Find, HostRows
from flyball_collector.store.definitions import definition_id
from flyball_daemon.file_faults import read_fault
from flyball_proto.v1 import telemetry_pb2 as pb

if TYPE_CHECKING:
    from flyball_collector.blocks.block import RowGroup

FORMAT = 1
SUFFIX = ".flyball"
MANIFEST = "capsule.json"

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Maximum size of the file, and of everything in it before rows are decoded."""
MAX_HOSTS = 64

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    BlockError,
    DecodeError,
    EOFError,
    ValueError,  # an offset before the file's beginning, a name that is not UTF-8
    KeyError,
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


class _FormatOnly(msgspec.Struct, frozen=True):
    """The format of a capsule; the rest is not decoded."""

    format: object = None


class Contents(msgspec.Struct, frozen=True):
    """The contents of a capsule that was read."""

    capsule: Capsule
    hosts: tuple[HostRows, ...]
    find: Find


def write(capsule: Capsule, hosts: Sequence[HostRows], find: Find, captures: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """Return the file's bytes. Definitions that no longer exist are left out."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(capsule), indent=1))
        for kind, digest in sorted(_referred(hosts)):
            if (body := find(kind, digest)) is not None:
                archive.writestr(_definition_name(kind, digest), body)
        for number, rows in enumerate(hosts):
            if rows.inventory is not None:
                archive.writestr(f"hosts/{number}/inventory", rows.inventory.SerializeToString(deterministic=True))
            for piece, group in enumerate(rows.groups):
                archive.writestr(f"hosts/{number}/rows-{piece:06}", encode([group]), zipfile.ZIP_STORED)
        for name, body in captures:
            archive.writestr(f"captures/{name}", body)
    return file.getvalue()


def read(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Contents:
    """Read a capsule. Raise `ReplayError` with the fault of the file."""
    try:
        with path.open("rb") as file:
            if file.seek(0, 2) > max_bytes:
                raise ReplayError(f"{path}: not a capsule: the file has more than {max_bytes:,} bytes")
            return _read(file, str(path), max_bytes)
    except OSError as error:
        if error.errno == errno.EINVAL:  # the archive claims an offset that no file can have
            raise ReplayError(f"{path}: the capsule is damaged: {error.strerror}; {_AGAIN}") from None
        raise ReplayError(read_fault(path, error)) from None


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
        archive = CapsuleArchive(file, name, max_bytes)
        capsule = _manifest(archive, name)
        hosts = _hosts(archive, capsule, name)
        definitions = _definitions(archive, hosts)
    except _DAMAGE as error:
        raise ReplayError(f"{name}: the capsule is damaged: {error}; {_AGAIN}") from None
    _check_rows(hosts, definitions, name)
    return Contents(capsule, hosts, lambda kind, digest: definitions.get(_definition_name(kind, digest)))


def _manifest(archive: CapsuleArchive, name: str) -> Capsule:
    if MANIFEST not in archive.names:
        raise ReplayError(f"{name}: not a Flyball capsule: {MANIFEST} is missing")
    body = archive.read(MANIFEST, ByteLimit(MAX_MANIFEST_BYTES, f"bytes of {MANIFEST}"))
    if json_values(body) > MAX_MANIFEST_VALUES:
        raise ReplayError(f"{name}: more than {MAX_MANIFEST_VALUES:,} values in {MANIFEST}")
    try:
        version = msgspec.json.decode(body, type=_FormatOnly).format
        if version != FORMAT:
            raise ReplayError(f"{name}: the capsule has format {version}; this version of Flyball reads {FORMAT}")
        capsule = msgspec.json.decode(body, type=Capsule)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReplayError(f"{name}: {MANIFEST}: {error}") from None
    if len(capsule.hosts) > MAX_HOSTS:
        raise ReplayError(f"{name}: {len(capsule.hosts)} hosts in the capsule; the limit is {MAX_HOSTS}")
    return capsule


def _hosts(archive: CapsuleArchive, capsule: Capsule, name: str) -> tuple[HostRows, ...]:
    """Decode the rows of all hosts, within the same limits as for writing a capsule."""
    limits = RowLimits(name)
    details = ByteLimit(MAX_DETAIL_BYTES, "bytes of inventories")
    return tuple(_host(archive, number, host, limits, details) for number, host in enumerate(capsule.hosts))


def _host(archive: CapsuleArchive, number: int, host: str, limits: RowLimits, details: ByteLimit) -> HostRows:
    prefix = f"hosts/{number}/"
    groups: list[RowGroup] = []
    for piece in archive.names:
        if piece.startswith(f"{prefix}rows-"):
            for group in decode(archive.read(piece), limits.admit):
                limits.admit_extras(group.extras)
                groups.append(group)
    inventory = f"{prefix}inventory"
    found = pb.Inventory.FromString(archive.read(inventory, details)) if inventory in archive.names else None
    return HostRows(host, tuple(groups), found)


def _definitions(archive: CapsuleArchive, hosts: Sequence[HostRows]) -> dict[str, bytes]:
    """Return the definitions that rows refer to, by name."""
    layouts = ByteLimit(MAX_LAYOUT_BYTES, "bytes of layouts")
    details = ByteLimit(MAX_DETAIL_BYTES, "bytes of unavailable readings and tenancies")
    names = {_definition_name(*each): each[0] for each in sorted(_referred(hosts))}
    there = set(archive.names)
    return {
        name: archive.read(name, layouts if kind == "layout" else details)
        for name, kind in names.items()
        if name in there
    }


def _definition_name(kind: str, digest: int) -> str:
    return f"definitions/{kind}/{definition_id(digest)}"


def _check_rows(hosts: Sequence[HostRows], definitions: Mapping[str, bytes], name: str) -> None:
    """Raise `ReplayError` if nothing in the capsule can be replayed."""
    if not any(len(group.sequences) for rows in hosts for group in rows.groups):
        raise ReplayError(f"{name}: the capsule has no readings; {_AGAIN}")
    layouts = {digest for kind, digest in _referred(hosts) if kind == "layout"}
    if not any(_definition_name("layout", digest) in definitions for digest in layouts):
        raise ReplayError(f"{name}: the capsule has no layouts for its readings; {_AGAIN}")


def _referred(hosts: Iterable[HostRows]) -> set[tuple[str, int]]:
    """Return every definition that rows refer to."""
    found: set[tuple[str, int]] = set()
    for group in (group for rows in hosts for group in rows.groups):
        found.add(("layout", group.layout))
        found.update(("unavailable", int(digest)) for digest in set(group.unavailable.tolist()) if digest)
        found.update(("tenancy", int(digest)) for digest in set(group.tenancy.tolist()) if digest)
    return found
