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


def test_a_layout_is_read_once_and_forgotten_when_many_came_after() -> None:
    """A finder lives as long as the collector, and hosts come with new layouts all the time."""
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
