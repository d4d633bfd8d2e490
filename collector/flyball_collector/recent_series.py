"""Rows that are buffered but not stored yet, with their layouts."""

from collections.abc import Callable, Sequence

from flyball_collector.blocks.block import RowGroup
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.store.definitions import LayoutFinder
from flyball_proto.layout import Layout


class RecentSeries:
    """Combines ingest's rows with their layouts."""

    def __init__(self, rows: Callable[[str, int, int], Sequence[RowGroup]], fleet: Fleet, store: Store) -> None:
        self._rows = rows
        self._fleet = fleet
        self._stored = LayoutFinder(store.get_document)

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:
        """Return rows with their layouts. Rows whose layout is unknown are left out until they are stored."""
        found = ((self._layout(host, group.layout), group) for group in self._rows(host, start_ns, end_ns))
        return [(layout, group) for layout, group in found if layout is not None]

    def _layout(self, host: str, digest: int) -> Layout | None:
        state = self._fleet.get(host)
        if state is not None and state.layout is not None and state.layout.digest == digest:
            return state.layout.layout
        try:
            return self._stored(digest)
        except StoreError:
            return None
