"""Tests of the kubelet's list of pods, with a server on a Unix socket."""

import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.runs.evidence import Pod
from flyball_agent.runs.pod_resources import PodResourcesFailed, list_pods, parse_pods
from tests.agent.runs.kubelet import pod_resources, serve

TRAIN = ("ml", "bert-worker-0", "main")


@pytest.fixture
def path() -> Iterator[Path]:
    """Yield a short path, because those of sockets are limited to 108 bytes."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / "kubelet.sock"


def test_the_pods_of_devices_are_listed(path: Path) -> None:
    """Each device has its pods and containers; shares of a GPU count for the GPU."""
    answer = pod_resources(
        {
            TRAIN: ["GPU-a", "GPU-b"],
            ("ml", "shared-1", "x"): ["GPU-c::0"],
            ("ml", "shared-2", "x"): ["GPU-c::1"],
            ("kube-system", "dns", "x"): [],
        }
    )
    with serve(path, lambda: answer):
        pods = list_pods(path)
    assert pods == {
        "GPU-a": (Pod(*TRAIN),),
        "GPU-b": (Pod(*TRAIN),),
        "GPU-c": (Pod("ml", "shared-1", "x"), Pod("ml", "shared-2", "x")),
    }


def test_a_kubelet_that_does_not_answer_is_a_fault(path: Path) -> None:
    """The call ends after its time limit."""
    over = threading.Event()

    def answer() -> bytes:
        over.wait(30)
        return b""

    with serve(path, answer):
        with pytest.raises(PodResourcesFailed, match="Deadline"):
            list_pods(path, 0.1)
        over.set()


def test_a_socket_that_nobody_serves_is_a_fault(path: Path) -> None:
    """A socket left by a kubelet that has ended is not a crash."""
    with serve(path, lambda: b""):
        pass
    path.touch()
    with pytest.raises(PodResourcesFailed, match=r"kubelet\.sock"):
        list_pods(path, 0.5)


@given(st.binary(max_size=300))
def test_any_answer_is_parsed_or_refused(answer: bytes) -> None:
    """Bytes that are not an answer raise the one error."""
    try:
        pods = parse_pods(answer)
    except PodResourcesFailed:
        return
    assert all(isinstance(pod, Pod) for named in pods.values() for pod in named)
