import math
import subprocess
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import Metric as Family
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from flyball_collector.exporter.escape import label_names
from flyball_collector.exporter.fleet_writer import FleetWriter, page, render_fleet, render_host
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric, counter, gauge, state
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

NOW = 1_700_000_000 * 10**9

GOLDEN = """\
# HELP flyball_agent_up 1 while the host reports.
# TYPE flyball_agent_up gauge
flyball_agent_up{instance="alpha"} 1.0
flyball_agent_up{instance="beta"} 0.0
# HELP flyball_agent_last_report_timestamp_seconds Time at which the newest record arrived, in Unix time.
# TYPE flyball_agent_last_report_timestamp_seconds gauge
flyball_agent_last_report_timestamp_seconds{instance="alpha"} 1699999999.0
flyball_agent_last_report_timestamp_seconds{instance="beta"} 1699999984.0
# HELP flyball_agent_stream_open 1 while the agent is connected to the collector.
# TYPE flyball_agent_stream_open gauge
flyball_agent_stream_open{instance="alpha"} 1.0
# HELP flyball_duplicate_host 1 while two machines use this host name.
# TYPE flyball_duplicate_host gauge
flyball_duplicate_host{instance="alpha"} 0.0
# HELP flyball_agent_backlog_bytes Size of the records in the agent's spool that are not sent yet.
# TYPE flyball_agent_backlog_bytes gauge
flyball_agent_backlog_bytes{instance="alpha"} 0.0
# HELP flyball_clock_skew_seconds The host's wall clock minus the collector's wall clock.
# TYPE flyball_clock_skew_seconds gauge
flyball_clock_skew_seconds{instance="alpha"} -0.25
# HELP flyball_agent_info Always 1. Its label is the agent's version.
# TYPE flyball_agent_info gauge
flyball_agent_info{instance="alpha",version="0.1.0"} 1
# HELP flyball_host_info Always 1. Its labels describe the machine and its operating system.
# TYPE flyball_host_info gauge
flyball_host_info{instance="alpha",kernel="6.1"} 1
# HELP flyball_gpu_info Always 1. Its labels describe a GPU; join on the label gpu.
# TYPE flyball_gpu_info gauge
flyball_gpu_info{instance="alpha",driver="570",gpu="GPU-1",index="0",model="H100"} 1
# HELP flyball_probe_unavailable Always 1. Its labels name a probe with unavailable readings, and the reason.
# TYPE flyball_probe_unavailable gauge
flyball_probe_unavailable{instance="alpha",probe="power",reason="denied"} 1
# HELP flyball_host_run_info Always 1. Its labels name a run on the host and its user.
# TYPE flyball_host_run_info gauge
flyball_host_run_info{instance="alpha",run="r1",user="ann"} 1
# HELP flyball_gpu_run_info Always 1. Its labels name a GPU and a run whose processes hold it; join on the label gpu.
# TYPE flyball_gpu_run_info gauge
flyball_gpu_run_info{instance="alpha",gpu="GPU-1",run="r1",user="ann"} 1
# HELP flyball_gpu_process_memory_used_bytes GPU memory that a process holds.
# TYPE flyball_gpu_process_memory_used_bytes gauge
flyball_gpu_process_memory_used_bytes{instance="alpha",gpu="GPU-1",pid="42",rank="0",run="r1",user="ann"} 1024.0
# HELP flyball_run_step The number of the last step that a rank completed.
# TYPE flyball_run_step gauge
flyball_run_step{instance="alpha",rank="0",run="r1"} 7.0
# HELP flyball_run_steps_total Steps reported by a rank.
# TYPE flyball_run_steps_total counter
flyball_run_steps_total{instance="alpha",rank="0",run="r1"} 2.0
# HELP flyball_run_step_seconds_total Total duration of the reported steps.
# TYPE flyball_run_step_seconds_total counter
flyball_run_step_seconds_total{instance="alpha",rank="0",run="r1"} 0.5
# HELP flyball_run_allocated_peak_bytes Most memory that the tensors of a rank held on its device, by its report.
# TYPE flyball_run_allocated_peak_bytes gauge
flyball_run_allocated_peak_bytes{instance="alpha",rank="0",run="r1"} 4096.0
# HELP flyball_gpu_carrier Link. States: 0 down, 1 up.
# TYPE flyball_gpu_carrier gauge
flyball_gpu_carrier{instance="alpha",gpu="GPU-1"} 1.0
# HELP flyball_gpu_power_watts Draw.
# TYPE flyball_gpu_power_watts gauge
flyball_gpu_power_watts{instance="alpha",gpu="GPU-1"} 312.5
# HELP flyball_read_bytes_total Read.
# TYPE flyball_read_bytes_total counter
flyball_read_bytes_total{instance="alpha"} 1000000000000.0
"""

