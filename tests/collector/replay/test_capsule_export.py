"""An incident as a capsule: its hosts, time range and events."""

from pathlib import Path

import pytest

from flyball_collector.blocks.testing import SECOND_NS, START_NS, small_block, small_layout
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay import capsule
from flyball_collector.replay.capsule_export import CapsuleSpan, CapsuleWriter, export_capsule, find_entry
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.host_rows import nothing_recent
from flyball_collector.store.memory import MemoryStore
from flyball_collector.timeline.entry import Entry, entry_id
from flyball_collector.timeline.entry_documents import puts_of

LAYOUT = small_layout()
WRITER = CapsuleWriter("0.1.0", DiagnosisSettings(disabled=("clock_skew",)), {"a": "0.0.9", "c": "0.0.8"})
NOW_NS = START_NS + 600 * SECOND_NS


def entry(
    second: int, state: str = "raised", host: str = "a", condition: str = "c1", raised: int | None = None
) -> Entry:
    time_ns = START_NS + second * SECOND_NS
    return Entry(
        id=entry_id(time_ns, state, condition),
        time_ns=time_ns,
        state=state,
        kind="gpu_xid",
        condition=condition,
        host=host,
        raised_ns=time_ns if raised is None else START_NS + raised * SECOND_NS,
    )


def store(*entries: Entry, minutes: int = 10) -> MemoryStore:
    made = MemoryStore()
    made.put_document("layout", f"{LAYOUT.digest:016x}", LAYOUT.layout.body)
    made.put_blocks([small_block(host, number, layout=LAYOUT) for host in "ab" for number in range(minutes)])
    for each in entries:
        made.put_documents(puts_of(each))
    return made


def written(made: MemoryStore, about: Entry, hosts: list[str], span: CapsuleSpan, tmp_path: Path) -> capsule.Contents:
    path = tmp_path / "incident.flyball"
    path.write_bytes(export_capsule(made, nothing_recent, about, hosts, span, WRITER, NOW_NS))
    return capsule.read(path)


def test_a_capsule_covers_the_time_around_its_event(tmp_path: Path) -> None:
    """It has whole minutes that overlap the range, from before the raise until after the clear."""
    raised, cleared = entry(200), entry(260, "cleared", raised=200)
    made = store(raised, cleared, entry(10, condition="old"), entry(210, host="b", condition="other"))
    contents = written(made, cleared, ["a"], CapsuleSpan(before=30, after=30), tmp_path)
    about = contents.capsule
    assert (about.start_ns, about.end_ns) == (START_NS + 170 * SECOND_NS, START_NS + 290 * SECOND_NS)
    assert about.hosts == ("a",)
    assert about.agents == {"a": "0.0.9"}
    assert [each["id"] for each in about.events] == [raised.id, cleared.id]
    assert about.event["condition"] == "c1"
    assert capsule.settings_of(about)[0].disabled == ("clock_skew",)
    times = [int(group.corrected_ns[0] - START_NS) // SECOND_NS for group in contents.hosts[0].groups]
    assert times == [120, 180, 240]


def test_an_event_is_found_by_its_id_or_its_condition() -> None:
    """In memory before it is written, in the store afterwards; the newest entry of a condition is used."""
    raised, cleared = entry(200), entry(260, "cleared", raised=200)
    made = store(raised, cleared)
    assert find_entry(made, raised.id, ()) == raised
    assert find_entry(made, "c1", ()) == cleared
    assert find_entry(made, "nobody", ()) is None
    fresh = entry(300, condition="c2")
    assert find_entry(made, "c2", [fresh]) == fresh


@pytest.mark.parametrize(
    ("hosts", "span", "message"),
    [
        ([], CapsuleSpan(), "has no host"),
        ([f"h{n}" for n in range(65)], CapsuleSpan(), "the limit of a capsule is 64"),
        (["a"], CapsuleSpan(before=100_000), "up to 24 hours"),
        (["c"], CapsuleSpan(), "no data of that time"),
    ],
)
def test_invalid_requests_are_refused(hosts: list[str], span: CapsuleSpan, message: str) -> None:
    """Each gives one line before anything is written."""
    with pytest.raises(ReplayError, match=message):
        export_capsule(store(), nothing_recent, entry(200), hosts, span, WRITER, NOW_NS)
