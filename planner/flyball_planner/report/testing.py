"""Sample plans with invented values, for tests of what is made from plans."""

from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.models.complexity import Complexity
from flyball_planner.plan.plan import (
    Alternative,
    ComputationSection,
    CostSection,
    Count,
    GenerationSection,
    HardwareSection,
    HostMemorySection,
    InferenceSection,
    LayoutSection,
    MemorySection,
    ModelSection,
    NamedAmount,
    OfferRow,
    Plan,
    PlanRecommendation,
    RooflinePoint,
    ScalingRow,
    TrainingSection,
)

GIB = 1024.0**3


def around(value: float) -> Interval:
    """Return an interval of ten per cent on both sides."""
    return Interval.around(value, 0.1, 0.1)


def scaling_row(devices: int, efficiency: float, verdict: str = "fits") -> ScalingRow:
    """Return a row of a run that takes 1,000 hours on one device."""
    seconds = 3.6e6 / (devices * efficiency)
    return ScalingRow(
        devices,
        512,
        f"data {devices}",
        around(seconds / 1e4),
        devices * efficiency * 20,
        efficiency,
        around(seconds),
        80.0,
        verdict,
        2.0 * seconds / 3600 * devices,
        f"{seconds / 3600:.0f} h",
    )


def sample_plan(title: str = "GPT-2 XL on eight GPUs") -> Plan:
    """Return a plan with content in every section."""
    return Plan(
        title=title,
        model=_model(),
        training=TrainingSection(
            512,
            1024,
            30_000_000,
            30_720_000_000,
            58_594,
            "adamw",
            "bf16",
            "full",
            "flash",
            "pytorch",
            compiled=True,
            learning_rate=1.5e-4,
            learning_rate_basis="as specified",
        ),
        hardware=_hardware(),
        layout=_layout(),
        memory=_memory(),
        computation=_computation(),
        cost=_cost(),
        scaling_devices=(
            scaling_row(1, 1.0, "does not fit"),
            scaling_row(2, 0.98),
            scaling_row(4, 0.95),
            scaling_row(8, 0.91),
        ),
        scaling_batches=(scaling_row(8, 1.0), scaling_row(8, 1.04)),
        alternatives=(Alternative("8-way data parallel, ZeRO-2", around(4.8), 70.0, "fits"),),
        recommendations=(
            PlanRecommendation("Compile the model", "elementwise operators take 13 % of a step", "5 … 10 % faster"),
        ),
        assumptions=("Attention never writes its scores.",),
        warnings=("The price list is 123 days old.",),
        inference=_inference(),
        host=HostMemorySection(
            (NamedAmount("operating_system", Interval(2e9, 3e9, 4e9)), NamedAmount("training_processes", around(24e9))),
            around(27e9),
            1e12,
            "fits",
        ),
    )


def _inference() -> InferenceSection:
    """Return the inference of GPT-2 XL on one A100."""
    generation = GenerationSection(
        1, 1024, around(0.012), around(0.042), 23.8, "kernel launches", 3.1e9, 3.1e8, 307_200.0, around(4.2e9), 190,
        around(0.0028),
    )  # fmt: skip
    return InferenceSection(1, 3.5e12, around(0.013), 8, around(0.1), 80.0, generation)


def _model() -> ModelSection:
    """Return the sizes of GPT-2 XL."""
    return ModelSection(
        "gpt2-xl",
        "transformer",
        "PyTorch",
        1_557_611_200,
        1_557_611_200,
        1_557_611_200,
        (Count("embedding", 80_411_200), Count("layers", 1_475_558_400)),
        3.5e12,
        1.05e13,
        1024,
        20.1,
        3.5e12,
        Complexity("O(n·L·(s·d² + s²·d))", "O(L·(s·d² + s²·d))", "Each of L layers multiplies s tokens."),
    )


def _hardware() -> HardwareSection:
    """Return a host with eight A100."""
    return HardwareSection(
        "A100-SXM4-80GB",
        "gpu",
        "NVIDIA",
        "Ampere",
        8,
        1,
        8,
        80 * GIB,
        2.039e12,
        3.12e14,
        "bf16",
        400.0,
        "NVLink 3, 300 GB/s",
        "",
        "high",
        "the vendor's datasheet",
    )


def _layout() -> LayoutSection:
    """Return data parallelism with sharded optimizer states."""
    return LayoutSection(
        8,
        1,
        1,
        1,
        1,
        1,
        8,
        8,
        "zero1",
        sequence_parallel=False,
        checkpointing="none",
        offload="none",
        chosen_by="search",
        words="8-way data parallel, ZeRO-1",
    )


def _memory() -> MemorySection:
    """Return memory that mostly consists of activations and fits."""
    return MemorySection(
        (
            NamedAmount("weights", Interval.exactly(3 * GIB)),
            NamedAmount("gradients", Interval.exactly(6 * GIB)),
            NamedAmount("optimizer_states", Interval.exactly(2.3 * GIB)),
            NamedAmount("activations", around(42 * GIB)),
            NamedAmount("logits", around(5 * GIB)),
            NamedAmount("context", around(0.6 * GIB)),
            NamedAmount("offloaded", Interval.exactly(0.0)),
        ),
        around(58 * GIB),
        around(61 * GIB),
        around(62 * GIB),
        80 * GIB,
        77.5,
        "fits",
        11.8 * GIB,
        "first",
        "backward",
        "selective checkpointing would free 14 GiB for 3 % more time",
    )


def _computation() -> ComputationSection:
    """Return a compute-bound run of three days."""
    operators = (
        RooflinePoint("ffn_in", "matmul", 420.0, 2.1e14, 0.42),
        RooflinePoint("attention", "attention", 180.0, 1.3e14, 0.2),
        RooflinePoint("qkv", "matmul", 390.0, 2.0e14, 0.25),
        RooflinePoint("norm", "elementwise", 0.7, 1.2e12, 0.13),
    )
    return ComputationSection(
        3.15e20,
        around(276_000.0),
        "3 days 5 h",
        around(4.7),
        (
            NamedAmount("forward_and_backward", around(4.3)),
            NamedAmount("gradient_exchange", around(0.3)),
            NamedAmount("optimizer", around(0.1)),
        ),
        109.0,
        111_600.0,
        44.0,
        44.0,
        95.0,
        "compute-bound",
        310.0,
        153.0,
        operators,
        around(210.0),
        345.0,
        around(262_200.0),
        1.04,
        0.44,
        "estimated",
    )


def _cost() -> CostSection:
    """Return one offer with prices on demand and on spot."""
    return CostSection(
        around(613.0),
        around(1226.0),
        "at $2.00 per device-hour (AWS p4de.24xlarge, spot)",
        (
            OfferRow(
                "AWS",
                "p4de.24xlarge",
                "us-east-1",
                "2026-07-20",
                1,
                8,
                27.4,
                12.1,
                around(2100.0),
                around(930.0),
                "list",
            ),
        ),
    )


def hostile_plan() -> Plan:
    """Return a plan whose names contain markup."""
    evil = "<script>alert(1)</script>|`x`\n# no"
    plan = sample_plan(evil)
    return replace(
        plan, model=replace(plan.model, name=evil), warnings=(evil,), layout=replace(plan.layout, words=evil)
    )
