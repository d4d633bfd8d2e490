"""The collector's settings: every key, its default and what it means. Validated once, at start."""

from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.notify.settings import NotifySettings

FILE = "/etc/flyball/collector.toml"
ENVIRONMENT_PREFIX = "FLYBALL_COLLECTOR_"

Seconds = Annotated[float, Meta(gt=0)]
Hours = Annotated[float, Meta(gt=0)]
Bytes = Annotated[int, Meta(gt=0)]


class GrpcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where agents connect."""

    listen: Annotated[str, Meta(description="host:port. Beyond loopback TLS is required.")] = "127.0.0.1:3590"
    ca_file: Annotated[str, Meta(description="Authority that signs agents' certificates.")] = ""
    certificate_file: Annotated[str, Meta(description="The collector's certificate.")] = ""
    key_file: Annotated[str, Meta(description="Its private key.")] = ""
    max_connection_age_seconds: Annotated[
        Seconds, Meta(description="Streams are ended and reopened after this, so that a revoked certificate stops.")
    ] = 3600.0


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where people and Prometheus connect."""

    listen: Annotated[str, Meta(description="host:port. Beyond loopback TLS and tokens are required.")] = (
        "127.0.0.1:3591"
    )
    certificate_file: Annotated[str, Meta(description="Certificate of the HTTP side.")] = ""
    key_file: Annotated[str, Meta(description="Its private key.")] = ""
    tokens_file: Annotated[
        str, Meta(description="Lines of `ROLE SHA256-OF-TOKEN NAME`; roles are viewer and operator. Empty: no tokens.")
    ] = ""
    max_body_bytes: Annotated[Bytes, Meta(description="Largest request body.")] = 1024 * 1024


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept, where and for how long."""

    url: Annotated[str, Meta(description="sqlite:////ABSOLUTE/PATH, sqlite:///PATH, or memory: (lost at the end).")] = (
        "sqlite:////var/lib/flyball-collector/flyball.db"
    )
    seconds_hours: Annotated[Hours, Meta(description="How long 1-second data is kept.")] = 48.0
    minutes_days: Annotated[float, Meta(gt=0, description="How long 1-minute data is kept.")] = 30.0
    events_days: Annotated[float, Meta(gt=0, description="How long the timeline of events is kept.")] = 30.0
    max_bytes: Annotated[
        int, Meta(ge=0, description="1-second data is dropped first, oldest first, beyond this; 0: no limit.")
    ] = 0
    time_limit_seconds: Annotated[
        Seconds, Meta(description="A call to the store that takes longer counts as failed.")
    ] = 30.0


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much anybody may ask of the collector."""

    hosts: Annotated[int, Meta(gt=0, description="Hosts in the fleet; one more is refused.")] = 4096
    streams: Annotated[int, Meta(gt=0, description="Open agent streams, superseded ones included.")] = 8192
    message_bytes: Annotated[Bytes, Meta(description="Largest message of an agent.")] = 4 * 1024 * 1024
    columns: Annotated[int, Meta(gt=0, description="Columns of one layout.")] = 8192
    layouts: Annotated[
        int, Meta(gt=0, description="Different layouts, unavailable readings and tenancies a host may define an hour.")
    ] = 512
    label_bytes: Annotated[int, Meta(gt=0, description="Length of one label value.")] = 256
    records_per_second: Annotated[int, Meta(gt=0, description="Live records of one host; replay is granted apart.")] = (
        100
    )
    open_blocks_bytes: Annotated[
        Bytes, Meta(description="Memory for records not yet stored; beyond it blocks are dropped and asked for again.")
    ] = 512 * 1024 * 1024
    replaying_hosts: Annotated[int, Meta(gt=0, description="Hosts that may send their spool at once.")] = 64
    replay_message_bytes: Annotated[Bytes, Meta(description="Size of messages that agents are asked to keep to.")] = (
        256 * 1024
    )


class CollectorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`/etc/flyball/collector.toml`."""

    send_every_seconds: Annotated[float, Meta(ge=0.1, le=60, description="How often agents send.")] = 1.0
    not_reporting_after_seconds: Annotated[
        Seconds, Meta(description="A host this silent has its open block written at once.")
    ] = 10.0
    vanish_after_seconds: Annotated[
        Seconds, Meta(description="Its series leave /metrics this long after the last record.")
    ] = 15.0
    forget_host_hours: Annotated[Hours, Meta(description="A host this long unheard of leaves the fleet.")] = 24.0
    insecure: Annotated[
        bool, Meta(description="Listen beyond loopback without TLS and authentication. Anybody may then send and read.")
    ] = False
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$", description="Least level logged.")] = "info"
    log_format: Annotated[
        str,
        Meta(pattern="^(auto|terminal|json|journal)$", description="auto: journal under systemd, else by terminal."),
    ] = "auto"
    grpc: GrpcSettings = GrpcSettings()
    http: HttpSettings = HttpSettings()
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    diagnosis: DiagnosisSettings = DiagnosisSettings()
    notify: NotifySettings = NotifySettings()
