"""Settings for training without an accelerator: threads, environment and memory nodes of a processor."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.precision import NumberFormat


class ProcessorTuning(Struct, frozen=True):
    """The settings of a training on a processor."""

    threads: int  # per process: one per physical core, because hyper-threads compete for its vector units
    processes: int  # one per memory node, so that processes use local memory
    loader_workers: int
    precision: str
    environment: tuple[tuple[str, str], ...]
    command: str
    notes: tuple[str, ...]


def processor_tuning(cores: int, device: ComputeDevice | None = None, numa_nodes: int = 1) -> ProcessorTuning:
    """Return the settings for some physical cores over some memory nodes."""
    nodes = max(1, min(numa_nodes, cores))
    threads = max(1, cores // nodes)
    low_precision = device is not None and device.native(NumberFormat.BF16)
    notes = ["Plan a smaller model or fewer tokens than for a GPU; `flyball plan` estimates the time."]
    if low_precision:
        notes.append("bf16 uses AMX or AVX-512 BF16 units: use autocast with device_type='cpu'.")
    if nodes > 1:
        where = "each on the cores and memory of one NUMA node"
        notes.append(f"{nodes} processes, {where}, exchange gradients through gloo.")
    return ProcessorTuning(
        threads=threads,
        processes=nodes,
        loader_workers=max(0, min(4, cores // 8)),
        precision="bf16-autocast" if low_precision else "fp32",
        environment=_environment(threads),
        command=_command(nodes),
        notes=tuple(notes),
    )


def _environment(threads: int) -> tuple[tuple[str, str], ...]:
    """Return variables of OpenMP and oneDNN; KMP_BLOCKTIME keeps threads awake only between two operators."""
    return (
        ("OMP_NUM_THREADS", str(threads)),
        ("OMP_PROC_BIND", "close"),
        ("OMP_PLACES", "cores"),
        ("KMP_BLOCKTIME", "1"),
        ("LD_PRELOAD", "libjemalloc.so.2"),
        ("MALLOC_CONF", "background_thread:true,metadata_thp:auto"),
    )


def _command(nodes: int) -> str:
    if nodes == 1:
        return "numactl --localalloc python train.py"
    bound = "numactl --cpunodebind=$LOCAL_RANK --membind=$LOCAL_RANK python train.py"
    return f"torchrun --nproc-per-node={nodes} --no-python bash -c '{bound}'"
