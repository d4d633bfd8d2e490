"""Tests of devices in a file that a specification names."""

import pytest

from flyball_planner.catalogue.devices import REGISTRY
from flyball_planner.plan.make import make_plan
from flyball_planner.specification.reader import read_specification
from flyball_reports.specification.problems import Problem, SpecificationError

DEVICES = """\
devices:
  - {name: Abacus 9, memory_gib: 64, memory_gb_per_second: 2000, bf16_tflops: 400, fp32_tflops: 50}
  - {name: H100_80GB_fp16, memory_gib: 20, memory_gb_per_second: 900, bf16_tflops: 100, fp32_tflops: 50}
"""
RUN = "model: gpt2\ntraining: {batch_size: 8, sequence: 512}\nhardware:\n  hardware_file: own.yaml\n  device: "


def _problem(text: str, files: dict[str, str]) -> Problem:
    def read(name: str) -> str:
        if name not in files:
            raise FileNotFoundError(name)
        return files[name]

    with pytest.raises(SpecificationError) as caught:
        read_specification(text, "run.yaml", read)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize("more", ["", "\n  devices: 4", "\n  nodes: 2\n  devices: 16"])
def test_a_specification_names_a_file_with_its_device(more: str) -> None:
    """The device is found in any spelling, the plan is made with it, and no other specification knows it."""
    found = read_specification(f"{RUN}abacus-9{more}\n", files={"own.yaml": DEVICES}.__getitem__)
    assert found.machine.device.name == "Abacus 9"
    assert make_plan(found).hardware.device == "Abacus 9"
    assert not REGISTRY.added
    with pytest.raises(SpecificationError, match="there is no device named"):
        read_specification("model: gpt2\nhardware: Abacus 9\n")


def test_a_device_of_the_file_comes_before_a_profile_of_the_catalogue() -> None:
    """Its memory counts, and the profile's format does not."""
    found = read_specification(f"{RUN}H100_80GB_fp16\n", files={"own.yaml": DEVICES}.__getitem__)
    assert found.machine.device.memory_bytes == 20 * 2**30
    assert found.machine.device.default_format is None


def test_a_device_outside_the_file_is_the_catalogues() -> None:
    """A file adds devices and hides none."""
    found = read_specification(f"{RUN}A100 80GB\n", files={"own.yaml": DEVICES}.__getitem__)
    assert found.machine.device.name == "A100 SXM4 80GB"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there is no file own.yaml"),
        ({"own.yaml": "devices: []\n"}, "own.yaml contains no device"),
        ({"own.yaml": "devices:\n  - {name: Abacus 9, memory_gib: much}\n"}, "own.yaml:2"),
    ],
    ids=["absent", "empty", "wrong"],
)
def test_a_file_that_cannot_be_used_is_the_only_fault(files: dict[str, str], message: str) -> None:
    """It is reported at the line of its key; that its device is then unknown is not reported too."""
    problem = _problem(f"{RUN}Abacus 9\n", files)
    assert (problem.line, problem.key) == (4, "hardware.hardware_file")
    assert message in problem.message


def test_a_number_in_the_name_of_an_own_device_belongs_to_it() -> None:
    """A device called 2x Abacus is one device; two of another one are two."""
    files = {"own.yaml": DEVICES.replace("Abacus 9", "2x Abacus")}
    assert read_specification(f"{RUN}2x Abacus\n", files=files.__getitem__).machine.devices == 1
    assert read_specification(f"{RUN}2x Abacus 9\n", files={"own.yaml": DEVICES}.__getitem__).machine.devices == 2
