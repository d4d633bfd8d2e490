"""gRPC's own client for Python (its C core) gets from the collector what it gets from gRPC's own server."""

import itertools
import secrets
import time
from contextlib import closing, suppress

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.outside.agent_messages import hello, large_records, layout, of_a_later_version, records
from tests.outside.door import SecuredCollector
from tests.outside.doors import Door
from tests.outside.raw_stream import SECONDS, RawStream
from tests.processes import Collector, free_port, wait_for
from tests.proxy import Proxy
from tests.stored import read_stored

_numbers = itertools.count()


@pytest.fixture(params=["tls", "plaintext"])
def door(request: pytest.FixtureRequest, secured: SecuredCollector, plain: Collector) -> Door:
    """Each test runs with TLS and without."""
    return Door(secured if request.param == "tls" else plain)


@pytest.fixture
def host() -> str:
    """A host that no other test uses."""
    return f"grpcio-{next(_numbers)}"


def _check(channel: grpc.Channel, **options: object) -> int:
    return int(HealthStub(channel).Check(HealthCheckRequest(), timeout=SECONDS, **options).status)


@pytest.mark.parametrize(
    "compression", [grpc.Compression.Gzip, grpc.Compression.Deflate, grpc.Compression.NoCompression]
)
def test_compressed_records_are_stored(door: Door, host: str, compression: grpc.Compression) -> None:
    """Records that a client compresses arrive with their values, whichever of gRPC's methods it uses."""
    epoch = secrets.token_bytes(16)
    with closing(door.channel(host)) as channel, RawStream(channel, compression=compression) as stream:
        stream.send(hello(host, epoch), layout(), records(epoch, range(60)))
        stream.wait(lambda reply: reply.acknowledgement.settled == 60)
    stored = read_stored(door.collector.database, host)[epoch]
    assert sorted(stored.rows.elements()) == list(range(60))
    assert [stored.values[n][0] for n in range(60)] == list(range(60))


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_unary_calls_may_be_compressed(door: Door, host: str, compression: grpc.Compression) -> None:
    """A health check is answered whether its request is compressed or not."""
    with closing(door.channel(host)) as channel:
        request = HealthCheckRequest(service="flyball.v1.Telemetry")
        answer = HealthStub(channel).Check(request, timeout=SECONDS, compression=compression)
    assert answer.status == HealthCheckResponse.SERVING


def test_a_large_message_arrives_and_a_larger_one_ends_only_its_stream(door: Door, host: str) -> None:
    """Just below four mebibytes is accepted; above, the stream ends with the gRPC status, and others go on."""
    epoch = secrets.token_bytes(16)
    greeting = hello(host, epoch)
    with closing(door.channel(host)) as channel, RawStream(channel) as stream:
        stream.send(greeting, large_records(epoch, 4_190_000), greeting)
        stream.wait_welcome()
        stream.wait_welcome()
        stream.send(large_records(epoch, 4_300_000))
        assert stream.wait_refused() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert _check(channel) == HealthCheckResponse.SERVING


@pytest.mark.parametrize(("size", "count", "share"), [(1_500, 1_000, 0.4), (200_000, 100, 0.15)])
def test_one_connection_is_about_as_fast_over_tls(
    secured: SecuredCollector, plain: Collector, host: str, size: int, count: int, share: float
) -> None:
    """Messages on one connection are not held up by TLS: the speed is a good share of that without it."""
    seconds: dict[Collector, list[float]] = {plain: [], secured: []}
    for _ in range(8):  # a busy machine delays some
        for door, found in seconds.items():
            found.append(_seconds(Door(door), host, size, count))
        if min(seconds[plain]) / min(seconds[secured]) >= share:
            return
    raise AssertionError(f"much slower over TLS: {seconds}")


def _seconds(door: Door, host: str, size: int, count: int) -> float:
    """Return how long the collector takes to read some messages on one connection."""
    body, greeting = of_a_later_version(size), hello(host, secrets.token_bytes(16))
    with closing(door.channel(host)) as channel, RawStream(channel) as stream:
        stream.send(greeting)
        stream.wait_welcome()
        started = time.monotonic()
        stream.send(*itertools.repeat(body, count), greeting)
        stream.wait_welcome()
        return time.monotonic() - started


def test_a_deadline_ends_a_call_and_nothing_else(door: Door, host: str) -> None:
    """A call past its deadline is cancelled; the connection serves the next call."""
    with closing(door.channel(host)) as channel:
        for _ in range(10):  # more than the calls that one connection may have open
            with pytest.raises(grpc.RpcError) as late:
                list(HealthStub(channel).Watch(HealthCheckRequest(), timeout=0.1))
            assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert _check(channel) == HealthCheckResponse.SERVING


