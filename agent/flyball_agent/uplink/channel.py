"""The gRPC channel to a collector: its credentials, and how soon a dead peer is detected."""

from pathlib import Path

import grpc
import grpc.aio

from flyball_agent.settings import TlsSettings

METHOD = "/flyball.v1.Telemetry/Connect"

# Every keepalive_time gRPC checks if data has arrived, and sends a ping only if not: a peer that vanished is detected
# within 2 * 6 + 6 seconds. The collector must permit pings this often
# (grpc.http2.min_recv_ping_interval_without_data_ms below 6,000), or it closes the connection with "too many pings".
OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.keepalive_time_ms", 6_000),
    ("grpc.keepalive_timeout_ms", 6_000),
    ("grpc.http2.ping_timeout_ms", 6_000),  # the default of 60 s would override the line above
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.bdp_probe", 0),  # it measures the link with extra pings; an agent sends only a few kilobytes a second
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),  # otherwise a new channel inherits the back-off of the last one
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    ("grpc.service_config", '{"loadBalancingConfig": [{"pick_first": {}}]}'),
)


def open_channel(address: str, tls: TlsSettings, *, compression: bool) -> grpc.aio.Channel:
    """Open a new channel with the certificate files as they are now. Raise OSError if a file cannot be read."""
    codec = grpc.Compression.Gzip if compression else None
    if not tls.ca_file:
        return grpc.aio.insecure_channel(address, options=OPTIONS, compression=codec)
    credentials = grpc.ssl_channel_credentials(
        Path(tls.ca_file).read_bytes(),
        Path(tls.key_file).read_bytes() if tls.key_file else None,
        Path(tls.certificate_file).read_bytes() if tls.certificate_file else None,
    )
    return grpc.aio.secure_channel(address, credentials, options=OPTIONS, compression=codec)
