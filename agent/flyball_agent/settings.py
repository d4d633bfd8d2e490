"""The agent's settings: every key, its default and its meaning. They are validated once, at start."""

from typing import Annotated

import msgspec
from msgspec import Meta

FILE = "/etc/flyball/agent.toml"
ENVIRONMENT_PREFIX = "FLYBALL_AGENT_"

Seconds = Annotated[float, Meta(gt=0)]
Bytes = Annotated[int, Meta(ge=0)]


class TlsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files for mutual TLS with the collector. Set all three or none."""

    ca_file: Annotated[
        str, Meta(description="File with the certificate of the authority that signed the collector's certificate.")
    ] = ""
    certificate_file: Annotated[
        str,
        Meta(description="File with the certificate of this host. Its subject alternative name must be the host name."),
    ] = ""
    key_file: Annotated[str, Meta(description="File with the private key of that certificate.")] = ""


class SpoolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The spool, which keeps records until the collector has stored them."""

    max_bytes: Annotated[
        Bytes,
        Meta(description="Maximum size of the spool. Beyond it, the oldest segment file and its records are deleted."),
    ] = 512 * 1024 * 1024
    max_age_hours: Annotated[
        float,
        Meta(gt=0, description="Maximum age of a segment file. Older files and their records are deleted."),
    ] = 48.0
    segment_bytes: Annotated[int, Meta(ge=4096, description="Size at which a new segment file is started.")] = (
        8 * 1024**2
    )
    sync_seconds: Annotated[
        Seconds, Meta(description="Interval at which written records are flushed to the disk (fdatasync).")
    ] = 5.0
    memory_bytes: Annotated[
        Bytes,
        Meta(description="Size of the buffer in memory for records while the disk is full, read-only or hangs."),
    ] = 16 * 1024**2


class ProbeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The probes: which of them run, and their limits."""

    disabled: Annotated[tuple[str, ...], Meta(description="Names of the probes that do not run.")] = ()
    time_limit_seconds: Annotated[
        Seconds,
        Meta(description="Time limit of a probe that may block, for example in a driver. A tick waits no longer."),
    ] = 0.5
    latency_targets: Annotated[
        tuple[str, ...],
        Meta(
            description="Services whose round-trip time is measured: host:port, or http or https URLs. Requests to a "
            "URL separate the network (connecting) from the service (answering)."
        ),
    ] = ()
    filesystems: Annotated[
        tuple[str, ...], Meta(description="Mount points to watch. If empty, all local file systems are watched.")
    ] = ()
    processes: Annotated[
        bool,
        Meta(description="Find out to which user and run each process on a GPU belongs, and what trainings wait for."),
    ] = True
    job_mapping_directory: Annotated[
        str,
        Meta(
            description="Directory in which the prolog of a scheduler writes the jobs of each GPU, as for "
            "dcgm-exporter (DCGM_HPC_JOB_MAPPING_DIR). If empty, none is read."
        ),
    ] = ""
    pod_resources_socket: Annotated[
        str,
        Meta(
            description="Socket of the kubelet, which reports the pods of each GPU. It is read if processes run in "
            "pods. If empty, none is read."
        ),
    ] = "/var/lib/kubelet/pod-resources/kubelet.sock"


class AdjustmentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Adjustments: changes of a running training that the collector offers."""

    enabled: Annotated[
        bool,
        Meta(
            description="Pass offers of the collector to training processes. Each process decides itself, and can only "
            "be offered values that it has declared. The collector needs adjustments.enabled as well."
        ),
    ] = False


class AgentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`/etc/flyball/agent.toml`."""

    host: Annotated[
        str, Meta(description="Name of this host in the fleet. If empty, the host name of the system is used.")
    ] = ""
    collector: Annotated[
        tuple[str, ...],
        Meta(description="Addresses of collectors, each host:port. If there are several, they are tried in order."),
    ] = ("127.0.0.1:3590",)
    interval_seconds: Annotated[float, Meta(ge=0.1, le=60, description="Time between two samples (ticks).")] = 1.0
    state_directory: Annotated[
        str,
        Meta(description="Directory of the spool: the buffer on disk for records that the collector has not stored."),
    ] = "/var/lib/flyball-agent"
    socket_path: Annotated[
        str, Meta(description="Path of the Unix socket for training processes. If empty, no socket is opened.")
    ] = "/run/flyball-agent/agent.sock"
    max_reconnect_backoff_seconds: Annotated[
        Seconds, Meta(description="Longest wait between two attempts to connect.")
    ] = 10.0
    compression: Annotated[
        bool, Meta(description="Compress messages to the collector with gzip. Useful on links slower than 10 Mbit/s.")
    ] = False
    root: Annotated[
        str,
        Meta(
            description="Root of the host's file system. In a container, the folder at which it is mounted, such as "
            "/host. File systems, /dev/shm, host name and inventory of the host are read below it."
        ),
    ] = "/"
    proc_root: Annotated[
        str, Meta(description="Mount point of the host's procfs. If empty, it is the folder proc below root.")
    ] = ""
    sys_root: Annotated[
        str, Meta(description="Mount point of the host's sysfs. If empty, it is the folder sys below root.")
    ] = ""
    nvml_library: Annotated[
        str, Meta(description="Path of libnvidia-ml.so.1. If empty, the dynamic loader searches for it.")
    ] = ""
    captures: Annotated[
        bool,
        Meta(
            description="Carry out captures that the collector orders: stacks, traces and memory of training "
            "processes. They have names of functions and files, and no values of variables."
        ),
    ] = True
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
    tls: TlsSettings = TlsSettings()
    spool: SpoolSettings = SpoolSettings()
    probes: ProbeSettings = ProbeSettings()
    adjustments: AdjustmentSettings = AdjustmentSettings()

    def __post_init__(self) -> None:
        for name, folder in (("proc_root", "proc"), ("sys_root", "sys")):
            if not getattr(self, name):
                msgspec.structs.force_setattr(self, name, f"{self.root.rstrip('/')}/{folder}")


def interval_ms(settings: AgentSettings) -> int:
    """Return the sampling interval in milliseconds."""
    return round(settings.interval_seconds * 1000)
