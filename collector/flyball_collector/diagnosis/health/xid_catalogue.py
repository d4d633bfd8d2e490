"""NVIDIA's XIDs as data: their meaning, their usual cause, and what to do.

Sources: NVIDIA's XID catalogue for Ampere and newer (docs.nvidia.com/deploy/xid-errors, its "resolution buckets", as
of October 2025), the component lists of leptonai/gpud, and NVIDIA's guide to GPU memory errors. If they disagree,
the entry notes it.
"""

from dataclasses import dataclass
from enum import StrEnum


class XidClass(StrEnum):
    """The party that has to act."""

    APPLICATION = "application"  # the program: restart or debug it
    RESET = "reset"  # the GPU: reset it
    NODE = "node"  # the machine: restart, inspect or repair it
    FOLLOW = "follow"  # an after-effect: look at the error that caused it
    IGNORE = "ignore"  # only for the record
    UNKNOWN = "unknown"  # not in the public catalogue


@dataclass(frozen=True, slots=True)
class Xid:
    """One error code."""

    code: int
    name: str
    belongs_to: XidClass
    action: str
    disputed: str = ""  # a different statement of another source


_RESTART_APP = "restart the application; debug it if the error returns"
_RESTART_ELSE_SUPPORT = "restart the application; contact support if the error returns"
_RESET = "write a checkpoint if the run is alive, drain the GPU and reset it"
_NVLINK = (
    "drain the GPU, check its links (nvidia-smi nvlink --status) and reset it; inspect the link if the error returns"
)
_RECORD = "none"


def _engines(name: str, *codes: int) -> tuple[Xid, ...]:
    return tuple(Xid(code, f"error of {name}", XidClass.APPLICATION, _RESTART_ELSE_SUPPORT) for code in codes)


