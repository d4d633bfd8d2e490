"""The reasons for throttled clocks that AMD and Intel GPUs report, under the names of NVIDIA's reasons.

| name | meaning |
|---|---|
| sw_power_cap | the firmware enforces a power limit (AMD: PPT, SPL, FPPT, SPPT; Intel: PL1, PL2) |
| current_limit | the firmware enforces a current limit (AMD: TDC, EDC, APCC; Intel: PL4, VR TDC) |
| sw_thermal | the firmware enforces a temperature limit of chip, memory or cooling liquid |
| hw_thermal | a voltage regulator is too hot |
| hw_slowdown | the board asserts PROCHOT |
| other | reliability and other limits of the firmware |
"""

REASONS = ("sw_power_cap", "current_limit", "sw_thermal", "hw_thermal", "hw_slowdown", "other")

_AMD_BITS = {  # the kernel's drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h, SMU_THROTTLER_*_BIT
    "sw_power_cap": range(8),
    "current_limit": range(16, 24),
    "sw_thermal": (*range(32, 38), 42, 43),
    "hw_thermal": (38, 39, 40, 41, 44, 45),
    "hw_slowdown": (46, 47),
    "other": (56, 57),
}
_AMD_MASKS = {reason: sum(1 << bit for bit in bits) for reason, bits in _AMD_BITS.items()}
AMD_RESIDENCIES = {
    "sw_power_cap": ("power",),
    "sw_thermal": ("socket_thermal", "memory_thermal"),
    "hw_thermal": ("regulator_thermal",),
    "hw_slowdown": ("prochot",),
}
INTEL_FILES = {  # suffixes of the files: xe reason_*, i915 throttle_reason_*
    "sw_power_cap": ("pl1", "pl2"),
    "current_limit": ("pl4", "vr_tdc"),
    "sw_thermal": ("thermal", "ratl"),
    "hw_thermal": ("vr_thermalert",),
    "hw_slowdown": ("prochot",),
}


def amd_reasons(throttle_bits: int) -> dict[str, bool]:
    """Return, for each reason, True if amdgpu's chip-independent throttle status contains it."""
    return {reason: bool(throttle_bits & mask) for reason, mask in _AMD_MASKS.items()}
