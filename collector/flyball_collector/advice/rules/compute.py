"""How GPUs are used: gaps between kernels, small batches, precision, idle ones."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.rule import Draft, Rule, share
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation

_FULL = 0.9  # of a GPU's memory


def _idle(s: Situation) -> Gain | None:
    """What filling the GPU's gaps could bring."""
    return None if s.idle_share is None else removal(s.idle_share, (0.25, 0.9))


def find_fuse_host_work(s: Situation, _: AdviceSettings) -> Draft | None:
    """One thread cannot launch kernels as fast as the GPU ends them."""
    gain = _idle(s)
    if gain is None:
        return None
    return Draft(
        because=f"one thread is at its limit while the GPUs idle {share(s.idle_share)} of the time",
        evidence={"gpu_idle_ratio": s.idle_share},
        change="launch less from Python: fuse operations, compile the model, or record CUDA graphs",
        gain=gain,
        caution="compiling can change rounding, and pays only for steady shapes",
    )


def find_remove_syncs(s: Situation, _: AdviceSettings) -> Draft | None:
    """GPU and host wait for each other each step."""
    gain = _idle(s)
    if gain is None:
        return None
    return Draft(
        because=f"GPU and host wait for each other; the GPUs idle {share(s.idle_share)} of the time",
        evidence={"gpu_idle_ratio": s.idle_share},
        change="read losses and norms from the GPU (.item(), .cpu(), print) every 50 steps only, not at each",
        proposed={"log_every_steps": 50},
        gain=gain,
        caution="confirm with one step under the framework's synchronisation warnings",
    )


def find_grow_micro_batch(s: Situation, _: AdviceSettings) -> Draft | None:
    """Kernels too small for the GPU: larger micro-batches, fewer of them, the same global batch."""
    fits = _doubled_fits(s)
    if fits is False:
        return None
    whole = s.accumulation_steps is not None and s.accumulation_steps >= 2 and s.accumulation_steps % 2 == 0
    known = bool(fits) and whole
    headroom = "unknown" if fits is None else "enough"
    same = "halve the accumulation" if whole else "lower the accumulation accordingly, so that the global batch stays"
    return Draft(
        because=(
            f"GPU {share(s.gpu_busy_share)} busy, power {share(s.gpu_power_share)} of its limit; "
            f"memory headroom {headroom}"
        ),
        evidence={
            "gpu_busy_ratio": s.gpu_busy_share,
            "gpu_power_ratio": s.gpu_power_share,
            "allocated_peak_bytes": s.allocated_peak_bytes,
        },
        change=f"double the micro-batch and {same}; stop when it brings less than 5 %",
        proposed={"micro_batch_factor": 2.0, "accumulation_factor": 0.5},
        gain=Gain(1.0, 2.0),
        confidence=0.6,
        safety=Safety.CONSENT if known else Safety.ADVISE,
        caution="equal results need a loss normalised over all tokens, no batch norm and no in-batch negatives",
    )


def _doubled_fits(s: Situation) -> bool | None:
    """Whether twice the activations fit; unknown without the framework's own figures (caches hide the truth)."""
    if s.allocated_peak_bytes is None or s.gpu_memory_total_bytes is None:
        return None
    return 2.0 * s.allocated_peak_bytes <= _FULL * s.gpu_memory_total_bytes


def find_profile_kernels(s: Situation, _: AdviceSettings) -> Draft | None:
    """Utilisation says that a kernel runs, not that it works."""
    if s.gpu_busy_share is None or s.gpu_busy_share < 0.9:
        return None
    low_power = s.gpu_power_share is not None and s.gpu_power_share < 0.6
    low_use = s.sm_active_share is not None and s.sm_active_share < 0.5
    if not (low_power or low_use):
        return None
    return Draft(
        because=(
            f"GPU {share(s.gpu_busy_share)} busy but power {share(s.gpu_power_share)} of its limit, "
            f"compute units {share(s.sm_active_share)} active"
        ),
        evidence={"gpu_power_ratio": s.gpu_power_share, "sm_active_ratio": s.sm_active_share},
        change="profile some steps: look for kernels shorter than their launch (5 to 20 µs), and for waits inside them",
        confidence=0.6,
        caution="kernels bound by memory bandwidth look the same and are legitimate",
    )


def find_mixed_precision(s: Situation, _: AdviceSettings) -> Draft | None:
    """Tensor cores that never work."""
    if s.tensor_active_share is None or s.tensor_active_share > 0.01 or s.capability is None or s.capability < 7.0:
        return None
    return Draft(
        because=f"tensor cores active {share(s.tensor_active_share)} of the time (compute capability {s.capability:g})",
        evidence={"tensor_active_ratio": s.tensor_active_share, "capability": s.capability},
        change="allow TF32 for matrix products, or train in bfloat16 mixed precision",
        gain=Gain(1.0, 3.0),
        confidence=0.6,
        caution="it changes the numbers: compare the loss over some hundred steps first",
    )


def find_release_gpu(s: Situation, _: AdviceSettings) -> Draft | None:
    """A GPU that is held and does nothing."""
    events = s.events("bottleneck_idle_gpu")
    return Draft(
        because=f"{len(events)} of {max(s.gpus, len(events))} GPUs are held and do nothing, and nothing explains it",
        evidence={"idle_gpus": float(len(events))},
        change="ask whether the run still needs it; end forgotten processes, or use the GPU",
    )


RULES = (
    Rule(
        name="fuse_host_work",
        about="One thread prepares the GPU's work and is at its limit.",
        kinds=("bottleneck_host",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="HolisticTraceAnalysis; the PyTorch tuning guide",
        find=find_fuse_host_work,
        leaves=("remove_syncs",),
    ),
    Rule(
        name="remove_syncs",
        about="GPU and host wait for each other at every step.",
        kinds=("bottleneck_sync",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="the PyTorch tuning guide (avoid unnecessary CPU–GPU synchronization)",
        find=find_remove_syncs,
    ),
    Rule(
        name="grow_micro_batch",
        about="Batches are too small for the GPU.",
        kinds=("bottleneck_small_batch",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on batch size; DeepSpeed autotuning",
        find=find_grow_micro_batch,
        changes_results=True,  # unless conditions hold that nobody can see from here
    ),
    Rule(
        name="profile_kernels",
        about="The GPU is busy and does not work.",
        kinds=("bottleneck_gpu_compute", "bottleneck_small_batch"),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="NVML's documentation of utilization; HolisticTraceAnalysis",
        find=find_profile_kernels,
        leaves=("grow_micro_batch",),
    ),
    Rule(
        name="mixed_precision",
        about="Tensor cores idle.",
        kinds=("bottleneck_gpu_compute",),
        effort=Effort.CODE,
        safety=Safety.CONSENT,
        source="pytorch/kineto's profiler advice; the PyTorch tuning guide",
        find=find_mixed_precision,
        changes_results=True,
    ),
    Rule(
        name="release_gpu",
        about="A GPU is held and does nothing.",
        kinds=("bottleneck_idle_gpu",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="common practice of clusters",
        find=find_release_gpu,
    ),
)
