"""Scores of known machines, to compare a host with. They follow from the recorded profiles of the tests."""

from msgspec import Struct


class PeerHost(Struct, frozen=True):
    """A machine and its score."""

    name: str
    score: float


PEERS = (
    PeerHost("laptop: 4 cores, 16 GiB, no GPU", 2.8),
    PeerHost("laptop: M1 Pro, 32 GiB", 4.2),
    PeerHost("workstation: Ryzen 9 7950X, RTX 4090", 5.7),
    PeerHost("server: 2 × EPYC 7763, 2 × A100 PCIe", 7.9),
    PeerHost("node: 8 × H100 SXM (p5.48xlarge)", 9.1),
)
"""In rising order. The test of this module computes them from its recorded profiles."""
