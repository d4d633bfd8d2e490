from collections.abc import Sequence

import numpy as np

from flyball_collector.blocks.block import RowGroup
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.recent_series import RecentSeries
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.memory import MemoryStore
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge


def layout(name: str) -> Layout:
    return Layout((Column(gauge(name, "bytes", "A test."), ()),))


def group(digest: int) -> RowGroup:
    one = np.array([1], dtype=np.int64)
    digests = np.array([0], dtype=np.uint64)
    values, valid = np.array([[5]], dtype=np.int64), np.array([[True]])
    return RowGroup(digest, one, one, one, one, one, digests, digests, values, valid)


def test_rows_get_their_layout_from_the_fleet_or_the_store() -> None:
    """Rows of an unknown layout are left out."""
    live, stored, unknown = layout("a_bytes"), layout("b_bytes"), layout("c_bytes")
    fleet, store = Fleet(), MemoryStore()
    fleet.ensure("node-1").layout = KnownLayout(live)
    store.put_document("layout", definition_id(stored.digest), stored.body)
    groups = [group(each.digest) for each in (live, stored, unknown)]

    def rows(host: str, _start: int, _end: int) -> Sequence[RowGroup]:
        return groups if host == "node-1" else ()

    recent = RecentSeries(rows, fleet, store)
    found = recent.recent_rows("node-1", 0, 10)
    assert [each.columns[0].metric.name for each, _ in found] == ["a_bytes", "b_bytes"]
    assert [rows for _, rows in found] == groups[:2]
    assert recent.recent_rows("node-2", 0, 10) == []
