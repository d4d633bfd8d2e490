"""A GPU in the words of the commands."""

import pytest

from flyball.command.events import gathered, where
from flyball.command.gpu import gpu_words

UUID = "3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21"


@pytest.mark.parametrize(
    ("gpu", "index", "words"),
    [
        (f"GPU-{UUID}", 3, "GPU 3"), (f"GPU-{UUID}", 0, "GPU 0"), (f"GPU-{UUID}", None, "GPU 3f2a9c1e"),
        (f"MIG-{UUID}", None, "GPU MIG-3f2a9c1e"), ("INTEL-0000:03:00.0", None, "GPU INTEL-0000:03:00.0"),
        ("0", None, "GPU 0"), (None, None, ""), ("", None, ""),
    ],
)  # fmt: skip
def test_a_gpu_is_told_by_its_number_or_the_beginning_of_its_uuid(gpu: str, index: int | None, words: str) -> None:
    """Only a UUID is shortened: of another name the beginning might be that of many."""
    assert gpu_words(gpu, index) == words


def test_an_event_names_its_gpu_by_its_number() -> None:
    """A collector of before tells no number: then by its UUID; of several gathered ones how many they are."""
    event = {"host": "node-7", "gpu": f"GPU-{UUID}", "resource": None, "run": None, "rank": None}
    assert where({**event, "gpu_index": 3}) == "node-7 GPU 3"
    assert where(event) == "node-7 GPU 3f2a9c1e"
    about = {**event, "kind": "gpu_ecc", "severity": "critical", "seconds_left": None}
    (both,) = gathered([{**about, "id": str(number), "gpu_index": number} for number in range(2)])
    assert where(both) == "node-7 2 GPUs"
    assert both["gpu"] == f"GPU-{UUID}"