XIDS: tuple[Xid, ...] = (
    Xid(8, "GPU stopped processing a channel", XidClass.APPLICATION, _RESTART_ELSE_SUPPORT),
    Xid(11, "invalid or corrupted command stream", XidClass.APPLICATION, _RESTART_APP),
    Xid(
        13,
        "exception in the compute engine, usually an out-of-bounds access",
        XidClass.APPLICATION,
        "debug the application (compute-sanitizer); if different jobs have this error on one GPU, test the GPU",
    ),
    Xid(25, "illegal command stream", XidClass.APPLICATION, _RESTART_APP),
    Xid(
        31,
        "GPU memory page fault, usually an illegal address",
        XidClass.APPLICATION,
        "debug the application (compute-sanitizer); if different jobs have this error on one GPU, test the GPU",
    ),
    Xid(32, "invalid or corrupted command stream", XidClass.APPLICATION, f"{_RESTART_APP}; check for PCIe errors"),
    Xid(37, "driver firmware error", XidClass.IGNORE, _RECORD),
    Xid(38, "driver firmware watchdog", XidClass.IGNORE, "none for a single error; contact support if it repeats"),
    *_engines("a copy engine", 39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)),
    Xid(43, "an application on the GPU was stopped", XidClass.IGNORE, _RECORD),
    Xid(44, "fault during a context switch", XidClass.IGNORE, "none for a single error; contact support if it repeats"),
    Xid(
        45,
        "clean-up by the driver after an earlier error",
        XidClass.FOLLOW,
        "look at the error reported with it; if there is none, restart the fabric manager and debug the application",
    ),
    Xid(46, "GPU stopped processing", XidClass.RESET, _RESET),
    Xid(48, "uncorrectable double-bit memory error (DBE)", XidClass.RESET, _RESET),
    Xid(54, "auxiliary power is not connected", XidClass.NODE, "check the board's power cables"),
    Xid(60, "exception in the video processor", XidClass.APPLICATION, _RESTART_APP),
    Xid(61, "internal micro-controller breakpoint", XidClass.RESET, _RESET),
    Xid(62, "internal micro-controller halt", XidClass.RESET, _RESET),
    Xid(
        63,
        "a memory row was recorded for remapping",
        XidClass.IGNORE,
        "none now; the row is remapped at the next reset",
        "NVIDIA's newer catalogue asks for nothing; its guide for older chips and some operators ask for a reset soon",
    ),
    Xid(
        64, "a memory row could not be recorded for remapping", XidClass.RESET, f"{_RESET}; replace it if this persists"
    ),
    Xid(66, "illegal access by the driver", XidClass.IGNORE, _RECORD),
    Xid(67, "illegal access by the driver", XidClass.IGNORE, _RECORD),
    *_engines("the video engines", 68, 82, 83, 84, 86, 88, 89, *range(96, 106), 139, 142),
    Xid(69, "invalid use of the compute engine", XidClass.APPLICATION, _RESTART_APP),
    Xid(74, "NVLink error", XidClass.RESET, _NVLINK),
    Xid(78, "the virtual GPU did not start", XidClass.NODE, "install matching versions of driver and firmware"),
    Xid(
        79,
        "the GPU has fallen off the bus",
        XidClass.NODE,
        "drain and restart the host; if this happens again, have it inspected (power, slot, temperature)",
    ),
    Xid(80, "corrupted data sent to the GPU", XidClass.APPLICATION, _RESTART_APP),
    Xid(92, "high rate of single-bit memory errors; all were corrected", XidClass.IGNORE, _RECORD),
    Xid(93, "the GPU's InfoROM (configuration memory) is wearing out", XidClass.IGNORE, _RECORD),
    Xid(
        94,
        "contained memory error: only one application is affected",
        XidClass.APPLICATION,
        "restart the application; reset the GPU when it is free",
        "NVIDIA's catalogue asks only for a restart of the application; some operators drain and reset at once",
    ),
    Xid(95, "uncontained memory error: all applications on the GPU are affected", XidClass.RESET, _RESET),
    Xid(106, "management bus test message", XidClass.IGNORE, _RECORD),
    Xid(107, "management bus test message", XidClass.IGNORE, _RECORD),
    Xid(
        108, "address translation error of a remote NVLink", XidClass.FOLLOW, "look at the error reported with it (137)"
    ),
    Xid(109, "context switch timeout", XidClass.RESET, _RESET),
    Xid(110, "security fault", XidClass.RESET, _RESET),
    Xid(119, "the GPU system processor (GSP) does not respond", XidClass.RESET, f"{_RESET}; update the driver"),
    Xid(120, "error of the GPU system processor (GSP)", XidClass.RESET, f"{_RESET}; update the driver"),
    Xid(121, "corrected error of the chip-to-chip link", XidClass.IGNORE, _RECORD),
    Xid(136, "link training failed", XidClass.RESET, _NVLINK),
    Xid(
        137,
        "NVLink privilege error, usually caused by an application that accesses a peer",
        XidClass.FOLLOW,
        "look at the error reported with it; if there is none, debug the application",
    ),
    Xid(140, "unrecovered memory error", XidClass.RESET, _RESET),
    Xid(141, "error of the CUDA fast path", XidClass.IGNORE, _RECORD),
    Xid(143, "the GPU could not be initialised", XidClass.RESET, _RESET),
    *(Xid(code, "NVLink error (fifth generation)", XidClass.RESET, _NVLINK) for code in range(144, 151)),
    Xid(151, "key rotation error", XidClass.NODE, "restart the virtual machine"),
    Xid(
        154,
        "GPU recovery action required by the driver",
        XidClass.NODE,
        "carry out the recovery action that nvidia-smi -q lists",
    ),
    Xid(155, "NVLink error detected by software", XidClass.RESET, _NVLINK),
    Xid(156, "a part of the GPU was retired", XidClass.RESET, _RESET),
    Xid(157, "a part of the GPU could not be retired", XidClass.IGNORE, "contact support if the error repeats"),
    Xid(158, "fatal GPU timeout", XidClass.RESET, _RESET),
    Xid(160, "a channel was retired", XidClass.IGNORE, _RECORD),
    Xid(161, "a channel could not be retired", XidClass.IGNORE, _RECORD),
    Xid(167, "fatal PCIe timeout", XidClass.NODE, "drain the host; check the slot and its PCIe errors"),
    Xid(171, "uncorrectable DRAM error (details of 48)", XidClass.FOLLOW, "see 48"),
    Xid(172, "uncorrectable SRAM error (details of 48)", XidClass.FOLLOW, "see 48"),
)

BY_CODE = {xid.code: xid for xid in XIDS}


def look_up(code: int) -> Xid:
    """Return the entry of a code. Unknown codes get an entry of class `UNKNOWN`."""
    found = BY_CODE.get(code)
    return found or Xid(code, "not in the public catalogue", XidClass.UNKNOWN, "look it up in NVIDIA's XID guide")