POWER = gauge("gpu_power_watts", "watts", "Draw.", ("gpu",), 10)
READ = counter("read_bytes_total", "bytes", "Read.")
CARRIER = state("gpu_carrier", "Link.", ("down", "up"), ("gpu",))


def apply(
    fleet: Fleet, host: str, columns: Iterable[Column], values: list[int | None], age: float = 1, extras: bytes = b""
) -> None:
    """Apply one tick of a host."""
    layout = KnownLayout(Layout(tuple(columns)))
    known = np.array([value is not None for value in values], dtype=np.bool_)
    packed = np.array([value or 0 for value in values], dtype=np.int64)
    received = NOW - int(age * 1e9)
    sequence = fleet.ensure(host).sequence + 1
    fleet.apply(Tick(host, bytes(16), sequence, layout, packed, known, 1, 1, received, received, 0, 0, extras, True))


def small_fleet() -> Fleet:
    fleet = Fleet()
    extras = pb.Record(
        steps=[pb.StepReport(run="r1", step=7, steps=2, step_seconds=0.5, allocated_peak_bytes=4096)],
        gpu_processes=[pb.GpuProcess(gpu="GPU-1", pid=42, memory_used_bytes=1024)],
    ).SerializeToString()
    columns = [Column(POWER, ("GPU-1",)), Column(POWER, ("GPU-2",)), Column(READ), Column(CARRIER, ("GPU-1",))]
    alpha = fleet.ensure("alpha")
    alpha.tenancy = pb.Tenancy(members=[pb.Member(pid=42, run="r1", rank=0, user="ann", gpus=["GPU-1"])])
    alpha.inventory = pb.Inventory(
        kernel="6.1", gpus=[pb.Gpu(uuid="GPU-1", index=0, model="H100", driver_version="570")]
    )
    alpha.unavailable = (
        UnavailableReading("power", "", "", Reason.DENIED),
        UnavailableReading("power", "cpu_power_watts", "", Reason.DENIED),
    )
    alpha.agent_version, alpha.connected, alpha.clock_skew_seconds = "0.1.0", True, -0.25
    apply(fleet, "alpha", columns, [3125, None, 10**12, 1], extras=extras)
    apply(fleet, "beta", columns, [1, 1, 1, 1], age=16)
    return fleet


def parsed(body: bytes, format_: ExpositionFormat) -> list[Family]:
    parse = parse_openmetrics if format_ is ExpositionFormat.OPENMETRICS else parse_text
    return list(parse(body.decode()))


