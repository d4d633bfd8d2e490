"""NVIDIA's XIDs: what they mean, whose fault they usually are, and what to do; data, without a decision.

Sources: NVIDIA's XID catalogue for Ampere and newer (docs.nvidia.com/deploy/xid-errors, its "resolution buckets", as
of October 2025), the component lists of leptonai/gpud, and NVIDIA's guide to GPU memory errors. Where they disagree,
the entry says so.
"""

from dataclasses import dataclass
from enum import StrEnum


class XidClass(StrEnum):
    """Who has to act."""

    APPLICATION = "application"  # the program that ran there; restart it
    RESET = "reset"  # the GPU needs a reset
    NODE = "node"  # the machine: restart, inspect, replace
    FOLLOW = "follow"  # an after-effect: follow the error beside it
    IGNORE = "ignore"  # for the record
    UNKNOWN = "unknown"  # not in the public catalogue


@dataclass(frozen=True, slots=True)
class Xid:
    """One code."""

    code: int
    name: str
    belongs_to: XidClass
    action: str
    disputed: str = ""  # what another source says


_RESTART_APP = "restart the application; debug it when it comes again"
_RESTART_ELSE_SUPPORT = "restart the application; when it comes again, contact support"
_RESET = "checkpoint if the run is alive, drain the GPU and reset it"
_NVLINK = "drain the GPU, run the NVLink checks, and reset it; when it comes again, inspect the link"
_RECORD = "nothing by itself"


def _engines(name: str, *codes: int) -> tuple[Xid, ...]:
    return tuple(Xid(code, f"error of {name}", XidClass.APPLICATION, _RESTART_ELSE_SUPPORT) for code in codes)


