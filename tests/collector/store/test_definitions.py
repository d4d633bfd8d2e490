"""Finding layouts among the documents."""

from flyball_collector.store.contract import Document
from flyball_collector.store.definitions import LayoutFinder, definition_id
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge

LAYOUTS = [
    Layout((Column(gauge("test_value_ratio", "ratio", "A value.", ("item",)), (f"item{number}",)),))
    for number in range(5000)
]
BODIES = {definition_id(layout.digest): layout.body for layout in LAYOUTS}


def test_layouts_are_cached_and_evicted() -> None:
    """A finder lives as long as the collector, while hosts keep sending new layouts."""
    asked: list[str] = []

    def get(kind: str, name: str) -> Document | None:
        asked.append(name)
        return Document(kind, name, BODIES[name], 1, 0) if name in BODIES else None

    find = LayoutFinder(get)
    first = LAYOUTS[0]
    assert (find(first.digest), find(first.digest)) == (first, first)
    assert len(asked) == 1
    for layout in LAYOUTS:
        assert find(layout.digest) == layout
    assert find(LAYOUTS[-1].digest) == LAYOUTS[-1]
    assert len(asked) == len(LAYOUTS)
    assert find(first.digest) == first
    assert len(asked) == len(LAYOUTS) + 1
    assert find(1) is None