def samples_of(families: Iterable[Family]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample by name and labels; a repeated one is an error."""
    result: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in families:
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in result
            result[key] = sample.value
    return result


def test_the_page_of_a_small_fleet() -> None:
    """The whole page: a host that does not report keeps only `up` and its last report; unknown readings are absent."""
    assert render_fleet(small_fleet().snapshot(NOW), ExpositionFormat.TEXT, NOW).decode() == GOLDEN


def test_openmetrics_names_counters_without_total_and_ends() -> None:
    """In OpenMetrics a counter's family has no `_total`, its samples have, and the page ends with EOF."""
    body = render_fleet(small_fleet().snapshot(NOW), ExpositionFormat.OPENMETRICS, NOW)
    assert b"# TYPE flyball_read_bytes counter\nflyball_read_bytes_total{" in body
    assert body.endswith(b"\n# EOF\n")


@pytest.mark.parametrize("format_", list(ExpositionFormat))
def test_both_formats_have_the_same_samples(format_: ExpositionFormat) -> None:
    """prometheus-client reads the same samples from either page."""
    snapshot = small_fleet().snapshot(NOW)
    found = samples_of(parsed(render_fleet(snapshot, format_, NOW), format_))
    assert found == samples_of(parse_text(GOLDEN))


def test_runs_of_a_host_are_those_of_processes_and_of_reports() -> None:
    """A run that only reports steps has no user; a run that has left the host has no series any more."""
    fleet, writer = small_fleet(), FleetWriter()
    other = pb.Record(steps=[pb.StepReport(run="r2", step=1, steps=1)]).SerializeToString()
    apply(fleet, "alpha", [Column(READ)], [10], extras=other)
    body = page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT)
    assert b'flyball_host_run_info{instance="alpha",run="r2"} 1\n' in body
    assert b'flyball_host_run_info{instance="alpha",run="r1",user="ann"} 1\n' in body
    fleet.ensure("alpha").tenancy = pb.Tenancy()
    body = page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT)
    assert b"flyball_gpu_run_info" not in body
    assert b'flyball_host_run_info{instance="alpha",run="r1"} 1\n' in body, "it still reports steps"


def test_promtool_accepts_the_page() -> None:
    """`promtool check metrics` reports nothing."""
    body = render_fleet(small_fleet().snapshot(NOW), ExpositionFormat.TEXT, NOW)
    checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_the_page_of_one_host_has_no_instance() -> None:
    """The scrape of a target adds `instance`; an unknown host has no page."""
    fleet = small_fleet()
    body = render_host(fleet.snapshot(NOW, ["alpha"]), "alpha", ExpositionFormat.TEXT, NOW)
    assert body is not None
    assert body.decode() == "".join(
        line.replace('{instance="alpha"}', "").replace('instance="alpha",', "") + "\n"
        for line in GOLDEN.splitlines()
        if 'instance="beta"' not in line
    )
    assert render_host(fleet.snapshot(NOW, ["gamma"]), "gamma", ExpositionFormat.TEXT, NOW) is None


def test_a_fleet_without_hosts_is_an_empty_page() -> None:
    """It is still a valid page."""
    snapshot = Fleet().snapshot(NOW)
    assert render_fleet(snapshot, ExpositionFormat.OPENMETRICS, NOW) == b"# EOF\n"
    assert parsed(render_fleet(snapshot, ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT) == []


def test_the_first_declaration_of_a_name_is_kept() -> None:
    """Others are left out and counted, also if their host sorts first; later one of them replaces it."""
    fleet, writer = Fleet(), FleetWriter()
    apply(fleet, "b", [Column(gauge("speed", "hertz", "One."))], [1])
    list(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW))
    apply(fleet, "a", [Column(counter("speed", "hertz", "Two.")), Column(gauge("speed", "bytes", "Three."))], [2, 3])
    body = page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT)
    assert b'flyball_speed{instance="b"} 1.0' in body
    assert b"flyball_speed_total" not in body
    assert b'flyball_speed{instance="a"}' not in body
    assert writer.conflicting == 2
    fleet.remove("b")
    body = page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT)
    assert b'flyball_speed_total{instance="a"} 2.0' in body
    assert writer.conflicting == 1


def test_hosts_cannot_use_reserved_names() -> None:
    """A host cannot declare names of the collector's or the exporter's metrics."""
    fleet, writer = Fleet(), FleetWriter()
    metrics = [gauge("collector_records_total", "x", "X."), gauge("agent_up", "x", "X."), gauge("run_steps", "x", "X.")]
    apply(fleet, "a", map(Column, metrics), [7, 7, 7])
    body = page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT)
    assert b" 7.0" not in body
    assert writer.conflicting == 3


