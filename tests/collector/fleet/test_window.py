import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_collector.blocks.block import RowGroup
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.window import Window
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import counter, gauge

SECOND = 10**9
START = 1_700_000_000 * SECOND
WATTS = gauge("watts", "watts", "Draw.", ("gpu",))
READ = counter("read_bytes_total", "bytes", "Read.")
OTHER = gauge("other", "things", "Not windowed.")


def fleet_of(**options: float) -> Fleet:
    window = Window(("watts", "read_bytes_total"), seconds=10, **options)  # type: ignore[arg-type]
    return Fleet(window=window)


def layout_of(gpus: int, *, read: bool = True) -> KnownLayout:
    columns = [Column(OTHER), *(Column(WATTS, (f"GPU-{i}",)) for i in range(gpus)), *([Column(READ)] if read else [])]
    return KnownLayout(Layout(tuple(columns)))


def say(fleet: Fleet, host: str, second: int, layout: KnownLayout, values: Sequence[int | None]) -> None:
    known = np.array([value is not None for value in values], dtype=np.bool_)
    packed = np.array([value or 0 for value in values], dtype=np.int64)
    at = START + second * SECOND
    fleet.apply(Tick(host, bytes(16), second, layout, packed, known, at, at, at, at + SECOND // 5, 0, 0, b"", True))


def advance(fleet: Fleet, second: int) -> bool:
    return fleet.advance(START + second * SECOND + SECOND // 2)


def recent(fleet: Fleet, host: str, metric: str) -> list[list[float | str]]:
    """Rows of readable values: `?` is unknown."""
    _, _, values = fleet.window.recent(host, metric)
    return [["?" if math.isnan(value) else round(value, 6) for value in line] for line in values.tolist()]


def test_gauges_stand_and_counters_are_rates() -> None:
    """A gauge is kept as it is said; a counter as its growth a second, unknown at first and over a reset."""
    fleet, layout = fleet_of(), layout_of(2)
    for second, read in enumerate([1000, 1500, 3500, 100, 400]):
        say(fleet, "a", second, layout, [1, 10 * second, None, read])
        assert advance(fleet, second)
    assert recent(fleet, "a", "watts") == [[0, "?"], [10, "?"], [20, "?"], [30, "?"], [40, "?"]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [500], [2000], ["?"], [300]]
    times, columns, _ = fleet.window.recent("a", "watts")
    assert (times // SECOND - START // SECOND).tolist() == [0, 1, 2, 3, 4]
    assert [column.labels for column in columns] == [("GPU-0",), ("GPU-1",)]


def test_only_the_listed_metrics_have_a_window() -> None:
    """Other metrics, and hosts that are unknown, give nothing."""
    fleet = fleet_of()
    say(fleet, "a", 0, layout_of(1), [1, 2, 3])
    advance(fleet, 0)
    assert recent(fleet, "a", "other") == [[]]
    assert recent(fleet, "nobody", "watts") == [[]]


def test_a_second_is_written_once() -> None:
    """A pass in the same second changes nothing; a clock that falls back a little is waited for."""
    fleet, layout = fleet_of(), layout_of(1)
    say(fleet, "a", 7, layout, [1, 70, 0])
    assert advance(fleet, 7)
    assert not advance(fleet, 7)
    assert not advance(fleet, 4)
    assert recent(fleet, "a", "watts") == [[70]]
    assert advance(fleet, -3600)
    assert len(fleet.window.recent("a", "watts")[0]) == 1


def test_who_comes_within_a_written_second_has_nothing_to_say_yet() -> None:
    """What is alive stands along the hosts even when a second is looked at twice."""
    fleet, layout = fleet_of(), layout_of(1)
    say(fleet, "b", 0, layout, [1, 10, 100])
    assert advance(fleet, 0)
    say(fleet, "a", 0, layout, [1, 10, 100])
    assert not advance(fleet, 0)
    assert [state.name for state in fleet.window.states] == ["a", "b"]
    assert fleet.window.alive.tolist() == [False, True]


def test_a_late_record_leaves_the_line_as_it_was_said_last() -> None:
    """Between two records a reading and a rate stand, as long as `hold_seconds`; then they are unknown."""
    fleet, layout = fleet_of(), layout_of(1)
    say(fleet, "a", 0, layout, [1, 5, 0])
    advance(fleet, 0)
    say(fleet, "a", 1, layout, [1, 6, 100])
    for second in range(1, 6):
        advance(fleet, second)
    assert recent(fleet, "a", "watts") == [[5], [6], [6], [6], ["?"], ["?"]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [100], [100], [100], ["?"], ["?"]]


def test_a_rate_spans_what_was_missed_but_not_a_gap() -> None:
    """Growth is divided by the time between the records; over more than `gap_seconds` nothing is said."""
    fleet, layout = fleet_of(gap_seconds=4), layout_of(0)
    for second, read in [(0, 0), (3, 300), (8, 1000), (9, 1005)]:
        say(fleet, "a", second, layout, [1, read])
        advance(fleet, second)
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [100], ["?"], [5]]


def test_seconds_that_nobody_wrote_are_left_out() -> None:
    """A stalled pass leaves no line, and old lines leave the ring."""
    fleet, layout = fleet_of(), layout_of(1)
    for second in (0, 1, 8, 12):
        say(fleet, "a", second, layout, [1, second, 0])
        advance(fleet, second)
    assert recent(fleet, "a", "watts") == [[8], [12]]
    assert fleet.window.take(fleet.window.select("watts").index, seconds=3)[1].tolist() == [[12]]


def test_what_a_column_said_survives_a_layout() -> None:
    """A GPU that comes or goes makes a new layout; the other columns keep their history and their counters' rates."""
    fleet = fleet_of()
    say(fleet, "a", 0, layout_of(2), [1, 10, 20, 100])
    advance(fleet, 0)
    say(fleet, "a", 1, layout_of(3), [1, 11, 21, 31, 150])
    advance(fleet, 1)
    say(fleet, "a", 2, layout_of(1), [1, 12, 160])
    advance(fleet, 2)
    assert recent(fleet, "a", "watts") == [[10], [11], [12]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [50], [10]]


def test_select_says_whose_each_row_is() -> None:
    """The rows of a metric over the fleet, with their hosts and resources, index the matrix of time × row."""
    fleet = fleet_of()
    for second in (0, 1):
        say(fleet, "b", second, layout_of(1), [1, 30 + second, 0])
        say(fleet, "a", second, layout_of(2), [1, 10 + second, 20 + second, 0])
        advance(fleet, second)
    rows = fleet.window.select("watts")
    assert [rows.names[host] for host in rows.hosts.tolist()] == ["a", "a", "b"]
    assert [column.labels[0] for column in rows.columns] == ["GPU-0", "GPU-1", "GPU-0"]
    times, values = fleet.window.take(rows.index)
    assert values.tolist() == [[10, 20, 30], [11, 21, 31]]
    assert len(times) == 2
    fleet.remove("a")
    advance(fleet, 2)
    assert fleet.window.select("watts").names == ("b",)
    assert fleet.window.rows == 2


def test_a_full_window_leaves_hosts_out() -> None:
    """Beyond the limit a host has no window, until another one leaves."""
    fleet = fleet_of(max_rows=5)
    for name in ("a", "b"):
        say(fleet, name, 0, layout_of(2), [1, 2, 3, 4])
    advance(fleet, 0)
    assert (recent(fleet, "a", "watts"), recent(fleet, "b", "watts")) == ([[2, 3]], [[]])
    fleet.remove("a")
    say(fleet, "b", 1, layout_of(2), [1, 2, 3, 4])
    advance(fleet, 1)
    assert recent(fleet, "b", "watts") == [["?", "?"], [2, 3]]


def test_many_hosts_at_once_are_seated_over_some_passes() -> None:
    """More hosts than a pass seats wait for the next one, also those that only change their layout meanwhile."""
    fleet = fleet_of(max_rows=3000)
    for second, gpus in enumerate([3, 2, 2, 2]):
        for number in range(150):
            say(fleet, f"host-{number:03d}", second, layout_of(gpus), [1, *[number + second] * gpus, 0])
        advance(fleet, second)
    assert [len(fleet.window.recent(f"host-{number:03d}", "watts")[1]) for number in (0, 75, 149)] == [2, 2, 2]
    assert recent(fleet, "host-000", "watts")[-1] == [3, 3]
    assert recent(fleet, "host-149", "watts")[-1] == [152, 152]
    assert fleet.window.rows == 450


def test_newcomers_of_a_large_fleet_are_admitted_together() -> None:
    """While one comes each second all wait, but for no more than fifteen; two seconds after the last all are there."""
    fleet, layout, censuses = fleet_of(large_fleet=2), layout_of(1), []
    for second in range(24):
        for number in range(min(second + 1, 20)):
            say(fleet, f"host-{number:02d}", second, layout, [1, 10 * second + number, 100 * second])
        advance(fleet, second)
        censuses.append((fleet.window.census, len(fleet.window.states)))
    assert censuses == [(1, 1), *[(2, 2)] * 15, *[(3, 17)] * 5, *[(4, 20)] * 3]
    assert recent(fleet, "host-06", "watts") == [*[["?"]] * 2, *[[10 * second + 6] for second in range(16, 24)]]
    assert recent(fleet, "host-06", "read_bytes_total")[-7:] == [[100]] * 7


def test_a_host_of_a_large_fleet_that_changes_its_layout_is_silent_until_it_is_admitted_with_it() -> None:
    """Nothing of the new layout is read by the places of the old one; rates go on over the unavailable reading."""
    fleet, alive = fleet_of(large_fleet=2), []
    for second in range(9):
        layout = layout_of(2 if second < 3 else 4)
        gpus = len(layout.layout.columns) - 2
        say(fleet, "a", second, layout, [1, *[10 * second + gpu for gpu in range(gpus)], 100 * second])
        say(fleet, "b", second, layout_of(1), [1, 5, 0])
        advance(fleet, second)
        alive.append(fleet.window.alive.tolist())
    assert alive == [*[[True, True]] * 3, *[[False, True]] * 2, *[[True, True]] * 4]
    known = [[0, 1, "?", "?"], [10, 11, "?", "?"], [20, 21, "?", "?"]]
    assert recent(fleet, "a", "watts")[:5] == [*known, *[["?"] * 4] * 2]
    assert recent(fleet, "a", "watts")[5:] == [[10 * second + gpu for gpu in range(4)] for second in range(5, 9)]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [100], [100], ["?"], ["?"], *[[100]] * 4]


def test_a_host_that_leaves_a_large_fleet_is_gone_at_once() -> None:
    """What was removed is not looked at for another five seconds."""
    fleet, layout = fleet_of(large_fleet=2), layout_of(1)
    for name in "abc":
        say(fleet, name, 0, layout, [1, 10, 0])
    advance(fleet, 0)
    fleet.remove("b")
    advance(fleet, 1)
    assert [state.name for state in fleet.window.states] == ["a", "c"]
    assert fleet.window.rows == 4


def test_a_host_of_a_large_fleet_that_is_moved_is_read_where_it_is_now() -> None:
    """A newcomer for whom there is no room moves the others at once, whenever somebody was admitted last."""
    fleet, wide = fleet_of(large_fleet=2), layout_of(300)
    for second in range(3):
        say(fleet, "a", second, layout_of(2 if second < 1 else 1), [1, 2, 3, 4][: 4 if second < 1 else 3])
        say(fleet, "b", second, layout_of(1), [1, 50 + second, 0])
        if second == 2:
            say(fleet, "c", second, wide, [7] * wide.count)
        advance(fleet, second)
    assert recent(fleet, "b", "watts") == [[50], [51], [52]]


def rows_of(seconds: Sequence[int], values: Sequence[Sequence[int | None]]) -> RowGroup:
    """Stored rows."""
    at = np.array([START + second * SECOND for second in seconds], dtype=np.int64)
    zeros = np.zeros(len(seconds), dtype=np.uint64)
    return RowGroup(
        layout=1,
        sequences=np.array(seconds, dtype=np.int64),
        agent_ns=at,
        boot_ns=at,
        corrected_ns=at,
        received_ns=at,
        unavailable=zeros,
        tenancy=zeros,
        values=np.array([[v or 0 for v in line] for line in values], dtype=np.int64).reshape(len(seconds), 3),
        valid=np.array([[v is not None for v in line] for line in values], dtype=np.bool_).reshape(len(seconds), 3),
    )


def warm(fleet: Fleet, host: str, layout: KnownLayout, rows: RowGroup, now_ns: int) -> None:
    """As a collector that starts does."""
    state, columns = fleet.ensure(host), fleet.window.windowed(layout)
    fleet.recall(state, layout, rows)
    picked = replace(rows, values=rows.values[:, columns], valid=rows.valid[:, columns])
    fleet.warm(state, layout, picked, now_ns)


def test_warming_gives_back_what_a_restart_took() -> None:
    """Stored rows fill the window as if they had been live, and the fleet says what the host said last."""
    live, warmed, layout = fleet_of(), fleet_of(), layout_of(1)
    lines: list[list[int | None]] = [[1, 5, 100], [1, None, 150], [1, 7, 180]]
    for second, line in enumerate(lines):
        say(live, "a", second, layout, line)
        advance(live, second)
    now = START + 2 * SECOND + SECOND // 2
    warm(warmed, "a", layout, rows_of([0, 1], lines[:2]), now)
    warm(warmed, "a", layout, rows_of([2], lines[2:]), now)
    for metric in ("watts", "read_bytes_total"):
        assert recent(warmed, "a", metric) == recent(live, "a", metric)
    assert [value for _, value in warmed.readings(warmed.ensure("a"))] == [1.0, 7.0, 180.0]
    for fleet in (live, warmed):
        say(fleet, "a", 3, layout, [1, 8, 190])
        advance(fleet, 3)
    assert recent(warmed, "a", "watts") == recent(live, "a", "watts")
    assert recent(warmed, "a", "read_bytes_total") == recent(live, "a", "read_bytes_total")


def test_warming_never_overwrites_what_is_live() -> None:
    """Older rows that come late fill only what is unknown, and rows beyond the window are dropped."""
    fleet, layout = fleet_of(), layout_of(1)
    for second in (11, 12):
        say(fleet, "a", second, layout, [1, 90 + second, 0])
        advance(fleet, second)
    rows = rows_of([1, 5, 12], [[1, 1, 0], [1, 5, 0], [1, 12, 0]])
    warm(fleet, "a", layout, rows, START + 12 * SECOND)
    warm(fleet, "a", layout, rows_of([], []), START + 12 * SECOND)
    assert recent(fleet, "a", "watts") == [[5], [101], [102]]
    assert [value for _, value in fleet.readings(fleet.ensure("a"))][1] == 102.0


def test_stored_rows_of_another_layout_match_by_column() -> None:
    """A host that has changed since is warmed with the columns that it still has, whatever their places were."""
    fleet = fleet_of()
    say(fleet, "a", 3, layout_of(3), [1, 13, 23, 33, 400])
    advance(fleet, 3)
    warm(fleet, "a", layout_of(1), rows_of([1, 2], [[1, 11, 100], [1, 12, 150]]), START + 3 * SECOND)
    assert recent(fleet, "a", "watts") == [[11, "?", "?"], [12, "?", "?"], [13, 23, 33]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [50], ["?"]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 6), st.integers(0, 99)), max_size=4),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from([8, 20, 1000]),
    st.sampled_from([1, 1000]),
)
def test_no_row_ever_holds_what_another_column_said(
    moves: list[dict[str, tuple[int, int]]], max_rows: int, large_fleet: int
) -> None:
    """Whatever hosts come, go and change, a line is exactly what the host said in that second, or unknown."""
    fleet = fleet_of(max_rows=max_rows, hold_seconds=0.001, large_fleet=large_fleet)
    said: dict[str, dict[int, list[int]]] = {}
    for second, hosts in enumerate(moves):
        for name in [state.name for state in fleet.hosts() if state.name not in hosts]:
            fleet.remove(name)
            said.pop(name)
        for name, (gpus, base) in hosts.items():
            values = [base + gpu for gpu in range(gpus)]
            fleet.ensure(name).interval_ms = 400
            say(fleet, name, second, layout_of(gpus), [1, *values, base])
            said.setdefault(name, {})[second] = values
        advance(fleet, second)
    for name, lines in said.items():
        times, columns, found = fleet.window.recent(name, "watts")
        for at, line in zip((times // SECOND - START // SECOND).tolist(), found.tolist(), strict=True):
            for column, value in zip(columns, line, strict=True):
                number = int(column.labels[0].removeprefix("GPU-"))
                known = lines.get(at, [])
                if math.isnan(value):
                    waits = max_rows < 1000 or large_fleet < 1000
                    assert waits or at < len(moves) - 1 or number >= len(known)
                else:
                    assert value == known[number]
