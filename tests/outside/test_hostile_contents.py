"""A host with a valid certificate sends what no agent would: it gets a status, and nobody else notices."""

import re
import secrets
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from flyball_proto.layout import digest
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.judge import last_sequence
from tests.outside.agent_messages import hello, layout, records
from tests.outside.door import SecuredCollector
from tests.outside.doors import Door
from tests.outside.raw_stream import RawStream
from tests.processes import wait_for
from tests.raw_agent import LAYOUT, RawAgent, definition, record

HOST = "hostile"
_REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.FAILED_PRECONDITION,
}
_ANSWER_SECONDS = 5.0  # a busy machine; the event loop must not be blocked by one message
_MEMORY_BYTES = 100e6


@pytest.fixture(autouse=True)
def _undisturbed(secured: SecuredCollector) -> Iterator[None]:
    """A well-behaved host reports after each test, and the collector has not grown much."""
    before = secured.resident_bytes()
    with RawAgent(secured.grpc_port, "honest", credentials=secured.credentials("honest")).open() as agent:
        agent.send_records([0])
        yield
        agent.send_records([1])
        wait_for("the honest host reports", lambda: last_sequence(secured, "honest") == 1)
    assert secured.resident_bytes() - before < _MEMORY_BYTES


@pytest.fixture
def stream(secured: SecuredCollector) -> Iterator[RawStream]:
    """An open stream of the hostile host, which has been welcomed."""
    with closing(Door(secured).channel(HOST)) as channel, RawStream(channel) as opened:
        opened.send(hello(HOST, EPOCH))
        opened.wait_welcome()
        yield opened


EPOCH = secrets.token_bytes(16)


def _slowest_answer(secured: SecuredCollector, seconds: float) -> float:
    slowest, deadline = 0.0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        started = time.monotonic()
        secured.get("/healthz")
        slowest = max(slowest, time.monotonic() - started)
        time.sleep(0.02)
    return slowest


def _assert_goes_on_or_refused(stream: RawStream) -> None:
    """Assert that the stream answers a further hello, or has ended with a status that blames the sender."""
    stream.send(hello(HOST, EPOCH))
    try:
        stream.wait_welcome()
    except grpc.RpcError as error:
        assert error.code() in _REFUSALS, error  # noqa: PT017  both outcomes are right


def _definition(
    kind: pb.Definition.Kind.ValueType, message: pb.Layout | pb.UnavailableReadings | pb.Tenancy
) -> pb.AgentMessage:
    body = message.SerializeToString()
    return pb.AgentMessage(definition=pb.Definition(kind=kind, digest=digest(body), body=body))


def _crowded_record(**fields: object) -> pb.AgentMessage:
    sent = record(EPOCH, 0)
    sent.MergeFrom(pb.Record(**fields))  # type: ignore[arg-type]
    return pb.AgentMessage(records=pb.Records(epoch=EPOCH, records=[sent.SerializeToString()]))