XIDS: tuple[Xid, ...] = (
    Xid(8, "the GPU stopped processing a channel", XidClass.APPLICATION, _RESTART_ELSE_SUPPORT),
    Xid(11, "invalid or corrupted stream of commands", XidClass.APPLICATION, _RESTART_APP),
    Xid(
        13,
        "exception in the compute engine, mostly an access out of bounds",
        XidClass.APPLICATION,
        "debug the application (compute-sanitizer); when different jobs meet it on one GPU, test the GPU",
    ),
    Xid(25, "illegal stream of commands", XidClass.APPLICATION, _RESTART_APP),
    Xid(
        31,
        "memory page fault of the GPU, mostly an illegal address",
        XidClass.APPLICATION,
        "debug the application (compute-sanitizer); when different jobs meet it on one GPU, test the GPU",
    ),
    Xid(32, "invalid or corrupted stream of commands", XidClass.APPLICATION, f"{_RESTART_APP}; look at PCIe errors"),
    Xid(37, "error of the driver's firmware", XidClass.IGNORE, _RECORD),
    Xid(38, "watchdog of the driver's firmware", XidClass.IGNORE, "nothing at first; contact support if it repeats"),
    *_engines("a copy engine", 39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)),
    Xid(43, "an application was stopped on the GPU", XidClass.IGNORE, _RECORD),
    Xid(44, "fault during a change of context", XidClass.IGNORE, "nothing at first; contact support if it repeats"),
    Xid(
        45,
        "clean-up before its time, after another error",
        XidClass.FOLLOW,
        "follow the error beside it; alone: restart the fabric manager and look at what ended the application",
    ),
    Xid(46, "the GPU stopped processing", XidClass.RESET, _RESET),
    Xid(48, "double-bit memory error that could not be corrected", XidClass.RESET, _RESET),
    Xid(54, "auxiliary power is not connected", XidClass.NODE, "check cabling and power of the board"),
    Xid(60, "exception in the video processor", XidClass.APPLICATION, _RESTART_APP),
    Xid(61, "break in the internal micro-controller", XidClass.RESET, _RESET),
    Xid(62, "halt of the internal micro-controller", XidClass.RESET, _RESET),
    Xid(
        63,
        "a memory row was recorded for replacement",
        XidClass.IGNORE,
        "nothing now; the row is replaced at the next reset",
        "NVIDIA's newer catalogue says to ignore it; its guide for older chips and some fleets ask for a reset soon",
    ),
    Xid(64, "a memory row could not be recorded for replacement", XidClass.RESET, f"{_RESET}; replace it if it stays"),
    Xid(66, "illegal access by the driver", XidClass.IGNORE, _RECORD),
    Xid(67, "illegal access by the driver", XidClass.IGNORE, _RECORD),
    *_engines("the video engines", 68, 82, 83, 84, 86, 88, 89, *range(96, 106), 139, 142),
    Xid(69, "wrong use of the compute engine", XidClass.APPLICATION, _RESTART_APP),
    Xid(74, "NVLink error", XidClass.RESET, _NVLINK),
    Xid(78, "the virtual GPU did not start", XidClass.NODE, "update driver and firmware to versions that fit"),
    Xid(
        79,
        "the GPU has fallen off the bus",
        XidClass.NODE,
        "drain the node and restart the machine; after a second time have it inspected (power, slot, heat)",
    ),
    Xid(80, "corrupted data sent to the GPU", XidClass.APPLICATION, _RESTART_APP),
    Xid(92, "many single-bit memory errors, all corrected", XidClass.IGNORE, _RECORD),
    Xid(93, "the information ROM wears out", XidClass.IGNORE, _RECORD),
    Xid(
        94,
        "contained memory error: one application is hit",
        XidClass.APPLICATION,
        "restart the application; reset the GPU when it is next free",
        "NVIDIA's catalogue asks only for a restart of the application; some fleets drain and reset at once",
    ),
    Xid(95, "uncontained memory error: every application on the GPU is hit", XidClass.RESET, _RESET),
    Xid(106, "test message of the management bus", XidClass.IGNORE, _RECORD),
    Xid(107, "test message of the management bus", XidClass.IGNORE, _RECORD),
    Xid(108, "translation error of a remote NVLink", XidClass.FOLLOW, "follow the error beside it (137)"),
    Xid(109, "a change of context timed out", XidClass.RESET, _RESET),
    Xid(110, "security fault", XidClass.RESET, _RESET),
    Xid(119, "the GPU's system processor (GSP) does not answer", XidClass.RESET, f"{_RESET}; update the driver"),
    Xid(120, "error of the GPU's system processor (GSP)", XidClass.RESET, f"{_RESET}; update the driver"),
    Xid(121, "error of the chip-to-chip link, corrected", XidClass.IGNORE, _RECORD),
    Xid(136, "training of a link failed", XidClass.RESET, _NVLINK),
    Xid(
        137,
        "NVLink privilege error, mostly a fault of an application that reached for a peer",
        XidClass.FOLLOW,
        "follow the error beside it; alone: debug the application",
    ),
    Xid(140, "memory error that was not recovered", XidClass.RESET, _RESET),
    Xid(141, "error of CUDA's fast path", XidClass.IGNORE, _RECORD),
    Xid(143, "the GPU could not be initialised", XidClass.RESET, _RESET),
    *(Xid(code, "NVLink error (fifth generation)", XidClass.RESET, _NVLINK) for code in range(144, 151)),
    Xid(151, "error of key rotation", XidClass.NODE, "restart the virtual machine"),
    Xid(154, "the driver says what the GPU needs", XidClass.NODE, "do what the recovery action says"),
    Xid(155, "NVLink error found by software", XidClass.RESET, _NVLINK),
    Xid(156, "a part of the GPU was retired", XidClass.RESET, _RESET),
    Xid(157, "a part of the GPU could not be retired", XidClass.IGNORE, "contact support if it repeats"),
    Xid(158, "fatal time-out inside the GPU", XidClass.RESET, _RESET),
    Xid(160, "a channel was retired", XidClass.IGNORE, _RECORD),
    Xid(161, "a channel could not be retired", XidClass.IGNORE, _RECORD),
    Xid(167, "fatal PCIe time-out", XidClass.NODE, "drain the node; check the slot and its PCIe errors"),
    Xid(171, "memory error that could not be corrected, in DRAM (details of 48)", XidClass.FOLLOW, "follow 48"),
    Xid(172, "memory error that could not be corrected, in SRAM (details of 48)", XidClass.FOLLOW, "follow 48"),
)

BY_CODE = {xid.code: xid for xid in XIDS}


def look_up(code: int) -> Xid:
    """What is known of a code; a code that nobody documents is `UNKNOWN`."""
    found = BY_CODE.get(code)
    return found or Xid(code, "not in the public catalogue", XidClass.UNKNOWN, "look for it in NVIDIA's XID guide")
