"""Entries of hardware in plain units: FLOP/s, GB, GB/s and dollars, as people write them in programs.

    register_hardware("my_custom_gpu", {
        "type": "gpu", "peak_flops": 50e12, "peak_flops_fp16": 100e12, "mem_gb": 64, "vram_gb": 24,
        "bandwidth_gbps": 900, "cost_per_hour": 2.00,
    })

`vram_gb` is the memory of the device, `mem_gb` that of its host. `bandwidth_gbps` is in GB/s (gigabytes), the bandwidth
of the device's memory: a card with 24 GB has some 900 GB/s, and no card has 900 Gbit/s.
"""

from collections.abc import Mapping
from math import isfinite

from msgspec import Struct

from flyball_planner.catalogue.entries import KEYS, RATES, BadEntry, Entry, Place
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_reports.errors import nearest

TERA = 1e12
LEAST_FLOPS = 1e9  # FLOP/s; a smaller peak is in TFLOP/s by mistake
CPU_KINDS = frozenset({"cpu", "processor"})


class PlainKey(Struct, frozen=True):
    """A key in plain units: the entry's key that it means, and its unit as a multiple of that key's unit."""

    key: str
    expected: str
    scale: float = 1.0
    least: float = 0.0


_FLOPS = f"FLOP/s of at least {LEAST_FLOPS:g}, such as 50e12 for 50 TFLOP/s"
_GB = "a number above 0, in GB"

PLAIN_KEYS: Mapping[str, PlainKey] = {
    "peak_flops": PlainKey("fp32_tflops", _FLOPS, 1 / TERA, LEAST_FLOPS),
    **{
        f"peak_flops_{name}": PlainKey(
            f"{name}_{'tops' if name == 'int8' else 'tflops'}", _FLOPS, 1 / TERA, LEAST_FLOPS
        )
        for name in ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
    },
    "vram_gb": PlainKey("memory_gib", _GB),
    "vram": PlainKey("memory_gib", _GB),
    "gpu_memory_gb": PlainKey("memory_gib", _GB),
    "mem_gb": PlainKey("host_memory_gib", _GB),
    "ram_gb": PlainKey("host_memory_gib", _GB),
    "bandwidth_gbps": PlainKey("memory_gb_per_second", "a number above 0, in GB/s"),
    "memory_bandwidth_gbps": PlainKey("memory_gb_per_second", "a number above 0, in GB/s"),
    "bandwidth_gb_s": PlainKey("memory_gb_per_second", "a number above 0, in GB/s"),
    "cost_per_hour": PlainKey("usd_per_hour", "a number of at least 0, in US dollars"),
    "price_per_hour": PlainKey("usd_per_hour", "a number of at least 0, in US dollars"),
    "tdp_watts": PlainKey("power_watts", "a number above 0, in watts"),
    "tdp": PlainKey("power_watts", "a number above 0, in watts"),
    "n_cores": PlainKey("cores", "an integer above 0"),
}

WORDS: Mapping[str, str] = {"type": "kind"}
LIKE = "like"


def in_own_units(entry: Entry, place: Place) -> Entry:
    """Return an entry with the catalogue's keys. Messages about values name the key that its author wrote."""
    for key in entry:
        if key not in KEYS and key not in PLAIN_KEYS and key not in WORDS and key != LIKE:
            near = nearest(key, (*KEYS, *PLAIN_KEYS))
            raise BadEntry(
                place, key, "unknown key; " + (f"did you mean {near!r}?" if near else f"known are {_known()}")
            )
    if not any(key in PLAIN_KEYS or key in WORDS for key in entry):
        return entry
    found: dict[str, str] = {}
    written: dict[str, str] = {}
    for key, text in entry.items():
        own, value = _converted(key, text, place)
        if own in found and found[own] != value:
            raise BadEntry(place, key, f"contradicts {written[own]}; keep one of them")
        found[own], written[own] = value, key
    return _complete(found, written, place)


def _known() -> str:
    return ", ".join(KEYS)


def _converted(key: str, text: str, place: Place) -> tuple[str, str]:
    if key in WORDS:
        return WORDS[key], _kind(key, text, place)
    plain = PLAIN_KEYS.get(key)
    if plain is None or not text.strip():
        return key if plain is None else plain.key, text
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = float("nan")
    least = plain.least or (0.0 if plain.key == "usd_per_hour" else 5e-324)
    if not (isfinite(number) and number >= least):
        raise BadEntry(place, key, f"expected {plain.expected}, not {text!r}")
    return plain.key, f"{number * plain.scale:.15g}"


def _kind(key: str, text: str, place: Place) -> str:
    kind = "cpu" if text.casefold() in CPU_KINDS else text.casefold()
    if kind and kind not in set(DeviceKind):
        raise BadEntry(place, key, f"expected one of {', '.join(DeviceKind)}, not {text!r}")
    return kind


def _complete(found: dict[str, str], written: Mapping[str, str], place: Place) -> Entry:
    """Return the entry of a processor with the host's memory as its own. What is missing is named in plain units."""
    if LIKE in found:
        return found
    if "memory_gib" not in found and "host_memory_gib" in found:
        if found.get("kind") not in {"cpu", "unified"}:
            host = written["host_memory_gib"]
            expected = f"expected the memory of the device in GB ({host} is that of its host)"
            raise BadEntry(place, "vram_gb", f"is missing; {expected}")
        found = {**found, "memory_gib": found["host_memory_gib"]}
    for key, plain in (("memory_gib", "vram_gb"), ("memory_gb_per_second", "bandwidth_gbps")):
        if key not in found:
            raise BadEntry(place, plain, f"is missing; expected {PLAIN_KEYS[plain].expected}")
    if not any(key in found for key in RATES):
        raise BadEntry(place, "peak_flops", f"is missing; expected {PLAIN_KEYS['peak_flops'].expected}")
    return found
