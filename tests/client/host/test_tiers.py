"""The classes of machines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.host.hardware_parts import GIB, HostGpu, HostTier
from flyball.host.tiers import tier_of

ORDER = list(HostTier)


def cards(count: int, gib: float) -> tuple[HostGpu, ...]:
    """Return some equal GPUs."""
    return tuple(HostGpu(index=index, memory_bytes=int(gib * GIB)) for index in range(count))


@pytest.mark.parametrize(
    ("cores", "ram", "gpus", "tier"),
    [
        (2, 3.8, (), HostTier.LOW),
        (4, 7.6, (), HostTier.MEDIUM),
        (8, 15.4, (), HostTier.MEDIUM),
        (16, 62.7, cards(1, 24), HostTier.HIGH),
        (4, 15.6, cards(1, 15), HostTier.HIGH),
        (64, 503.0, (), HostTier.SERVER),
        (26, 220.0, cards(1, 79.6), HostTier.SERVER),
        (112, 2015.0, cards(8, 79.6), HostTier.SERVER),
        (None, None, (), HostTier.LOW),
    ],
)
def test_known_machines_have_their_class(
    cores: int | None, ram: float | None, gpus: tuple[HostGpu, ...], tier: HostTier
) -> None:
    """A small VM, laptops, a workstation, a cloud GPU, servers, and a machine about which nothing is known."""
    assert tier_of(cores, ram, gpus)[0] is tier


def test_the_reason_names_what_the_machine_has() -> None:
    """Unknown parts are left out of it."""
    assert tier_of(16, 62.7, cards(1, 24))[1] == "16 cores, 63 GiB of memory, 1 GPU with 24 GiB"
    assert tier_of(None, 8.0, ())[1] == "8 GiB of memory, no GPU with its own memory"


def test_memory_that_the_processor_shares_is_not_counted_twice() -> None:
    """A laptop with a shared chip is not raised by its GPU."""
    shared = (HostGpu(index=0, memory_bytes=16 * GIB, unified_memory=True),)
    assert tier_of(8, 15.4, shared) == tier_of(8, 15.4, ())


@given(
    st.integers(1, 256),
    st.floats(0.5, 4000),
    st.integers(0, 8),
    st.floats(2, 192),
    st.integers(0, 64),
    st.floats(0, 500),
    st.integers(0, 3),
)
def test_more_of_anything_never_lowers_the_class(
    cores: int, ram: float, count: int, gib: float, more_cores: int, more_ram: float, more_cards: int
) -> None:
    """More cores, memory or GPUs keep the class or raise it."""
    before = tier_of(cores, ram, cards(count, gib))[0]
    after = tier_of(cores + more_cores, ram + more_ram, cards(count + more_cards, gib))[0]
    assert ORDER.index(after) >= ORDER.index(before)
