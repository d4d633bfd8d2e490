"""The parts of a machine's profile.

An unknown value is None (or an empty tuple where there may be several). The profile has the reason under the path of
the value, such as `memory.kind` or `gpus.0.power_limit_watts`. Sizes are bytes; rates are MB/s or GB/s of 10⁶ or 10⁹
bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

GIB = 2**30


class HostTier(StrEnum):
    """The class of a machine; `tiers.py` has the rule."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    SERVER = "SERVER"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNumaNode:
    """A NUMA node: its CPUs as a list of Linux (`0-15,32-47`), and its memory."""

    node: int
    cpus: str = ""
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProcessor:
    """The processor, and how much of it this process may use."""

    model: str | None = None
    vendor: str | None = None
    architecture: str | None = None
    """Such as x86_64 or aarch64."""
    sockets: int | None = None
    physical_cores: int | None = None
    logical_cpus: int | None = None
    usable_cpus: float | None = None
    """CPUs by affinity and by the quota of the control group, whichever is less."""
    base_mhz: float | None = None
    max_mhz: float | None = None
    simd: tuple[str, ...] = ()
    """Families of instructions, such as AVX2, AVX-512, AMX, NEON, SVE."""
    features: tuple[str, ...] = ()
    """The kernel's flags behind `simd`, such as avx512_bf16."""
    numa_nodes: tuple[HostNumaNode, ...] = ()
    governor: str | None = None
    """The frequency governor of the first CPU: performance, powersave, schedutil …"""
    last_level_cache_bytes: int | None = None
    tdp_watts: float | None = None
    """The sustained limit of all sockets."""
    tdp_source: str | None = None
    """`rapl` if the processor reports it, `catalogue` if it is the vendor's figure for the model: an estimate."""
    catalogue_name: str | None = None
    """The name in `flyball hardware`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """The memory, and how much of it this process may use."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    """What programs can still take without swapping: of the machine, or of the control group's limit."""
    limit_bytes: int | None = None
    """The limit of the control group; None without one."""
    kind: str | None = None
    """Such as DDR4, DDR5, LPDDR5."""
    mega_transfers_per_second: float | None = None
    modules: int | None = None
    ecc: bool | None = None
    corrected_errors: int | None = None
    uncorrected_errors: int | None = None
    shared_memory_bytes: int | None = None
    """The size of /dev/shm, through which data loader workers pass batches."""
    shared_memory_free_bytes: int | None = None
    huge_pages: str | None = None
    """Transparent huge pages: always, madvise or never."""
    swappiness: int | None = None

    @property
    def usable_bytes(self) -> int | None:
        """Return the memory that this process may use in total."""
        known = [each for each in (self.total_bytes, self.limit_bytes) if each]
        return min(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSwap:
    """One area of swap."""

    device: str
    kind: str
    """zram, partition or file."""
    bytes: int
    used_bytes: int | None = None
    disk: str | None = None
    """The disk that it is on; None for zram."""
    disk_kind: str | None = None
    """memory (zram), nvme, ssd, hdd, virtual or network."""
    mb_per_second: float | None = None
    speed_is_estimate: bool = True
    """True if the speed is typical of the kind of disk; False if it was measured on this disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDisk:
    """One disk. Its kind is nvme, ssd, hdd or virtual."""

    device: str
    model: str | None = None
    kind: str | None = None
    bytes: int | None = None
    mounts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingFolder:
    """The folder in which a training would run, and the file system that holds it."""

    path: str
    mount: str | None = None
    file_system: str | None = None
    """Such as ext4, xfs, overlay, nfs4."""
    device: str | None = None
    kind: str | None = None
    """nvme, ssd, hdd, virtual, network or memory."""
    bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGpu:
    """One accelerator of this machine."""

    index: int
    uuid: str | None = None
    vendor: str | None = None
    """nvidia, amd, intel or apple."""
    model: str | None = None
    catalogue_name: str | None = None
    """The name in `flyball hardware`, which plans and configurations use."""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    driver_version: str | None = None
    precisions: Mapping[str, bool] = field(default_factory=dict)
    """fp32, tf32, fp16, bf16, fp8, fp4 and int8: True if the tensor cores (or the shaders) compute with it."""
    precisions_source: str | None = None
    """`driver` (by compute capability) or `catalogue`."""
    power_watts: float | None = None
    """The power that it draws now."""
    power_limit_watts: float | None = None
    power_limit_default_watts: float | None = None
    power_limit_max_watts: float | None = None
    tdp_watts: float | None = None
    tdp_source: str | None = None
    """`driver` (its default limit) or `catalogue`: an estimate."""
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    temperature_celsius: float | None = None
    slowdown_celsius: float | None = None
    """The core temperature at which its clocks begin to fall."""
    throttle_reasons: tuple[str, ...] = ()
    pcie_generation: int | None = None
    """The generation in use; it falls while the card is idle."""
    pcie_generation_max: int | None = None
    """The highest that card and slot both support."""
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_width_card: int | None = None
    """The lanes that the card itself has, by sysfs; a narrower link comes from the slot."""
    nvlinks: int | None = None
    numa_node: int | None = None
    mig_enabled: bool | None = None
    persistence_mode: bool | None = None
    ecc_enabled: bool | None = None
    uncorrected_errors: int | None = None
    pages_pending: bool | None = None
    """True if a page or row waits for a reset of the card."""
    retired_pages: int | None = None
    """Retired pages, or remapped rows since Ampere."""
    unified_memory: bool = False
    """True if it shares the memory of the processor, as on Apple Silicon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNetwork:
    """One network interface or InfiniBand port."""

    device: str
    kind: str | None = None
    """ethernet, infiniband, wireless, bridge or virtual."""
    megabits_per_second: float | None = None
    mtu_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSoftware:
    """Systems, drivers and libraries. Packages are looked up, not imported."""

    operating_system: str | None = None
    kernel: str | None = None
    python_version: str | None = None
    nvidia_driver: str | None = None
    cuda_version: str | None = None
    """The newest version that the NVIDIA driver supports."""
    torch_build: str | None = None
    """What the installed PyTorch was built for, such as `cuda 12.8`, `rocm 6.4` or `cpu`."""
    rocm_version: str | None = None
    metal: str | None = None
    """Such as `Metal (macOS 15.1)`."""
    opencl: tuple[str, ...] = ()
    """The libraries of the installed OpenCL platforms."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of torch, transformers, pymongo and others that are installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPower:
    """The supply, and the power that the parts may draw."""

    source: str | None = None
    """mains or battery."""
    battery_percent: float | None = None
    supply_watts: float | None = None
    """The rated power of the supplies, where the firmware states it."""
    supplies: int | None = None
    drawn_watts: float | None = None
    """The power of the whole machine now, by its management controller (DCMI)."""
    tdp_watts: float | None = None
    """Processors and GPUs together; None if one of them is unknown."""
    tdp_is_estimate: bool = True
    """True if any part of it comes from the catalogue instead of the hardware."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTemperature:
    """One sensor of the machine (not of the GPUs)."""

    name: str
    celsius: float
    critical_celsius: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLimits:
    """Limits of the container and of this process; None: no limit."""

    runtime: str | None = None
    """docker, podman, kubernetes, lxc, slurm …"""
    virtualization: str | None = None
    """kvm, vmware, xen …"""
    cpus: float | None = None
    memory_bytes: int | None = None
    tasks: int | None = None
    open_files: int | None = None
    processes: int | None = None
    locked_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MongoSpeed:
    """MongoDB: 1,000 documents inserted in one call, found one by one, and single inserts."""

    server: str
    version: str | None = None
    documents: int
    inserts_per_second: float
    """Documents per second, inserted in one call."""
    single_inserts_per_second: float
    """Documents per second, one call each."""
    queries_per_second: float
    """Documents found by their indexed key, one call each."""
    insert_latency_ms: float
    """The mean time of a single insert."""
    query_latency_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpeed:
    """The disk of one folder."""

    path: str
    bytes: int
    """The size of the file."""
    write_mb_per_second: float
    read_mb_per_second: float | None = None
    random_reads_per_second: float | None = None
    random_writes_per_second: float | None = None
    direct: bool
    """True if the page cache was bypassed (O_DIRECT); False if it was flushed and dropped instead."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySpeed:
    """Memory bandwidth, counting bytes read and bytes written."""

    copy_gb_per_second: float
    triad_gb_per_second: float
    threads: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorSpeed:
    """Rates at which the CPUs compute."""

    matmul_gflops: float
    """Matrix products in fp32 by numpy, on all usable CPUs."""
    threads: int
    python_patterns_per_second: float
    """Chunks of 15 tokens hashed and counted in a dictionary, by one process in pure Python, per second of CPU time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpeed:
    """Round trips and downloads."""

    localhost_ms: float | None = None
    service: str | None = None
    service_ms: float | None = None
    download: str | None = None
    download_mb_per_second: float | None = None
    download_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpeed:
    """Rates at which one GPU computes and copies."""

    index: int
    model: str | None = None
    matmul_tflops: Mapping[str, float] = field(default_factory=dict)
    """By precision."""
    host_to_device_gb_per_second: float | None = None
    """From page-locked memory, as of a data loader with pin_memory."""
    pageable_to_device_gb_per_second: float | None = None
    """From usual memory, which the driver copies twice."""
    device_to_host_gb_per_second: float | None = None
    device_memory_gb_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBenchmarks:
    """The measured speeds. A benchmark that failed is None, with its reason in the profile's `unavailable`."""

    mongo: MongoSpeed | None = None
    disk: DiskSpeed | None = None
    memory: MemorySpeed | None = None
    processor: ProcessorSpeed | None = None
    network: NetworkSpeed | None = None
    gpus: tuple[GpuSpeed, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long each benchmark took."""