def test_states_that_a_newer_agent_added_do_not_conflict() -> None:
    """Two versions that agree on their common states share the name."""
    fleet = Fleet()
    apply(fleet, "a", [Column(state("link", "L.", ("down", "up")))], [1])
    apply(fleet, "b", [Column(state("link", "L.", ("down", "up", "degraded")))], [2])
    apply(fleet, "c", [Column(state("link", "L.", ("up", "down")))], [1])
    found = samples_of(parsed(render_fleet(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT))
    assert {dict(labels)["instance"] for name, labels in found if name == "flyball_link"} == {"a", "b"}


def test_labels_of_hosts_cannot_override_instance_or_job() -> None:
    """Reserved and repeated label names are prefixed, as Prometheus does."""
    assert label_names(["instance", "job", "gpu", "gpu", "exported_job"]) == (
        "exported_instance",
        "exported_job",
        "gpu",
        "exported_gpu",
        "exported_exported_job",
    )


def test_a_rendering_follows_the_fleet() -> None:
    """New readings, removed hosts, changed layouts and inventories are visible in the next rendering."""
    fleet, writer = small_fleet(), FleetWriter()
    assert (
        page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT).decode() == GOLDEN
    )
    apply(fleet, "alpha", [Column(POWER, ("GPU-9",))], [10])
    fleet.ensure("alpha").inventory = pb.Inventory(kernel="6.2")
    fleet.ensure("alpha").unavailable = ()
    fleet.ensure("alpha").tenancy = None
    fleet.remove("beta")
    body = page(writer.render(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW), ExpositionFormat.TEXT)
    assert body == render_fleet(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW)
    assert b'gpu="GPU-9"} 1.0' in body
    assert b'kernel="6.2"' in body
    assert not any(gone in body for gone in (b"beta", b'GPU-1"', b"6.1", b"probe_unavailable"))


def test_series_without_a_layout_are_limited() -> None:
    """Thousands of unavailable readings, processes or ranks of one host give a limited number of series."""
    fleet = Fleet()
    fleet.ensure("a").unavailable = tuple(UnavailableReading(f"p{i}", "", "", Reason.FAILED) for i in range(5000))
    processes = [pb.GpuProcess(gpu="g", pid=i, memory_used_bytes=1) for i in range(5000)]
    calls = [pb.CallReport(service=f"s{i}", count=1) for i in range(32)]
    steps = [pb.StepReport(run=f"r{i}", steps=1, calls=calls) for i in range(5000)]
    apply(fleet, "a", [], [], extras=pb.Record(gpu_processes=processes, steps=steps).SerializeToString())
    body = render_fleet(fleet.snapshot(NOW), ExpositionFormat.TEXT, NOW)
    assert [
        body.count(name) for name in (b"\nflyball_probe_unavailable{", b"\nflyball_gpu_process_memory_used_bytes{")
    ] == [
        64,
        128,
    ]
    assert body.count(b"\nflyball_run_steps_total{") == 256
    assert body.count(b"\nflyball_run_calls_total{") == 256


def test_calls_and_the_time_of_the_device_are_series_of_a_rank() -> None:
    """Each service has its calls, their time and errors; both pages of the worker process and of this one have them."""
    calls = [pb.CallReport(service="kato", count=3, seconds=0.5, errors=1), pb.CallReport(service='a"\n', count=1)]
    report = pb.StepReport(run="r1", rank=2, steps=1, step_seconds=1.0, device_seconds=0.75, calls=calls)
    fleet = Fleet()
    apply(fleet, "alpha", [], [], extras=pb.Record(steps=[report]).SerializeToString())
    for format_ in ExpositionFormat:
        samples = samples_of(parsed(render_fleet(fleet.snapshot(NOW), format_, NOW), format_))
        of_rank = (("instance", "alpha"), ("rank", "2"), ("run", "r1"))
        assert samples["flyball_run_device_busy_seconds_total", of_rank] == 0.75
        for name, value in (("calls", 3.0), ("call_seconds", 0.5), ("call_errors", 1.0)):
            assert samples[f"flyball_run_{name}_total", (*of_rank, ("service", "kato"))] == value
        assert samples["flyball_run_calls_total", (*of_rank, ("service", 'a"\n'))] == 1.0


