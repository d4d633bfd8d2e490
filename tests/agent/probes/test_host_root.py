"""Tests of paths of the host, seen from within a container."""

from pathlib import Path

import pytest

from flyball_agent.probes.host_root import HOST, below, host_process, is_elsewhere
from flyball_agent.probes.testing import write_tree


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("etc/os-release", "usr/lib/os-release"),
        ("/etc/os-release", "usr/lib/os-release"),
        ("var/run/secrets", "run/secrets"),
        ("etc/up", "run"),
        ("etc/out", "etc/passwd"),
        ("etc/none/x", "etc/none/x"),
        ("/", ""),
    ],
)
def test_links_stay_below_the_root(tmp_path: Path, path: str, expected: str) -> None:
    """Absolute links and links that climb too far are the host's, not the container's."""
    write_tree(
        tmp_path,
        {
            "usr/lib/os-release": "NAME=Host\n",
            "run/secrets": "",
            "etc/passwd": "",
            "etc/os-release": "->../usr/lib/os-release",
            "var/run": "->/run",
            "etc/up": "->../../../run",
            "etc/out": "->/../etc/passwd",
        },
    )
    assert below(tmp_path, path) == tmp_path / expected


def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    """Links that point to each other give a path that cannot be read, and no endless loop."""
    write_tree(tmp_path, {"a": "->b", "b": "->a"})
    assert not below(tmp_path, "a").exists()


def test_the_process_with_the_hosts_mounts(tmp_path: Path) -> None:
    """On the host it is the agent itself; in a container it is process 1 of the host's procfs."""
    assert host_process(Path("/proc"), HOST) == Path("/proc/self")
    assert host_process(tmp_path / "proc", tmp_path) == tmp_path / "proc/1"
    assert (is_elsewhere(HOST), is_elsewhere(tmp_path)) == (False, True)
