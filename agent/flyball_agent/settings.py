"""The agent's settings: every key, its default and what it means. Validated once, at start."""

from typing import Annotated

import msgspec
from msgspec import Meta

FILE = "/etc/flyball/agent.toml"
ENVIRONMENT_PREFIX = "FLYBALL_AGENT_"

Seconds = Annotated[float, Meta(gt=0)]
Bytes = Annotated[int, Meta(ge=0)]


class TlsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who the agent is to the collector. All three files or none."""

    ca_file: Annotated[str, Meta(description="Certificate authority that signed the collector's certificate.")] = ""
    certificate_file: Annotated[str, Meta(description="This host's certificate; its SAN is the host name.")] = ""
    key_file: Annotated[str, Meta(description="The certificate's private key.")] = ""


class SpoolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the agent keeps until the collector has it safe."""

    max_bytes: Annotated[Bytes, Meta(description="The oldest segment is dropped, and declared lost, beyond this.")] = (
        512 * 1024 * 1024
    )
    max_age_hours: Annotated[float, Meta(gt=0, description="Older segments are dropped and declared lost.")] = 48.0
    segment_bytes: Annotated[int, Meta(ge=4096, description="Size at which a new segment file begins.")] = 8 * 1024**2
    sync_seconds: Annotated[Seconds, Meta(description="How often written records are forced to the disk.")] = 5.0
    memory_bytes: Annotated[
        Bytes, Meta(description="Size of the ring that stands in while the disk is full or read-only.")
    ] = 16 * 1024**2


class ProbeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is read, and how patiently."""

    disabled: Annotated[tuple[str, ...], Meta(description="Names of probes that must not run.")] = ()
    time_limit_seconds: Annotated[
        Seconds, Meta(description="A blocking probe that takes longer is left behind for this tick.")
    ] = 0.5
    latency_targets: Annotated[
        tuple[str, ...], Meta(description="host:port or http(s) URLs whose round trip is measured.")
    ] = ()
    filesystems: Annotated[
        tuple[str, ...], Meta(description="Mount points whose space is watched; empty: every local one.")
    ] = ()
    processes: Annotated[bool, Meta(description="Attribute GPU processes to users and runs.")] = True


class AgentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`/etc/flyball/agent.toml`."""

    host: Annotated[str, Meta(description="Name of this host in the fleet; empty: the kernel's host name.")] = ""
    collector: Annotated[
        tuple[str, ...], Meta(description="host:port of the collector; more than one: tried in turn.")
    ] = ("127.0.0.1:3590",)
    interval_seconds: Annotated[float, Meta(ge=0.1, le=60, description="Time between two ticks.")] = 1.0
    state_directory: Annotated[str, Meta(description="Where the spool lives.")] = "/var/lib/flyball-agent"
    socket_path: Annotated[str, Meta(description="Unix socket for training processes; empty: none.")] = (
        "/run/flyball-agent/agent.sock"
    )
    max_reconnect_backoff_seconds: Annotated[Seconds, Meta(description="Longest wait between two attempts.")] = 10.0
    compression: Annotated[bool, Meta(description="gzip on the stream; for links slower than 10 Mbit/s.")] = False
    proc_root: Annotated[str, Meta(description="Where procfs is mounted (a container sees the host's here).")] = "/proc"
    sys_root: Annotated[str, Meta(description="Where sysfs is mounted.")] = "/sys"
    nvml_library: Annotated[str, Meta(description="Path of libnvidia-ml.so.1; empty: the loader's choice.")] = ""
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$", description="Least level logged.")] = "info"
    log_format: Annotated[
        str,
        Meta(pattern="^(auto|terminal|json|journal)$", description="auto: journal under systemd, else by terminal."),
    ] = "auto"
    tls: TlsSettings = TlsSettings()
    spool: SpoolSettings = SpoolSettings()
    probes: ProbeSettings = ProbeSettings()