HOSTILE = st.text(st.one_of(st.characters(), st.sampled_from('\\"\n\r\t\0{},=# é\x85\u2028\ud800')), max_size=12)
NAMES = st.sampled_from(["a", "b", "a_total", "b_total", "a_created", "b_info", "agent_up", "collector_x", "c_bucket"])
METRICS = st.builds(
    Metric,
    NAMES,
    st.sampled_from(Kind),
    st.sampled_from(["", "bytes"]),
    HOSTILE,
    st.lists(st.sampled_from(["instance", "job", "le", "gpu", "x", "quantile"]), max_size=3).map(tuple),
    st.sampled_from([1, 1000]),
    st.lists(HOSTILE, max_size=2).map(tuple),
)
VALUES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))


@st.composite
def columns_and_values(draw: st.DrawFn) -> list[tuple[Column, int | None]]:
    """Draw a layout with values, as hostile as the wire allows."""
    metrics = draw(st.lists(METRICS, min_size=1, max_size=4))
    columns = []
    for metric in draw(st.lists(st.sampled_from(metrics), max_size=6)):
        labels = draw(st.tuples(*[HOSTILE] * len(metric.labels)))
        columns.append((Column(metric, labels), draw(VALUES)))
    return columns


@settings(max_examples=60, deadline=None)
@given(st.lists(columns_and_values(), min_size=1, max_size=3), HOSTILE)
def test_any_page_can_be_parsed(hosts: list[list[tuple[Column, int | None]]], version: str) -> None:
    """Both formats parse, agree, repeat no series, and have only values of the hosts."""
    fleet = Fleet()
    for number, columns in enumerate(hosts):
        # the wire refuses surrogates, so they are removed before the digest is computed
        clean = [
            (Column(_encodable(c.metric), tuple(map(_without_surrogates, c.labels))), value) for c, value in columns
        ]
        fleet.ensure(f"host {number}").agent_version = version
        apply(fleet, f"host {number}", [c for c, _ in clean], [value for _, value in clean])
    pages = {format_: render_fleet(fleet.snapshot(NOW), format_, NOW) for format_ in ExpositionFormat}
    samples = {format_: samples_of(parsed(body, format_)) for format_, body in pages.items()}
    assert samples[ExpositionFormat.TEXT] == samples[ExpositionFormat.OPENMETRICS]
    text = samples[ExpositionFormat.TEXT]
    possible = {v / c.metric.scale for columns in hosts for c, v in columns if v is not None}
    builtin = {0.0, 1.0, NOW / 1e9 - 1}
    assert all(value in possible | builtin and math.isfinite(value) for value in text.values())


@given(HOSTILE.filter(lambda text: text.isprintable() or "\n" in text))
def test_label_values_are_restored(text: str) -> None:
    """A label value is parsed unchanged, except for control characters, which become the replacement character."""
    fleet = Fleet()
    text = _without_surrogates(text)
    apply(fleet, "a", [Column(POWER, (text,))], [10])
    expected = "".join(
        "\N{REPLACEMENT CHARACTER}" if (ch < " " and ch not in "\n\t") or ch == "\x7f" else ch for ch in text
    )
    for format_ in ExpositionFormat:
        found = samples_of(parsed(render_fleet(fleet.snapshot(NOW), format_, NOW), format_))
        ((_, labels),) = [key for key in found if key[0] == "flyball_gpu_power_watts"]
        assert dict(labels).get("gpu", "") == expected


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "ignore").decode()


def _encodable(metric: Metric) -> Metric:
    clean = _without_surrogates
    return Metric(
        metric.name,
        metric.kind,
        metric.unit,
        clean(metric.help),
        metric.labels,
        metric.scale,
        tuple(map(clean, metric.states)),
    )
