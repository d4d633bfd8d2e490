"""The document `docs/hardware.md`, generated from the catalogue."""

from collections.abc import Sequence
from itertools import groupby

from flyball_planner.catalogue.devices import devices, profiles
from flyball_planner.catalogue.entries import KEYS
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.catalogue.tables import Row, table
from flyball_planner.precision import NumberFormat

EXAMPLE = """\
devices:
  - name: Abacus 9
    memory_gib: 64
    memory_gb_per_second: 2000
    tensor_cores: yes
    fp32_tflops: 50
    bf16_tflops: 400
    link_gb_per_second: 450   # one way
    power_watts: 500
    source: the vendor's data sheet
  - name: A100 at 250 W
    like: A100 80GB           # all other values come from there
    power_watts: 250
"""

PROGRAM = """\
register_hardware(
    "my_custom_gpu",
    {
        "type": "gpu",
        "peak_flops": 50e12,
        "peak_flops_fp16": 100e12,
        "mem_gb": 64,
        "vram_gb": 24,
        "bandwidth_gbps": 900,
        "cost_per_hour": 2.00,
    },
)
"""

HEAD = f"""\
# Hardware

These are the devices, links, networks, disks and prices that the planner knows. The page is generated from its data
files (`make generated`). `flyball hardware --details NAME` shows the sources of each value, and where they disagree.

- *Names* may be spelled in any usual way: `A100-SXM-80GB`, `a100_80gb` and `NVIDIA A100-SXM4-80GB` are the same device.
- *T/s*: peak rates in 10¹² operations per second (TFLOP/s, for int8 TOP/s), dense (without sparsity). For GeForce cards
  they are the rates with FP32 accumulation, which PyTorch uses. An empty cell: the format is not supported, or its rate
  is unknown.
- *GiB*: memory as vendors count it. *Visible MiB*: what the driver reports, after error correction takes its share.
- *GB/s*: bandwidth of the memory. *W*: power limit of the board, or nominal power of a processor.
- *Confidence*: how reliable the sources of the values are: high, medium or low.
- Rates of links are for one direction; data sheets often add up both. *µs*: the latency that NCCL assumes for a link,
  or the latency of one access to storage.
- Prices change. Each one is shown with its region and date, or as undated if its source has no date.

## Your own hardware

Pass a YAML, JSON or CSV file with `--hardware-file`, or pass the same keys to `register_hardware`. An error message
names the line, the key, the expected value and the nearest known name. A file with an error adds no device.

```yaml
{EXAMPLE}```

The same values in plain units, as programs have them:

```python
{PROGRAM}```

`vram_gb` is the memory of the device and `mem_gb` that of its host. A processor has only `mem_gb`. `bandwidth_gbps` is
the bandwidth of the device's memory in gigabytes per second: a card with 24 GB has about 900. `cost_per_hour` is used
where a specification has no price. A file may contain these keys too, and `devices` may be groups of keys with the
devices' names.
"""

PROFILES = "A profile is a short name for a device, a number format and a number of devices: `hardware: RTX_4090_fp16`."
PRICES = "`flyball prices DEVICE` lists the offers. The dates are those of the oldest and the newest dated price."

FORMATS = (
    NumberFormat.FP32,
    NumberFormat.TF32,
    NumberFormat.FP16,
    NumberFormat.BF16,
    NumberFormat.FP8,
    NumberFormat.INT8,
)


def page() -> str:
    """Return the complete page."""
    accelerators = [each for each in devices() if each.kind is not DeviceKind.CPU]
    processors = [each for each in devices() if each.kind is DeviceKind.CPU]
    parts = (
        HEAD,
        _keys(),
        _table("Named profiles", ("profile", "device", "format", "devices"), _profiles(), note=PROFILES),
        _table("Accelerators", ACCELERATOR_HEADS, [_accelerator(each) for each in accelerators]),
        _table("Processors", PROCESSOR_HEADS, [_processor(each) for each in processors]),
        _table("Links between devices", ("link", "place", "GB/s one way", "latency, µs"), _links()),
        _table("Networks between nodes", ("network", "Gbit/s", "per"), _networks()),
        _table("Storage", STORAGE_HEADS, [tuple(row[key] for key in STORAGE_KEYS) for row in table("storage")]),
        _table("Prices", ("provider", "offers", "devices", "dates"), _prices(), note=PRICES),
        _table(
            "Not in the catalogue",
            ("item", "part left out", "reason"),
            [(r["name"], r["what"], r["why"]) for r in table("left_out")],
        ),
    )
    return "\n".join(parts)


def _keys() -> str:
    rows = [("`like`", "the name of a device", "use the values of that device for all missing keys")]
    rows += [
        (f"`{name}`", key.expected + (" (required)" if key.required else ""), key.meaning) for name, key in KEYS.items()
    ]
    return _table("Keys", ("key", "expected", "meaning"), rows, level=3)


def _profiles() -> list[tuple[str, ...]]:
    return [(f"`{each.name}`", each.device, each.default_format, str(each.devices)) for each in profiles().values()]


ACCELERATOR_HEADS = (
    "device",
    "GiB",
    "visible MiB",
    "GB/s",
    *(f"{each} T/s" for each in FORMATS),
    "W",
    "year",
    "confidence",
)


def _accelerator(device: ComputeDevice) -> tuple[str, ...]:
    rates = [_figure(device.flops_per_second.get(each), 1e12) for each in FORMATS]
    return (
        device.name,
        _figure(device.memory_bytes, 2**30),
        _figure(device.visible_bytes, 2**20),
        _figure(device.memory_bytes_per_second, 1e9),
        *rates,
        _figure(device.power_watts, 1),
        str(device.launch_year or ""),
        device.confidence,
    )


PROCESSOR_HEADS = ("processor", "cores", "fp32 T/s", "GB/s", "W")


def _processor(device: ComputeDevice) -> tuple[str, ...]:
    rate, moved = device.rate(NumberFormat.FP32), device.memory_bytes_per_second
    return (device.name, str(device.cores), _figure(rate, 1e12), _figure(moved, 1e9), _figure(device.power_watts, 1))


def _links() -> list[tuple[str, ...]]:
    return [(r["name"], r["place"], r["gigabytes_per_second"], r["latency_microseconds"]) for r in table("links")]


def _networks() -> list[tuple[str, ...]]:
    return [(row["name"], row["gigabits_per_second"], row["scope"]) for row in table("networks")]


STORAGE_HEADS = ("storage", "read MB/s", "write MB/s", "reads/s", "writes/s", "latency, µs", "per", "confidence")
STORAGE_KEYS = (
    "name", "read_mb_per_second", "write_mb_per_second", "read_operations_per_second", "write_operations_per_second",
    "latency_microseconds", "scope", "confidence",
)  # fmt: skip


def _prices() -> list[tuple[str, ...]]:
    """Return each provider's number of offers and their dates."""
    found = sorted(table("prices"), key=lambda row: row["provider"])
    return [_provider(name, list(rows)) for name, rows in groupby(found, key=lambda row: row["provider"])]


def _provider(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    dates = sorted({row["as_of"] for row in rows if row["as_of"][:1].isdigit()})
    period = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "undated"
    return name, str(len(rows)), str(len({row["device"] for row in rows})), period


def _figure(value: float | None, unit: float) -> str:
    return "" if value is None else f"{value / unit:.6g}"


def _table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], level: int = 2, note: str = "") -> str:
    opening = [f"{'#' * level} {title}\n", *([f"{note}\n"] if note else [])]
    lines = [*opening, f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
