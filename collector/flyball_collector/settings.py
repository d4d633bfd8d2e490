"""The collector's settings: every key with its default and meaning. They are validated once, at the start."""

from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.captures.settings import CapturesSettings
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.notify.settings import NotifySettings

FILE = "/etc/flyball/collector.toml"
ENVIRONMENT_PREFIX = "FLYBALL_COLLECTOR_"

Seconds = Annotated[float, Meta(gt=0)]
Hours = Annotated[float, Meta(gt=0)]
Bytes = Annotated[int, Meta(gt=0)]


class GrpcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the gRPC port, to which agents connect."""

    listen: Annotated[str, Meta(description="Address for agents, host:port. Except on loopback, TLS is required.")] = (
        "127.0.0.1:3590"
    )
    ca_file: Annotated[
        str, Meta(description="File with the certificate of the authority that signs the agents' certificates.")
    ] = ""
    certificate_file: Annotated[str, Meta(description="File with the collector's certificate for agents.")] = ""
    key_file: Annotated[str, Meta(description="File with the private key of that certificate.")] = ""
    max_connection_age_seconds: Annotated[
        Seconds,
        Meta(description="Agents must reconnect after this time, so that revoked certificates stop working."),
    ] = 3600.0


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the HTTP port, to which people and Prometheus connect."""

    listen: Annotated[
        str,
        Meta(
            description="Address for people and Prometheus, host:port. Except on loopback, TLS and tokens are required."
        ),
    ] = "127.0.0.1:3591"
    certificate_file: Annotated[
        str, Meta(description="File with the collector's certificate for people and Prometheus.")
    ] = ""
    key_file: Annotated[str, Meta(description="File with the private key of that certificate.")] = ""
    tokens_file: Annotated[
        str,
        Meta(
            description="File with lines `ROLE SHA256-OF-TOKEN NAME`; the role is viewer or operator. Empty: no tokens."
        ),
    ] = ""
    max_body_bytes: Annotated[Bytes, Meta(description="Maximum size of a request body.")] = 1024 * 1024
    connections: Annotated[int, Meta(gt=0, description="Maximum number of open HTTP connections.")] = 512
    connections_per_address: Annotated[
        int,
        Meta(
            gt=0,
            description="Maximum number of open HTTP connections of one IPv4 address or one /64 network of IPv6. "
            "Behind a reverse proxy all connections come from its address: set this to the value of http.connections.",
        ),
    ] = 64


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the store: location and retention."""

    url: Annotated[
        str,
        Meta(description="Place of the store: sqlite:////ABSOLUTE/PATH, sqlite:///PATH, or memory: (lost at exit)."),
    ] = "sqlite:////var/lib/flyball-collector/flyball.db"
    seconds_hours: Annotated[Hours, Meta(description="Retention of 1-second data.")] = 48.0
    minutes_days: Annotated[float, Meta(gt=0, description="Retention of 1-minute data.")] = 30.0
    events_days: Annotated[float, Meta(gt=0, description="Retention of the timeline.")] = 30.0
    max_bytes: Annotated[
        int,
        Meta(
            ge=0, description="Maximum size of the store. Beyond it, the oldest 1-second data is deleted. 0: no limit."
        ),
    ] = 0
    time_limit_seconds: Annotated[
        Seconds, Meta(description="A call to the store that takes longer counts as failed.")
    ] = 30.0


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on what agents may send."""

    hosts: Annotated[int, Meta(gt=0, description="Maximum number of hosts.")] = 4096
    streams: Annotated[
        int,
        Meta(gt=0, description="Maximum number of agents' streams with a valid hello."),
    ] = 8192
    connections_per_name: Annotated[
        int,
        Meta(
            gt=0,
            description="With TLS: maximum number of connections, and of calls, for each name in an agent's "
            "certificate.",
        ),
    ] = 8
    connections_per_address: Annotated[
        int,
        Meta(
            gt=0,
            description=(
                "Without TLS: maximum number of connections, and of calls, of one address. All agents behind a proxy "
                "have the same address."
            ),
        ),
    ] = 4096
    message_bytes: Annotated[Bytes, Meta(description="Maximum size of an agent's message.")] = 4 * 1024 * 1024
    columns: Annotated[int, Meta(gt=0, description="Maximum number of columns (series) in the records of a host.")] = (
        8192
    )
    layouts: Annotated[
        int,
        Meta(
            gt=0,
            description="Maximum number of different layouts, unavailable readings and tenancies of a host in an hour.",
        ),
    ] = 512
    label_bytes: Annotated[int, Meta(gt=0, description="Maximum length of a label value.")] = 256
    records_per_second: Annotated[
        int, Meta(gt=0, description="Maximum rate of live records of one host. Replayed records have a separate limit.")
    ] = 100
    open_blocks_bytes: Annotated[
        Bytes,
        Meta(
            description="Memory for records that are not stored yet. Beyond it, blocks are dropped and requested again."
        ),
    ] = 512 * 1024 * 1024
    replaying_hosts: Annotated[
        int, Meta(gt=0, description="Maximum number of hosts that replay their spool at the same time.")
    ] = 64
    replay_message_bytes: Annotated[Bytes, Meta(description="Maximum size of a message with replayed records.")] = (
        256 * 1024
    )


class CollectorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`/etc/flyball/collector.toml`."""

    send_every_seconds: Annotated[
        float, Meta(ge=0.1, le=60, description="Interval at which agents send their records.")
    ] = 1.0
    not_reporting_after_seconds: Annotated[
        Seconds,
        Meta(description="A host without records for this long is not reporting, and its unfinished block is stored."),
    ] = 10.0
    vanish_after_seconds: Annotated[
        Seconds, Meta(description="A host's series disappear from /metrics this long after its last record.")
    ] = 15.0
    forget_host_hours: Annotated[
        Hours, Meta(description="A host without records for this long is removed from the fleet.")
    ] = 24.0
    insecure: Annotated[
        bool,
        Meta(
            description="Accept connections from other machines without TLS or tokens. Anyone can then send and read."
        ),
    ] = False
    log_level: Annotated[
        str,
        Meta(pattern="^(debug|info|warning|error)$", description="Minimum level of the log lines that are written."),
    ] = "info"
    log_format: Annotated[
        str,
        Meta(
            pattern="^(auto|terminal|json|journal)$",
            description="Format of log lines. auto: journal if standard error goes to the journal, else terminal.",
        ),
    ] = "auto"
    grpc: GrpcSettings = GrpcSettings()
    http: HttpSettings = HttpSettings()
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    diagnosis: DiagnosisSettings = DiagnosisSettings()
    notify: NotifySettings = NotifySettings()
    captures: CapturesSettings = CapturesSettings()
    adjustments: AdjustmentsSettings = AdjustmentsSettings()
