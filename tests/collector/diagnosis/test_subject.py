"""Descriptions of subjects for people."""

import gc
import weakref
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.subject import Subject, gpu_words, subjects

UUID_OF_GPU = "GPU-3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21"


@pytest.mark.parametrize(
    ("subject", "index", "words"),
    [
        (Subject("node-7", UUID_OF_GPU), 3, "GPU 3 on node-7"),
        (Subject("node-7", UUID_OF_GPU), 0, "GPU 0 on node-7"),
        (Subject("node-7", UUID_OF_GPU), None, "GPU 3f2a9c1e on node-7"),
        (Subject("node-7", UUID_OF_GPU, resource="XID 79"), 3, "XID 79, GPU 3 on node-7"),
        (Subject("node-7", run="r", rank=0), None, "rank 0, run r on node-7"),
        (Subject("node-7", resource="/data"), None, "/data on node-7"),
        (Subject("node-7"), None, "node-7"),
        (Subject(run="r"), None, "run r"),
        (Subject(), None, ""),
    ],
)
def test_the_innermost_name_comes_first_and_the_host_last(subject: Subject, index: int | None, words: str) -> None:
    """A GPU is described by its number if known. Names that do not apply are left out."""
    assert subject.words(index) == words


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ("MIG-3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21", "GPU MIG-3f2a9c1e"),
        (f"MIG-{UUID_OF_GPU}/7/0", "GPU MIG-GPU-3f2a9c1e/7/0"),
        ("AMD-0x8a4f1c2d3e5b6a79", "GPU AMD-0x8a4f1c2d3e5b6a79"),
        ("INTEL-0000:03:00.0", "GPU INTEL-0000:03:00.0"),
        ("trainer-gpu-12", "GPU trainer-gpu-12"),
        ("", ""),
    ],
)
def test_only_a_uuid_is_shortened(gpu: str, words: str) -> None:
    """The beginning of other names may not be unique; slices of one GPU stay distinct."""
    assert gpu_words(gpu) == words


@given(st.lists(st.uuids(), min_size=2, max_size=8, unique_by=lambda uuid: uuid.hex[:8]))
def test_gpus_have_distinct_descriptions(uuids: list[UUID]) -> None:
    """UUIDs with different beginnings have different descriptions."""
    assert len({gpu_words(f"GPU-{uuid}") for uuid in uuids}) == len(uuids)


def test_shared_positions_are_cached_while_the_other_order_lives() -> None:
    """Positions are computed once for each other order; an order that is gone uses no memory."""
    here = subjects([Subject("a"), Subject("b")])
    there, others = subjects([Subject("b"), Subject("c")]), subjects([Subject("a")])
    first = here.shared_with(there)
    assert [places.tolist() for places in (*first, *here.shared_with(others))] == [[1], [0], [0], [0]]
    assert here.shared_with(there) is first
    gone = weakref.ref(there)
    del there
    gc.collect()
    assert gone() is None
