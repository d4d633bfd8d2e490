"""Series of hosts: lines assembled from shared parts equal lines made one by one."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.escape import label_names, label_value
from flyball_collector.exporter.host_series import HostSeries, MetricCache
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.snapshot import HostView
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric, counter, gauge

NAMES = st.lists(st.sampled_from(["instance", "job", "gpu", "exported_gpu", "device"]), max_size=3).map(tuple)
METRICS = st.builds(
    Metric, st.sampled_from(["a", "b", "a_total"]), st.sampled_from(Kind), st.just(""), st.just(""), NAMES
)
VALUES = st.sampled_from(["", "0", 'a "b"', "back\\slash", "line\nfeed", "é", "\x00"])


@st.composite
def columns(draw: st.DrawFn) -> tuple[Column, ...]:
    """Draw a layout in which metrics and labels repeat."""
    metrics = draw(st.lists(METRICS, min_size=1, max_size=4))
    chosen = draw(st.lists(st.sampled_from(metrics), max_size=8))
    return tuple(Column(metric, draw(st.tuples(*[VALUES] * len(metric.labels)))) for metric in chosen)


def view_of(layout: tuple[Column, ...], name: str = "h") -> HostView:
    fleet = Fleet()
    fleet.ensure(name).layout = KnownLayout(Layout(layout))
    return fleet.snapshot(1).hosts[0]


def plain_prefix(column: Column, instance: str) -> bytes:
    """Return a line up to its value, made in one step."""
    pairs = sorted(zip(label_names(column.metric.labels), column.labels, strict=True))
    shown = [f'{name}="{label_value(value)}"' for name, value in [("instance", instance), *pairs] if value]
    labels = f"{{{','.join(shown)}}}" if shown else ""
    return f"\n{sample_name(column.metric)}{labels} ".encode()


@given(columns(), st.sampled_from(["", "h", 'h "1"']))
def test_lines_equal_those_made_one_by_one(layout: tuple[Column, ...], instance: str) -> None:
    """Each line is there once, at the position of its first column; the others are counted."""
    readings = HostSeries(instance, MetricCache()).readings(view_of(layout))
    lines = [plain_prefix(column, instance) for column in layout]
    assert readings.prefixes == list(dict.fromkeys(lines))
    assert readings.offsets == [lines.index(line) for line in readings.prefixes]
    assert readings.repeated == len(lines) - len(readings.prefixes)
    assert [d.name for d in readings.declarations] == [
        sample_name(layout[offset].metric) for offset in readings.offsets
    ]


def test_equal_declarations_of_two_hosts_are_one_object() -> None:
    """Families are distinguished by identity, also if two hosts' metrics are different objects."""
    cache = MetricCache()
    first, second = (
        HostSeries(name, cache).readings(view_of((Column(gauge("load", "tasks", help_)),)))
        for name, help_ in (("a", "Load."), ("b", "Load of the host."))
    )
    assert first.declarations[0] is second.declarations[0]


def test_a_cache_drops_unused_metrics() -> None:
    """A metric that no host has any more is removed; a used one stays the same object."""
    cache = MetricCache()
    load, gone = gauge("load", "tasks", "Load."), counter("gone_total", "tasks", "Gone.")
    words = cache.entry(load), cache.entry(gone)
    readings = HostSeries("a", cache).readings(view_of((Column(load),)))
    cache.keep_only([readings])
    assert cache.entry(load) is words[0]
    assert cache.entry(gone) is not words[1]
