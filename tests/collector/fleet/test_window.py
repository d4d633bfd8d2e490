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
OTHER = gauge("other", "things", "A metric without a window.")


def fleet_of(**options: float) -> Fleet:
    window = Window(("watts", "read_bytes_total"), seconds=10, **options)  # type: ignore[arg-type]
    return Fleet(window=window)


def layout_of(gpus: int, *, read: bool = True) -> KnownLayout:
    columns = [Column(OTHER), *(Column(WATTS, (f"GPU-{i}",)) for i in range(gpus)), *([Column(READ)] if read else [])]
    return KnownLayout(Layout(tuple(columns)))


def apply(fleet: Fleet, host: str, second: int, layout: KnownLayout, values: Sequence[int | None]) -> None:
    known = np.array([value is not None for value in values], dtype=np.bool_)
    packed = np.array([value or 0 for value in values], dtype=np.int64)
    at = START + second * SECOND
    fleet.apply(Tick(host, bytes(16), second, layout, packed, known, at, at, at, at + SECOND // 5, 0, 0, b"", True))


def advance(fleet: Fleet, second: int) -> bool:
    return fleet.advance(START + second * SECOND + SECOND // 2)


def recent(fleet: Fleet, host: str, metric: str) -> list[list[float | str]]:
    """Return readable rows; `?` is unknown."""
    _, _, values = fleet.window.recent(host, metric)
    return [["?" if math.isnan(value) else round(value, 6) for value in line] for line in values.tolist()]


def test_gauges_are_kept_and_counters_become_rates() -> None:
    """A gauge is kept as it is; a counter becomes its increase a second, unknown at first and over a reset."""
    fleet, layout = fleet_of(), layout_of(2)
    for second, read in enumerate([1000, 1500, 3500, 100, 400]):
        apply(fleet, "a", second, layout, [1, 10 * second, None, read])
        assert advance(fleet, second)
    assert recent(fleet, "a", "watts") == [[0, "?"], [10, "?"], [20, "?"], [30, "?"], [40, "?"]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [500], [2000], ["?"], [300]]
    times, columns, _ = fleet.window.recent("a", "watts")
    assert (times // SECOND - START // SECOND).tolist() == [0, 1, 2, 3, 4]
    assert [column.labels for column in columns] == [("GPU-0",), ("GPU-1",)]


def test_only_the_window_metrics_have_a_window() -> None:
    """Other metrics and unknown hosts give nothing."""
    fleet = fleet_of()
    apply(fleet, "a", 0, layout_of(1), [1, 2, 3])
    advance(fleet, 0)
    assert recent(fleet, "a", "other") == [[]]
    assert recent(fleet, "nobody", "watts") == [[]]


def test_a_second_is_written_once() -> None:
    """A second pass in it changes nothing; the window waits for a clock that steps back a little."""
    fleet, layout = fleet_of(), layout_of(1)
    apply(fleet, "a", 7, layout, [1, 70, 0])
    assert advance(fleet, 7)
    assert not advance(fleet, 7)
    assert not advance(fleet, 4)
    assert recent(fleet, "a", "watts") == [[70]]
    assert advance(fleet, -3600)
    assert len(fleet.window.recent("a", "watts")[0]) == 1


def test_a_host_that_arrives_within_a_written_second_is_unknown() -> None:
    """`alive` matches the hosts even if a second is processed twice."""
    fleet, layout = fleet_of(), layout_of(1)
    apply(fleet, "b", 0, layout, [1, 10, 100])
    assert advance(fleet, 0)
    apply(fleet, "a", 0, layout, [1, 10, 100])
    assert not advance(fleet, 0)
    assert [state.name for state in fleet.window.states] == ["a", "b"]
    assert fleet.window.alive.tolist() == [False, True]


def test_a_late_record_keeps_the_last_values() -> None:
    """Between two records a reading and a rate stay for `hold_seconds`; then they are unknown."""
    fleet, layout = fleet_of(), layout_of(1)
    apply(fleet, "a", 0, layout, [1, 5, 0])
    advance(fleet, 0)
    apply(fleet, "a", 1, layout, [1, 6, 100])
    for second in range(1, 6):
        advance(fleet, second)
    assert recent(fleet, "a", "watts") == [[5], [6], [6], [6], ["?"], ["?"]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [100], [100], [100], ["?"], ["?"]]


def test_a_rate_spans_missed_records_but_not_a_gap() -> None:
    """The increase is divided by the time between the records; over `gap_seconds` there is no rate."""
    fleet, layout = fleet_of(gap_seconds=4), layout_of(0)
    for second, read in [(0, 0), (3, 300), (8, 1000), (9, 1005)]:
        apply(fleet, "a", second, layout, [1, read])
        advance(fleet, second)
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [100], ["?"], [5]]


def test_skipped_seconds_are_left_out() -> None:
    """A stalled pass leaves no line, and old lines leave the window."""
    fleet, layout = fleet_of(), layout_of(1)
    for second in (0, 1, 8, 12):
        apply(fleet, "a", second, layout, [1, second, 0])
        advance(fleet, second)
    assert recent(fleet, "a", "watts") == [[8], [12]]
    assert fleet.window.take(fleet.window.select("watts").index, seconds=3)[1].tolist() == [[12]]


def test_a_column_keeps_its_history_across_layouts() -> None:
    """A GPU that is added or removed makes a new layout; the other columns keep their history and rates."""
    fleet = fleet_of()
    apply(fleet, "a", 0, layout_of(2), [1, 10, 20, 100])
    advance(fleet, 0)
    apply(fleet, "a", 1, layout_of(3), [1, 11, 21, 31, 150])
    advance(fleet, 1)
    apply(fleet, "a", 2, layout_of(1), [1, 12, 160])
    advance(fleet, 2)
    assert recent(fleet, "a", "watts") == [[10], [11], [12]]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [50], [10]]


def test_select_returns_the_owner_of_each_row() -> None:
    """The rows of a metric over the fleet, with their hosts and resources, index the matrix of time × row."""
    fleet = fleet_of()
    for second in (0, 1):
        apply(fleet, "b", second, layout_of(1), [1, 30 + second, 0])
        apply(fleet, "a", second, layout_of(2), [1, 10 + second, 20 + second, 0])
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
    """Beyond the limit a host has no window until another one is removed."""
    fleet = fleet_of(max_rows=5)
    for name in ("a", "b"):
        apply(fleet, name, 0, layout_of(2), [1, 2, 3, 4])
    advance(fleet, 0)
    assert (recent(fleet, "a", "watts"), recent(fleet, "b", "watts")) == ([[2, 3]], [[]])
    fleet.remove("a")
    apply(fleet, "b", 1, layout_of(2), [1, 2, 3, 4])
    advance(fleet, 1)
    assert recent(fleet, "b", "watts") == [["?", "?"], [2, 3]]


def test_many_new_hosts_get_rows_over_several_passes() -> None:
    """Hosts beyond the number of one pass wait for the next, also if they change their layout meanwhile."""
    fleet = fleet_of(max_rows=3000)
    for second, gpus in enumerate([3, 2, 2, 2]):
        for number in range(150):
            apply(fleet, f"host-{number:03d}", second, layout_of(gpus), [1, *[number + second] * gpus, 0])
        advance(fleet, second)
    assert [len(fleet.window.recent(f"host-{number:03d}", "watts")[1]) for number in (0, 75, 149)] == [2, 2, 2]
    assert recent(fleet, "host-000", "watts")[-1] == [3, 3]
    assert recent(fleet, "host-149", "watts")[-1] == [152, 152]
    assert fleet.window.rows == 450


def test_new_hosts_of_a_large_fleet_are_admitted_together() -> None:
    """While one arrives each second all wait, at most fifteen seconds; two seconds after the last all are admitted."""
    fleet, layout, admissions = fleet_of(large_fleet=2), layout_of(1), []
    for second in range(24):
        for number in range(min(second + 1, 20)):
            apply(fleet, f"host-{number:02d}", second, layout, [1, 10 * second + number, 100 * second])
        advance(fleet, second)
        admissions.append((fleet.window.admissions, len(fleet.window.states)))
    assert admissions == [(1, 1), *[(2, 2)] * 15, *[(3, 17)] * 5, *[(4, 20)] * 3]
    assert recent(fleet, "host-06", "watts") == [*[["?"]] * 2, *[[10 * second + 6] for second in range(16, 24)]]
    assert recent(fleet, "host-06", "read_bytes_total")[-7:] == [[100]] * 7


def test_a_new_layout_in_a_large_fleet_is_unknown_until_it_is_admitted() -> None:
    """Old positions are not used for its readings; rates continue over the gap."""
    fleet, alive = fleet_of(large_fleet=2), []
    for second in range(9):
        layout = layout_of(2 if second < 3 else 4)
        gpus = len(layout.layout.columns) - 2
        apply(fleet, "a", second, layout, [1, *[10 * second + gpu for gpu in range(gpus)], 100 * second])
        apply(fleet, "b", second, layout_of(1), [1, 5, 0])
        advance(fleet, second)
        alive.append(fleet.window.alive.tolist())
    assert alive == [*[[True, True]] * 3, *[[False, True]] * 2, *[[True, True]] * 4]
    known = [[0, 1, "?", "?"], [10, 11, "?", "?"], [20, 21, "?", "?"]]
    assert recent(fleet, "a", "watts")[:5] == [*known, *[["?"] * 4] * 2]
    assert recent(fleet, "a", "watts")[5:] == [[10 * second + gpu for gpu in range(4)] for second in range(5, 9)]
    assert recent(fleet, "a", "read_bytes_total") == [["?"], [100], [100], ["?"], ["?"], *[[100]] * 4]


def test_a_host_removed_from_a_large_fleet_is_gone_at_once() -> None:
    """It does not stay until the next admission."""
    fleet, layout = fleet_of(large_fleet=2), layout_of(1)
    for name in "abc":
        apply(fleet, name, 0, layout, [1, 10, 0])
    advance(fleet, 0)
    fleet.remove("b")
    advance(fleet, 1)
    assert [state.name for state in fleet.window.states] == ["a", "c"]
    assert fleet.window.rows == 4


def test_a_moved_host_of_a_large_fleet_is_read_from_its_new_position() -> None:
    """A new host for which there is no space moves the others at once, whenever the last admission was."""
    fleet, wide = fleet_of(large_fleet=2), layout_of(300)
    for second in range(3):
        apply(fleet, "a", second, layout_of(2 if second < 1 else 1), [1, 2, 3, 4][: 4 if second < 1 else 3])
        apply(fleet, "b", second, layout_of(1), [1, 50 + second, 0])
        if second == 2:
            apply(fleet, "c", second, wide, [7] * wide.count)
        advance(fleet, second)
    assert recent(fleet, "b", "watts") == [[50], [51], [52]]


def rows_of(seconds: Sequence[int], values: Sequence[Sequence[int | None]]) -> RowGroup:
    """Return stored rows."""
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
    """Do what a collector does at its start."""
    state, columns = fleet.ensure(host), fleet.window.window_columns(layout)
    fleet.restore(state, layout, rows)
    picked = replace(rows, values=rows.values[:, columns], valid=rows.valid[:, columns])
    fleet.warm_window(state, layout, picked, now_ns)


def test_warming_restores_the_window_after_a_restart() -> None:
    """Stored rows fill the window as if they had been live, and the fleet has the newest readings."""
    live, restored, layout = fleet_of(), fleet_of(), layout_of(1)
    lines: list[list[int | None]] = [[1, 5, 100], [1, None, 150], [1, 7, 180]]
    for second, line in enumerate(lines):
        apply(live, "a", second, layout, line)
        advance(live, second)
    now = START + 2 * SECOND + SECOND // 2
    warm(restored, "a", layout, rows_of([0, 1], lines[:2]), now)
    warm(restored, "a", layout, rows_of([2], lines[2:]), now)
    for metric in ("watts", "read_bytes_total"):
        assert recent(restored, "a", metric) == recent(live, "a", metric)
    assert [value for _, value in restored.readings(restored.ensure("a"))] == [1.0, 7.0, 180.0]
    for fleet in (live, restored):
        apply(fleet, "a", 3, layout, [1, 8, 190])
        advance(fleet, 3)
    assert recent(restored, "a", "watts") == recent(live, "a", "watts")
    assert recent(restored, "a", "read_bytes_total") == recent(live, "a", "read_bytes_total")


def test_warming_never_overwrites_live_values() -> None:
    """Older rows that arrive late fill only unknown values, and rows beyond the window are dropped."""
    fleet, layout = fleet_of(), layout_of(1)
    for second in (11, 12):
        apply(fleet, "a", second, layout, [1, 90 + second, 0])
        advance(fleet, second)
    rows = rows_of([1, 5, 12], [[1, 1, 0], [1, 5, 0], [1, 12, 0]])
    warm(fleet, "a", layout, rows, START + 12 * SECOND)
    warm(fleet, "a", layout, rows_of([], []), START + 12 * SECOND)
    assert recent(fleet, "a", "watts") == [[5], [101], [102]]
    assert [value for _, value in fleet.readings(fleet.ensure("a"))][1] == 102.0


def test_stored_rows_of_another_layout_are_matched_by_column() -> None:
    """A host whose layout has changed gets the columns that it still has, whatever their positions were."""
    fleet = fleet_of()
    apply(fleet, "a", 3, layout_of(3), [1, 13, 23, 33, 400])
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
def test_no_row_ever_holds_values_of_another_column(
    moves: list[dict[str, tuple[int, int]]], max_rows: int, large_fleet: int
) -> None:
    """Whatever hosts come, go and change, a line has exactly the host's values of that second, or unknown ones."""
    fleet = fleet_of(max_rows=max_rows, hold_seconds=0.001, large_fleet=large_fleet)
    values_of: dict[str, dict[int, list[int]]] = {}
    for second, hosts in enumerate(moves):
        for name in [state.name for state in fleet.hosts() if state.name not in hosts]:
            fleet.remove(name)
            values_of.pop(name)
        for name, (gpus, base) in hosts.items():
            values = [base + gpu for gpu in range(gpus)]
            fleet.ensure(name).interval_ms = 400
            apply(fleet, name, second, layout_of(gpus), [1, *values, base])
            values_of.setdefault(name, {})[second] = values
        advance(fleet, second)
    for name, lines in values_of.items():
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
