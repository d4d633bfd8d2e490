"""Short names of GPUs."""

import pytest

from flyball.command.events import grouped, subject_text
from flyball.command.gpu_name import gpu_name

UUID = "3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21"


@pytest.mark.parametrize(
    ("gpu", "index", "name"),
    [
        (f"GPU-{UUID}", 3, "GPU 3"), (f"GPU-{UUID}", 0, "GPU 0"), (f"GPU-{UUID}", None, "GPU 3f2a9c1e"),
        (f"MIG-{UUID}", None, "GPU MIG-3f2a9c1e"), ("INTEL-0000:03:00.0", None, "GPU INTEL-0000:03:00.0"),
        ("0", None, "GPU 0"), (None, None, ""), ("", None, ""),
    ],
)  # fmt: skip
def test_a_gpu_has_its_index_or_the_beginning_of_its_uuid(gpu: str, index: int | None, name: str) -> None:
    """Only a UUID is shortened: other names may begin alike."""
    assert gpu_name(gpu, index) == name


def test_an_event_shows_its_gpu() -> None:
    """By its index; by its UUID if an older collector sends no index; several merged ones by their number."""
    event = {"host": "node-7", "gpu": f"GPU-{UUID}", "resource": None, "run": None, "rank": None}
    assert subject_text({**event, "gpu_index": 3}) == "node-7 GPU 3"
    assert subject_text(event) == "node-7 GPU 3f2a9c1e"
    about = {**event, "kind": "gpu_ecc", "severity": "critical", "seconds_left": None}
    (both,) = grouped([{**about, "id": str(number), "gpu_index": number} for number in range(2)])
    assert subject_text(both) == "node-7 2 GPUs"
    assert both["gpu"] == f"GPU-{UUID}"
