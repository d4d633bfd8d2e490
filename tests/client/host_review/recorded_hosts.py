"""Recorded profiles of hosts: of a laptop, a workstation, a server and an 8-GPU node, and of hosts that hide much."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from flyball.host.hardware_profile import HardwareProfile
from flyball.host.profile_file import read_profile
from flyball.host_review.host_review import HostProposal, propose

FOLDER = Path(__file__).with_name("profiles")
PEERS = ("laptop", "workstation", "server", "node")  # as in peer_hosts.py
OTHERS = ("mac", "container", "virtual")


def document_of(name: str) -> dict[str, Any]:
    """Return the document of a recorded profile."""
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return document


@cache
def proposed(name: str) -> HostProposal:
    """Return the configurations for a recorded host; they take a while."""
    return propose(recorded(name))


def recorded(name: str) -> HardwareProfile:
    """Return a recorded profile."""
    return read_profile(document_of(name))
