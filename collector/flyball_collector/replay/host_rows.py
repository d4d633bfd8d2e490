"""Reads the stored rows of hosts in a time range, and those that are not stored yet."""

from collections.abc import Callable, Iterator, Sequence

from google.protobuf.message import DecodeError

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.codec import decode
from flyball_collector.replay.row_limits import RowLimits
from flyball_collector.replay.stored_series import Find, HostRows
from flyball_collector.store.contract import Store
from flyball_collector.store.definitions import definition_id
from flyball_proto.layout import Layout
from flyball_proto.v1 import telemetry_pb2 as pb

RecentRows = Callable[[str, int, int], Sequence[tuple[Layout, RowGroup]]]


def nothing_recent(_host: str, _start_ns: int, _end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:
    """Return no rows, if every row is in the store."""
    return ()


def definitions_of(store: Store) -> Find:
    """Return a function that finds definitions in a store."""

    def find(kind: str, digest: int) -> bytes | None:
        document = store.get_document(kind, definition_id(digest))
        return document.body if document is not None else None

    return find


def read_host_rows(
    store: Store, hosts: Sequence[str], start_ns: int, end_ns: int, recent: RecentRows = nothing_recent
) -> list[HostRows]:
    """Return rows of hosts that overlap [start_ns, end_ns) of corrected time. It blocks, so call it in a thread."""
    limits = RowLimits()
    return [
        HostRows(host, tuple(_groups(store, host, start_ns, end_ns, recent, limits)), _inventory(store, host))
        for host in hosts
    ]


def _groups(
    store: Store, host: str, start_ns: int, end_ns: int, recent: RecentRows, limits: RowLimits
) -> Iterator[RowGroup]:
    for block in store.read_blocks(host, start_ns, end_ns):
        for group in decode(block.payload, limits.admit):
            limits.admit_extras(group.extras)
            yield group
    for _, group in recent(host, start_ns, end_ns):
        limits.admit(*group.values.shape)
        limits.admit_extras(group.extras)
        yield group


def _inventory(store: Store, host: str) -> pb.Inventory | None:
    document = store.get_document("inventory", host)
    try:
        return pb.Inventory.FromString(document.body) if document is not None else None
    except DecodeError:
        return None
