"""Tests of the section `loading`."""

import pytest

from flyball_planner.specification.reader import read_specification
from flyball_planner.timing.loading import Loading
from flyball_reports.specification.problems import SpecificationError

PLAN = "model: resnet50\nhardware: RTX_4090_fp16\ntraining: {batch_size: 256}\n"


def read(loading: str, plan: str = PLAN) -> Loading | None:
    """Read a specification with a `loading` section and return the section."""
    return read_specification(f"{plan}loading: {loading}\n", "run.yaml").loading


def test_rates_sizes_and_workers_are_read_in_their_units() -> None:
    """Kilobytes, MB/s and milliseconds are converted; a kind of disk has the bandwidth of its slowest usual drive."""
    found = read("{bytes_per_sample: 110k, storage_mb_per_second: 500, cpu_ms_per_sample: 8, workers: 4}")
    assert found == Loading(
        bytes_per_sample=110e3, storage_bytes_per_second=5e8, core_seconds_per_sample=8e-3, workers=4
    )
    assert read("{samples_per_second: 3000}") == Loading(samples_per_second=3000)
    disk = read("{bytes_per_sample: 110k, storage: nvme}")
    assert disk is not None
    assert disk.storage_bytes_per_second == 3.5e9


def test_without_the_section_there_is_no_loading() -> None:
    """Without the section no step waits for data."""
    assert read_specification(PLAN).loading is None


@pytest.mark.parametrize(
    ("loading", "message"),
    [
        (
            "{bytes_per_sample: 110k}",
            "loading.bytes_per_sample: has no effect without storage or storage_mb_per_second",
        ),
        ("{storage: nvme}", "loading.storage: has no effect without bytes_per_sample"),
        ("{cpu_ms_per_sample: 8}", "loading.cpu_ms_per_sample: has no effect without workers"),
        ("{workers: 3}", "loading.workers: has no effect without cpu_ms_per_sample or bytes_per_sample or"),
        ("{storage: nvem, bytes_per_sample: 1k}", "did you mean 'nvme'?"),
        ("{bytes_per_sample: 1k, storage: hdd, storage_mb_per_second: 3}", "keep one of them"),
        ("{sampels_per_second: 3}", "did you mean 'samples_per_second'?"),
    ],
)
def test_incomplete_sections_are_reported(loading: str, message: str) -> None:
    """The error gives the line and the missing key."""
    with pytest.raises(SpecificationError) as caught:
        read(loading)
    assert message in str(caught.value)
    assert "run.yaml:4: loading" in str(caught.value)


def test_a_classical_model_has_no_loader() -> None:
    """A classical model reads its data once, so the section is refused."""
    with pytest.raises(SpecificationError, match="remove this section"):
        read("{samples_per_second: 3}", "model: {name: kmeans, n: 1000, p: 3, k: 2}\nhardware: M1_Pro\n")
