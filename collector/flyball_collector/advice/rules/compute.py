"""Use of the GPUs: gaps between kernels, small batches, precision, idle GPUs."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.rule import AdviceDraft, Rule, share, shares
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation

_FULL = 0.9  # of a GPU's memory


def _idle(s: Situation) -> Gain | None:
    """Return the gain of filling the GPU's gaps."""
    return None if s.idle_share is None else removal(s.idle_share, (0.25, 0.9))


def find_fuse_host_work(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise less work in the launching thread if it cannot keep up with the GPU."""
    gain = _idle(s)
    if gain is None:
        return None
    return AdviceDraft(
        because=shares(("the launching thread is at its limit; the GPUs idle {} of the time", s.idle_share)),
        evidence={"gpu_idle_ratio": s.idle_share},
        change="launch fewer kernels from Python: fuse operations, compile the model, or record CUDA graphs",
        gain=gain,
        caution="compiling can change rounding; it pays off only with constant shapes",
    )


def find_remove_syncs(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise fewer synchronisations if GPU and host wait for each other at each step."""
    gain = _idle(s)
    if gain is None:
        return None
    return AdviceDraft(
        because=shares(("GPU and host wait for each other at each step; the GPUs idle {} of the time", s.idle_share)),
        evidence={"gpu_idle_ratio": s.idle_share},
        change="read losses and norms from the GPU (.item(), .cpu(), print) only every 50 steps",
        proposed={"log_every_steps": 50},
        gain=gain,
        caution="confirm this by running one step with the framework's synchronisation warnings enabled",
    )


def find_grow_micro_batch(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise larger micro-batches at the same global batch if kernels are too small for the GPU."""
    fits = _doubled_fits(s)
    if fits is False:
        return None
    divisible = s.accumulation_steps is not None and s.accumulation_steps >= 2 and s.accumulation_steps % 2 == 0
    known = bool(fits) and divisible
    same = "halve the accumulation" if divisible else "reduce the accumulation so that the global batch stays the same"
    return AdviceDraft(
        because=_small_batch(s, fits),
        evidence={
            "gpu_busy_ratio": s.gpu_busy_share,
            "gpu_power_ratio": s.gpu_power_share,
            "allocated_peak_bytes": s.allocated_peak_bytes,
        },
        change=f"double the micro-batch and {same}; stop when a step brings less than 5 %",
        proposed={"micro_batch_factor": 2.0, "accumulation_factor": 0.5},
        gain=Gain(1.0, 2.0),
        confidence=0.6,
        safety=Safety.CONSENT if known else Safety.ADVISE,
        caution="results stay equal only with a loss over all tokens, without batch norm and in-batch negatives",
    )


def _small_batch(s: Situation, fits: bool | None) -> str:
    """Describe how little a GPU does, and whether there is memory for more."""
    use = shares(("the GPU is {} busy", s.gpu_busy_share), ("it draws {} of its power limit", s.gpu_power_share))
    known = use or s.first_reason(s.events("bottleneck_small_batch"))
    return f"{known}; there is enough memory" if fits else f"{known}; check its memory first"


def _doubled_fits(s: Situation) -> bool | None:
    """Return True if twice the activations fit; None without the framework's figures (the driver's include caches)."""
    if s.allocated_peak_bytes is None or s.gpu_memory_total_bytes is None:
        return None
    return 2.0 * s.allocated_peak_bytes <= _FULL * s.gpu_memory_total_bytes


def find_profile_kernels(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise profiling if the GPU is busy but does little work: utilisation only means that some kernel runs."""
    if s.gpu_busy_share is None or s.gpu_busy_share < 0.9:
        return None
    low_power = s.gpu_power_share is not None and s.gpu_power_share < 0.6
    low_use = s.sm_active_share is not None and s.sm_active_share < 0.5
    if not (low_power or low_use):
        return None
    return AdviceDraft(
        because=shares(
            ("the GPU is {} busy", s.gpu_busy_share),
            ("but it draws {} of its power limit", s.gpu_power_share),
            ("{} of its compute units are active", s.sm_active_share),
        ),
        evidence={"gpu_power_ratio": s.gpu_power_share, "sm_active_ratio": s.sm_active_share},
        change="profile some steps; look for kernels shorter than their launch (5 to 20 µs), and for waits inside them",
        confidence=0.6,
        caution="kernels that are limited by memory bandwidth look the same and are fine",
    )


def find_mixed_precision(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise mixed precision if the tensor cores are not used."""
    if s.tensor_active_share is None or s.tensor_active_share > 0.01 or s.capability is None or s.capability < 7.0:
        return None
    return AdviceDraft(
        because=f"tensor cores active {share(s.tensor_active_share)} of the time (compute capability {s.capability:g})",
        evidence={"tensor_active_ratio": s.tensor_active_share, "capability": s.capability},
        change="enable TF32 for matrix products, or train in bfloat16 mixed precision",
        gain=Gain(1.0, 3.0),
        confidence=0.6,
        caution="this changes the numerical results; compare the loss over a few hundred steps first",
    )


def find_release_gpu(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise releasing GPUs that are held but idle."""
    events = s.events("bottleneck_idle_gpu")
    return AdviceDraft(
        because=f"{len(events)} of {max(s.gpus, len(events))} GPUs are held but idle; no other condition explains it",
        evidence={"idle_gpus": float(len(events))},
        change="check whether the run still needs these GPUs; end forgotten processes",
    )


def find_raise_use(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise finding what a GPU waits for that works steadily but only part of the time."""
    return AdviceDraft(
        because=s.first_reason(s.events("bottleneck_low_use")),
        change=(
            "profile a few steps: look for gaps between kernels (input, copies, synchronisation, small kernels); then "
            "raise the micro-batch or the number of loader workers, or let two jobs share the GPU"
        ),
    )


RULES = (
    Rule(
        name="fuse_host_work",
        description="The thread that launches the GPU's work is at its limit.",
        kinds=("bottleneck_host",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="HolisticTraceAnalysis; the PyTorch tuning guide",
        find=find_fuse_host_work,
        yields_to=("remove_syncs",),
    ),
    Rule(
        name="remove_syncs",
        description="GPU and host wait for each other at every step.",
        kinds=("bottleneck_sync",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="the PyTorch tuning guide (avoid unnecessary CPU–GPU synchronization)",
        find=find_remove_syncs,
    ),
    Rule(
        name="grow_micro_batch",
        description="Batches are too small for the GPU.",
        kinds=("bottleneck_small_batch",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on batch size; DeepSpeed autotuning",
        find=find_grow_micro_batch,
        changes_results=True,  # unless conditions hold that are unknown here
    ),
    Rule(
        name="profile_kernels",
        description="The GPU is busy but does little work.",
        kinds=("bottleneck_gpu_compute", "bottleneck_small_batch"),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="NVML's documentation of utilization; HolisticTraceAnalysis",
        find=find_profile_kernels,
        yields_to=("grow_micro_batch",),
    ),
    Rule(
        name="mixed_precision",
        description="Tensor cores are not used.",
        kinds=("bottleneck_gpu_compute",),
        effort=Effort.CODE,
        safety=Safety.CONSENT,
        source="pytorch/kineto's profiler advice; the PyTorch tuning guide",
        find=find_mixed_precision,
        changes_results=True,
    ),
    Rule(
        name="release_gpu",
        description="A held GPU is idle.",
        kinds=("bottleneck_idle_gpu",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="common practice of GPU clusters; no published figure",
        find=find_release_gpu,
    ),
    Rule(
        name="raise_use",
        description="A GPU works steadily, but only part of the time.",
        kinds=("bottleneck_low_use",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on low GPU utilisation",
        find=find_raise_use,
    ),
)