MILLION = 1_000_000
_METRIC = pb.Metric(name="hostile_total", kind=pb.Metric.COUNTER, unit="bytes", help="Nothing.", scale=1)
_CROWDS: dict[str, Callable[[], pb.AgentMessage]] = {
    "columns": lambda: _definition(pb.Definition.LAYOUT, pb.Layout(metrics=[_METRIC], columns=[pb.Column()] * MILLION)),
    "metrics": lambda: _definition(pb.Definition.LAYOUT, pb.Layout(metrics=[pb.Metric()] * MILLION)),
    "labels": lambda: _definition(pb.Definition.LAYOUT, pb.Layout(metrics=[pb.Metric(labels=[""] * MILLION)])),
    "unavailable readings": lambda: _definition(
        pb.Definition.UNAVAILABLE, pb.UnavailableReadings(unavailable=[pb.UnavailableReading()] * MILLION)
    ),
    "processes": lambda: _definition(pb.Definition.TENANCY, pb.Tenancy(members=[pb.Member()] * MILLION)),
    "records": lambda: pb.AgentMessage(records=pb.Records(epoch=EPOCH, records=[b""] * MILLION)),
    "replayed records": lambda: pb.AgentMessage(records=pb.Records(epoch=EPOCH, records=[b""] * MILLION, replay=True)),
    "lost ranges": lambda: pb.AgentMessage(
        lost=pb.Lost(epoch=EPOCH, ranges=[pb.Range(first=2, next=1)] * (MILLION // 2))
    ),
    "step reports": lambda: _crowded_record(steps=[pb.StepReport()] * MILLION),
    "host events": lambda: _crowded_record(events=[pb.HostEvent()] * MILLION),
    "GPU processes": lambda: _crowded_record(gpu_processes=[pb.GpuProcess()] * MILLION),
    "disks": lambda: pb.AgentMessage(inventory=pb.Inventory(disks=[pb.Disk()] * MILLION)),
    "GPUs": lambda: pb.AgentMessage(inventory=pb.Inventory(gpus=[pb.Gpu()] * MILLION)),
}


@pytest.mark.parametrize("crowd", _CROWDS.values(), ids=_CROWDS.keys())
def test_a_million_of_anything_blocks_nobody(
    secured: SecuredCollector, stream: RawStream, crowd: Callable[[], pb.AgentMessage]
) -> None:
    """A million empty parts fit into a message of 2 MB: it is refused, or handled while others are answered."""
    body = crowd().SerializeToString()
    assert len(body) < 4 * 2**20
    stream.send(layout(), body)
    assert _slowest_answer(secured, 0.3) < _ANSWER_SECONDS
    _assert_goes_on_or_refused(stream)


_TEXTS = (
    'a"} 1\nflyball_injected 1\n#',
    "\x00\x01\x1b[31mred\x7f",
    "</script><script>alert(1)</script>",
    "\u2028\u202e\ufeff",
    "\\",
    '"',
    "\r\nSet-Cookie: a=b\r\n\r\n",
    "# EOF",
)


def test_a_label_cannot_inject_anything_into_metrics(secured: SecuredCollector, stream: RawStream) -> None:
    """Each value of a label appears as the value of that label; control characters are replaced."""
    metric = pb.Metric(name="hostile_state", unit="state", help=f"Help {_TEXTS[0]}", labels=["thing"], scale=1)
    columns = [pb.Column(metric=0, labels=[text]) for text in _TEXTS]
    message = _definition(pb.Definition.LAYOUT, pb.Layout(metrics=[metric], columns=columns))
    now, layout_digest = time.time_ns(), message.definition.digest
    sent = pb.Record(sequence=_next(), time_ns=now, boot_ns=now, layout=layout_digest, values=bytes(8 * len(columns)))
    batch = pb.Records(epoch=EPOCH, records=[sent.SerializeToString()])
    stream.send(message.SerializeToString(), pb.AgentMessage(records=batch).SerializeToString(), hello(HOST, EPOCH))
    stream.wait_welcome()
    page = wait_for("the series are shown", lambda: _page_with(secured, "flyball_hostile_state"))
    assert "\nflyball_injected" not in page
    values = {
        sample.labels["thing"]
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "flyball_hostile_state"
    }
    assert values == {re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", "\N{REPLACEMENT CHARACTER}", text) for text in _TEXTS}
    assert "\x1b" not in secured.log.read_text(errors="replace")


def _page_with(secured: SecuredCollector, name: str) -> str | None:
    """Return the page of metrics if it contains a name; renderings are shared for a second."""
    with urllib.request.urlopen(f"{secured.url}/metrics", timeout=10) as answer:
        page = str(answer.read().decode())
    return page if name in page else None


_sequences = iter(range(1_000, 100_000))


def _next() -> int:
    return next(_sequences)


@pytest.mark.parametrize("time_ns", [-(2**63), -1, 0, 1, 2**62, 2**63 - 1])
def test_times_far_away_disturb_nothing(secured: SecuredCollector, stream: RawStream, time_ns: int) -> None:
    """Records from the beginning and the end of time are refused or kept; the host's pages still answer."""
    stream.send(layout())
    odd = record(EPOCH, _next(), time_ns=1)
    odd.time_ns = odd.boot_ns = time_ns
    message = pb.AgentMessage(records=pb.Records(epoch=EPOCH, records=[odd.SerializeToString()]), sent_boot_ns=time_ns)
    message.echo.collector_sent_ns = message.echo.agent_received_boot_ns = time_ns
    stream.send(message.SerializeToString(), hello(HOST, EPOCH))
    stream.wait_welcome()
    for path in ("", "/latest", "/series?metric=test_number_total"):
        assert secured.get(f"/api/v1/hosts/{HOST}{path}") is not None


@pytest.mark.parametrize("sequence", [2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_jumps_of_the_sequence_are_bounded(secured: SecuredCollector, stream: RawStream, sequence: int) -> None:
    """A record with an impossible sequence is refused or ends the stream; the gap before it costs nothing."""
    stream.send(layout(), records(EPOCH, [sequence]))
    refused = pb.AgentMessage(lost=pb.Lost(epoch=EPOCH, ranges=[pb.Range(first=0, next=sequence)], reason="jump"))
    stream.send(refused.SerializeToString())
    assert _slowest_answer(secured, 0.5) < _ANSWER_SECONDS
    _assert_goes_on_or_refused(stream)
    assert secured.get(f"/api/v1/hosts/{HOST}/latest")["sequence"] != sequence


@pytest.mark.parametrize("count", [4_097, 60_000])
def test_too_many_epochs_are_refused(secured: SecuredCollector, count: int) -> None:
    """A hello with more epochs than an agent's spool can have is refused with the limit."""
    epochs = [pb.SpooledEpoch(epoch=pb.Epoch(id=n.to_bytes(16), interval_ms=1000)) for n in range(count)]
    message = pb.AgentMessage(hello=pb.Hello(host=HOST, agent_version="0.1.0", protocol=99, epochs=epochs))
    with closing(Door(secured).channel(HOST)) as channel, RawStream(channel) as opened:
        opened.send(message.SerializeToString())
        assert _slowest_answer(secured, 0.5) < _ANSWER_SECONDS
        assert opened.wait_refused() in _REFUSALS


def test_a_huge_inventory_is_bounded(secured: SecuredCollector, stream: RawStream) -> None:
    """Ten thousand devices with long names are refused, or shown without blocking others."""
    disks = [pb.Disk(device=f"sd{n}", model="<b>" * 50, kind="ssd", bytes=2**63) for n in range(10_000)]
    stream.send(pb.AgentMessage(inventory=pb.Inventory(disks=disks)).SerializeToString())
    assert _slowest_answer(secured, 1.0) < _ANSWER_SECONDS
    assert secured.get(f"/api/v1/hosts/{HOST}") is not None


def test_odd_step_reports_and_events_are_survived(secured: SecuredCollector, stream: RawStream) -> None:
    """Infinite durations, unknown kinds and long texts end the stream or are kept; the API still answers."""
    report = pb.StepReport(
        run="r" * 300, rank=2**32 - 1, world_size=0, step=2**64 - 1, steps=2**32 - 1, step_seconds=float("inf")
    )
    report.loss, report.tokens, report.data_wait_seconds = float("nan"), -1e308, float("-inf")
    report.section_seconds["\x1b[2J"] = float("nan")
    event = pb.HostEvent(
        kind="gpu_xid", time_ns=-(2**63), resource="\x1b]0;owned\x07", code=-(2**63), text="\x00" * 50_000
    )
    sent = record(EPOCH, _next())
    sent.steps.append(report)
    sent.events.append(event)
    batch = pb.Records(epoch=EPOCH, records=[sent.SerializeToString()])
    stream.send(layout(), pb.AgentMessage(records=batch).SerializeToString())
    time.sleep(1.2)  # a pass of the diagnosis
    for path in (f"/api/v1/hosts/{HOST}", f"/api/v1/hosts/{HOST}/latest", "/api/v1/hosts", "/api/v1/events"):
        assert secured.get(path) is not None
    assert "\x1b" not in secured.log.read_text(errors="replace")


_VALID = (
    hello(HOST, EPOCH),
    layout(),
    records(EPOCH, range(3)),
    pb.AgentMessage(lost=pb.Lost(epoch=EPOCH, ranges=[pb.Range(first=5, next=9)], reason="full")).SerializeToString(),
    pb.AgentMessage(inventory=pb.Inventory(operating_system="Debian", memory_bytes=2**33)).SerializeToString(),
    pb.AgentMessage(definition=definition(LAYOUT)).SerializeToString(),
)


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """Change some bytes of a valid message, cut it, or repeat a part of it."""
    message = bytearray(draw(st.sampled_from(_VALID)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(message)))
        kind = draw(st.sampled_from(("change", "insert", "cut", "repeat")))
        if kind == "change":
            message[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
        elif kind == "insert":
            message[at:at] = draw(st.binary(max_size=12))
        elif kind == "cut":
            del message[at : at + draw(st.integers(1, 40))]
        else:
            message[at:at] = message[at : at + draw(st.integers(1, 40))]
    return bytes(message)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(_mutated(), min_size=1, max_size=12))
def test_mutated_messages_end_in_a_status_of_the_client(secured: SecuredCollector, sent: list[bytes]) -> None:
    """Whatever bytes come, the stream goes on or ends with a status that blames the sender, never INTERNAL."""
    with closing(Door(secured).channel(HOST)) as channel, RawStream(channel) as opened:
        opened.send(hello(HOST, EPOCH))
        opened.wait_welcome()
        opened.send(*sent)
        _assert_goes_on_or_refused(opened)
