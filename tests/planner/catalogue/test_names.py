"""Tests of hardware names as people, drivers and tables spell them."""

import pytest

from flyball_planner.catalogue.devices import SeveralDevices, devices, find_device, profiles
from flyball_planner.catalogue.names import words
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import UnknownName

SPELLINGS = {
    "A100 SXM4 80GB": [
        "A100-SXM-80GB",
        "a100_80gb",
        "A100",
        "NVIDIA A100-SXM4-80GB",
        "A100 80 GB",
        "A100-80G (of a cluster)",
    ],
    "A100 SXM4 40GB": ["a100_40gb", "NVIDIA A100-SXM4-40GB", "A100-40GB"],
    "A100 PCIe 80GB": ["A100_80GB_PCIe", "NVIDIA A100 80GB PCIe"],
    "A100 PCIe 40GB": ["NVIDIA A100-PCIE-40GB"],
    "H100 SXM5": ["H100 SXM", "H100", "h100-sxm-80gb", "NVIDIA H100 80GB HBM3", "DGX-H100"],
    "H100 PCIe": ["NVIDIA H100 PCIe", "h100_pcie"],
    "H100 SXM5 96GB HBM2e": ["H100-96GB HBM2e (2.4 TB/s, 500 W cap)"],
    "H200 SXM": ["H200", "NVIDIA H200"],
    "GB200 (per GPU)": ["GB200", "DGX-GB200", "NVIDIA GB200"],
    "B300 SXM": ["DGX-B300", "B300"],
    "V100 SXM2 32GB": ["V100", "Tesla V100-SXM2-32GB", "V100-32GB"],
    "V100 SXM2 16GB": ["V100-16GB", "Tesla V100-SXM2-16GB"],
    "GeForce RTX 4090": ["4090", "rtx4090", "RTX 4090 24GB", "NVIDIA GeForce RTX 4090"],
    "GeForce RTX 4090 Laptop": ["NVIDIA GeForce RTX 4090 Laptop GPU"],
    "GeForce RTX 2080 Ti": ["2080Ti", "RTX2080Ti", "2080TiNVlink"],
    "GeForce RTX 2080 SUPER Max-Q": ["2080SuperMaxQ"],
    "Quadro RTX 8000": ["QuadroRTX8000"],
    "RTX 6000 Ada": ["NVIDIA RTX 6000 Ada Generation"],
    "RTX A6000": ["A6000", "NVIDIA RTX A6000", "A6000 48GB"],
    "TITAN RTX": ["TitanRTX"],
    "Instinct MI300X": ["MI300X", "AMD Instinct MI300X"],
    "TPU v5e": ["tpu-v5e", "TPUv5e", "TPU v5 lite"],
    "M1 Max (32-core GPU)": ["M1 Max", "Apple M1 Max"],
    "Intel Xeon E5-2690 v4": ["E5-2690 v4"],
}


@pytest.mark.parametrize(
    ("name", "spelling"), [(name, each) for name, several in SPELLINGS.items() for each in several]
)
def test_spellings_find_one_device(name: str, spelling: str) -> None:
    """Every spelling finds the same device."""
    assert find_device(spelling).name == name


def test_every_device_finds_itself() -> None:
    """Each name and alias in the catalogue finds its own entry, so no two entries share one."""
    for each in devices():
        assert find_device(each.name) is each
        for alias in each.aliases:
            assert find_device(alias) is each, alias


def test_no_two_names_are_the_same_words() -> None:
    """No two devices have names with the same words, because a search could not distinguish them."""
    seen = {words(each.name): each.name for each in devices()}
    assert len(seen) == len(devices())


def test_profiles_have_a_format() -> None:
    """All named profiles exist, each with a default number format."""
    assert set(profiles()) == {
        *(
            "CPU_4C_2.5GHz_basic",
            "CPU_8C_3.5Ghz_baseline",
            "CPU_16C_4.0GHz_high_end",
            "GTX_1660Ti_fp32",
            "RTX_3060_fp16",
        ),
        *("RTX_4090_fp16", "A100_40GB_fp16", "A100_80GB_fp16", "H100_80GB_fp16", "TPU_v4_pod", "M1_Pro", "M2_Ultra"),
    }
    for name, profile in profiles().items():
        found = find_device(name.lower())
        assert found.name == profile.device
        assert found.default_format is profile.default_format
        assert found.rate(profile.default_format) > 0
    assert find_device("GTX_1660Ti_fp32").default_format is NumberFormat.FP32


def test_an_unknown_name_gets_a_suggestion() -> None:
    """The error for a misspelt name suggests the nearest name, or the command that lists all."""
    with pytest.raises(UnknownName, match="did you mean 'GeForce RTX 4090'"):
        find_device("GeForce RTX 4O90")
    with pytest.raises(UnknownName, match="`flyball hardware` lists all"):
        find_device("abacus")


@pytest.mark.parametrize(
    ("name", "first"),
    [("RTX 4060 Laptop", "one of GeForce RTX 4060,"), ("H100 PCIx", "'H100 PCIe'"), ("V100 80GB", "one of V100 ")],
)
def test_devices_of_the_same_number_are_suggested(name: str, first: str) -> None:
    """The number of a model counts for more than its other letters: no RTX 3080 Laptop for an RTX 4060 Laptop."""
    with pytest.raises(UnknownName, match=f"did you mean {first}") as caught:
        find_device(name)
    assert "RTX 3080" not in str(caught.value)


@pytest.mark.parametrize("name", ["", " ", "()", "GPU", "-", "DGX-2"])
def test_a_name_without_content_is_unknown(name: str) -> None:
    """A name without a specific word finds no device."""
    with pytest.raises(UnknownName):
        find_device(name)


def test_an_ambiguous_name_is_an_error() -> None:
    """The error for an ambiguous name lists the matching devices."""
    with pytest.raises(SeveralDevices, match="P100 PCIe 16GB, V100 PCIe 16GB; be more specific"):
        find_device("PCIe 16GB")
    with pytest.raises(SeveralDevices, match=r"and \d+ more; be more specific"):
        find_device("8GB")
