"""Tests of hardware added by a program or a file."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.api import plan
from flyball_planner.catalogue.devices import REGISTRY, find_device, register_hardware
from flyball_planner.catalogue.entries import KEYS, BadEntry
from flyball_planner.catalogue.files import load_hardware, read_hardware
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.catalogue.machines import machine
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError

OWN = {"name": "Abacus 9", "memory_gib": 64, "memory_gb_per_second": 2000, "bf16_tflops": 400, "fp32_tflops": 50}


@pytest.fixture(autouse=True)
def original_catalogue() -> Iterator[None]:
    """Remove all registered hardware after each test."""
    yield
    REGISTRY.clear()


def test_a_registered_device_is_found() -> None:
    """A registered device is found by any spelling, can be replaced and overrides a catalogue entry."""
    register_hardware({**OWN, "kind": "tpu", "link": "NVLink 4", "aliases": "abacus; count-o-mat"})
    found = find_device("abacus-9")
    assert (found.kind, found.memory_bytes, found.rate(NumberFormat.BF16)) == (DeviceKind.TPU, 64 * 2**30, 400e12)
    assert found.within_node is not None
    assert find_device("Count-o-Mat") is found
    register_hardware({**OWN, "memory_gib": 32})
    assert find_device("Abacus 9").memory_bytes == 32 * 2**30
    register_hardware({"name": "H100 SXM5", "like": "H100 SXM5", "power_watts": 500})
    assert find_device("h100").power_watts == 500


@pytest.mark.parametrize("asked", ["H100_80GB_fp16", "h100_80gb_FP16"])
def test_a_registered_device_replaces_a_profile(asked: str) -> None:
    """A registered device with a profile's name is used instead of the profile, without its format and its number."""
    register_hardware("H100_80GB_fp16", {"type": "gpu", "peak_flops": 5e12, "vram_gb": 2, "bandwidth_gbps": 100})
    assert find_device(asked).memory_bytes == 2 * 2**30
    assert find_device("H100 SXM5").memory_bytes == 80 * 2**30
    made = plan(model="gpt2", hardware=asked, training={"batch_size": 8, "samples": 1000})
    assert made.hardware.memory_bytes_per_device == 2 * 2**30
    for name in ("TPU_v4_pod", "p4d.24xlarge"):  # 4,096 and 8 devices in the catalogue
        register_hardware(name, {"type": "tpu", "peak_flops": 5e12, "vram_gb": 2, "bandwidth_gbps": 100})
        assert machine(name).devices == 1


def test_a_device_like_another() -> None:
    """A device can copy another one and change some keys; its source names the original."""
    capped = register_hardware({"name": "Capped A100", "like": "A100-80GB", "power_watts": 250})
    assert capped.rate(NumberFormat.BF16) == 312e12
    assert capped.power_watts == 250
    assert "A100 SXM4 80GB" in capped.source
    with pytest.raises(BadEntry, match="is not an accelerator of the catalogue"):
        register_hardware({"name": "Own", "like": "EPYC 7763"})


YAML = """\
devices:
  - name: Abacus 9
    memory_gib: 64
    memory_gb_per_second: 2000
    tensor_cores: true
    bf16_tflops: 400
    link_gb_per_second: 450
    aliases: [abacus, count-o-mat]
  - name: Slow A100
    like: A100
    bf16_tflops: 200
"""
CSV = "name,memory_gib,memory_gb_per_second,bf16_tflops,tensor_cores\nAbacus 9,64,2000,400,yes\n"


def test_files_in_three_formats(tmp_path: Path) -> None:
    """Files in YAML, JSON and CSV define the same device."""
    for name, text in (("own.yaml", YAML), ("own.json", json.dumps({"devices": [OWN]}, indent="\t")), ("own.csv", CSV)):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        found = load_hardware(file)[0]
        assert found == find_device("Abacus 9")
        assert (found.memory_bytes, found.rate(NumberFormat.BF16)) == (64 * 2**30, 400e12)
    assert find_device("Slow A100").rate(NumberFormat.FP16) == 312e12


@pytest.mark.parametrize(
    ("suffix", "text", "message"),
    [
        (
            ".yaml",
            YAML.replace("memory_gib", "memory_gb", 1),
            r"own:3: memory_gb: unknown key; did you mean 'memory_gib'\?",
        ),
        (".yaml", YAML.replace("400", "fast"), r"own:6: bf16_tflops: expected a number above 0.*not .fast."),
        (".yaml", YAML.replace("450", "-1"), r"own:7: link_gb_per_second: expected a number above 0"),
        (".yaml", YAML.replace("    memory_gib: 64\n", ""), r"own:2: memory_gib: is missing; expected a number"),
        (".yaml", YAML.replace("like: A100", "like: A1000"), "there is no device named 'A1000'"),
        (".yaml", YAML.replace("link_gb_per_second: 450", "link: NVLnk 4"), ":7: link: .*did you mean 'NVLink 4'"),
        (".yaml", YAML.replace("true", "maybe"), r":5: tensor_cores: expected yes or no, not .maybe."),
        (".yaml", "devices: []", "contains no device"),
        (".yaml", "devices: [1]", "expected a device's keys"),
        (".yaml", "devices: [{name: {a: 1}}]", "name: expected a single value"),
        (".yaml", "devices: [", "own"),
        (".csv", CSV.replace("400", "4OO"), r"own:2: bf16_tflops: expected"),
        (".csv", CSV.replace("yes", "yes,more"), r"own:2: has more than the 5 columns"),
        (
            ".csv",
            CSV.replace("memory_gib", "memory_gigs"),
            r":2: memory_gigs: unknown key; did you mean 'memory_gib'",
        ),
        (".csv", 'name\n"Abacus', "not valid CSV: unexpected end"),
        (".toml", "", "use .yaml, .json or .csv"),
        (
            ".csv",
            "name,memory_gib,memory_gb_per_second\nAbacus,64,2000\n",
            "no rate given; at least one of these is required: fp32_tflops",
        ),
    ],
)
def test_errors_are_reported_with_key_and_line(suffix: str, text: str, message: str) -> None:
    """The error gives the key, the line, the expected value and the nearest known name."""
    with pytest.raises(InputError, match=message):
        read_hardware(text, suffix, "own")


def test_an_invalid_file_adds_nothing(tmp_path: Path) -> None:
    """A file with an error adds no device, and an unreadable file is an error."""
    file = tmp_path / "own.yaml"
    file.write_text(YAML.replace("bf16_tflops: 200", "bf16_tflops: slow"), encoding="utf-8")
    with pytest.raises(InputError):
        load_hardware(file)
    assert not REGISTRY.added
    with pytest.raises(InputError, match=r"there is no file .*none\.yaml"):
        load_hardware(tmp_path / "none.yaml")


@given(
    st.dictionaries(
        st.sampled_from([*KEYS, "odd"]), st.one_of(st.text(max_size=20), st.floats(), st.none(), st.booleans())
    )
)
def test_any_entry_is_a_device_or_an_input_error(entry: dict[str, object]) -> None:
    """Registering any entry gives a device or an InputError, never another exception."""
    try:
        with suppress(InputError):
            assert register_hardware(entry).memory_bytes > 0
    finally:
        REGISTRY.clear()