def test_cancelled_calls_leave_room_for_others(door: Door, host: str) -> None:
    """After forty calls that were cancelled, the same connection serves the next one."""
    with closing(door.channel(host)) as channel:
        for _ in range(40):
            watch = HealthStub(channel).Watch(HealthCheckRequest())
            next(watch)
            watch.cancel()
        assert _check(channel) == HealthCheckResponse.SERVING


def test_more_calls_at_once_than_the_limit_are_served_in_turn(door: Door, host: str) -> None:
    """A client that respects the limit of concurrent calls gets an answer to each of a hundred."""
    with closing(door.channel(host)) as channel:
        calls = [HealthStub(channel).Check.future(HealthCheckRequest(), timeout=SECONDS) for _ in range(100)]
        assert [call.result().status for call in calls] == [HealthCheckResponse.SERVING] * 100


def test_frequent_keepalive_pings_keep_the_connection(door: Door, host: str) -> None:
    """A client that pings each 200 ms, with and without calls, stays connected."""
    options = [("grpc.keepalive_time_ms", 200), ("grpc.keepalive_timeout_ms", 5_000)]
    options += [("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0)]
    states: list[grpc.ChannelConnectivity] = []
    with closing(door.channel(host, options)) as channel:
        assert _check(channel) == HealthCheckResponse.SERVING
        channel.subscribe(states.append)
        time.sleep(1.5)
        assert _check(channel) == HealthCheckResponse.SERVING
    assert set(states) == {grpc.ChannelConnectivity.READY}


def test_a_client_connects_again_after_a_cut(door: Door, host: str) -> None:
    """Calls that wait for a connection succeed after the network has cut it three times."""
    with Proxy(door.collector.grpc_port) as network, closing(door.channel(host, _QUICK, network.port)) as channel:
        for _ in range(3):
            assert _check(channel, wait_for_ready=True) == HealthCheckResponse.SERVING
            network.cut()
            _until_served(channel)


_QUICK = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 200)]


def _until_served(channel: grpc.Channel) -> None:
    """Call until a call is served. Those that the channel still sends over its old connection fail."""

    def served() -> bool:
        with suppress(grpc.RpcError):
            return bool(_check(channel, wait_for_ready=True) == HealthCheckResponse.SERVING)
        return False

    wait_for("a call is served", served)


def test_a_call_without_a_collector_fails_soon_and_does_not_hang(door: Door, host: str) -> None:
    """Without `wait_for_ready`, a port on which nobody listens is reported as unavailable."""
    with closing(door.channel(host, _QUICK, free_port())) as channel, pytest.raises(grpc.RpcError) as failed:
        _check(channel)
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE


def test_large_metadata_is_accepted_up_to_grpcs_own_limit(door: Door, host: str) -> None:
    """Eight kibibytes, gRPC's recommended limit, are accepted; a mebibyte is refused, and the next call is served."""
    with closing(door.channel(host, [("grpc.max_metadata_size", 2**22)])) as channel:
        for value in ("v" * 8_000, "~\x20~" * 2_600):
            assert _check(channel, metadata=[("x-large", value)]) == HealthCheckResponse.SERVING
        assert _check(channel, metadata=[(f"x-{n}", "v" * 50) for n in range(60)]) == HealthCheckResponse.SERVING
        assert _check(channel, metadata=[("x-data-bin", bytes(range(256)) * 16)]) == HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError):
            _check(channel, metadata=[("x-huge", "v" * 2**20)])
        assert _check(channel, wait_for_ready=True) == HealthCheckResponse.SERVING


def test_unknown_methods_and_services_get_the_status_that_grpc_defines(door: Door, host: str) -> None:
    """An unknown method is UNIMPLEMENTED, an unknown service of a health check NOT_FOUND."""
    with closing(door.channel(host)) as channel:
        with pytest.raises(grpc.RpcError) as unknown:
            channel.unary_unary("/flyball.v1.Telemetry/Guess", None, None)(b"", timeout=SECONDS)
        assert unknown.value.code() is grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(grpc.RpcError) as missing:
            HealthStub(channel).Check(HealthCheckRequest(service="flyball.v1.Guess"), timeout=SECONDS)
        assert missing.value.code() is grpc.StatusCode.NOT_FOUND


def test_a_fleet_of_channels_connects_at_once(door: Door, host: str) -> None:
    """Thirty hosts that connect at the same time are all served."""
    channels = [door.channel(f"{host}-{n}") for n in range(30)]
    try:
        calls = [HealthStub(c).Check.future(HealthCheckRequest(), timeout=SECONDS) for c in channels]
        assert all(call.result().status == HealthCheckResponse.SERVING for call in calls)
    finally:
        for channel in channels:
            channel.close()
