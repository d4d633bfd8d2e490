"""`flyball.device` returns a device that works, or the reason why there is none."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import flyball
from flyball import devices
from flyball.devices import DeviceFailure, find_device
from tests.client.training.listening_socket import ListeningSocket


class NoDevices:
    """A kind of accelerator of which there are some, or none."""

    def __init__(self, count: int = 0) -> None:
        self._count = count

    def is_available(self) -> bool:
        """Return True if there are some."""
        return self._count > 0

    def device_count(self) -> int:
        """Return how many."""
        return self._count


def torch_with(cuda: int = 0, xpu: int = 0, mps: int = 0, version: str | None = None) -> Any:
    """Return what the choice of a device looks at in a torch that sees these devices."""
    return SimpleNamespace(
        cuda=NoDevices(cuda),
        xpu=NoDevices(xpu),
        backends=SimpleNamespace(mps=NoDevices(mps)),
        version=SimpleNamespace(cuda=version, hip=None),
    )


@pytest.mark.parametrize(
    ("torch", "environment", "expected"),
    [
        (torch_with(), {}, "cpu"),
        (torch_with(cuda=4), {}, "cuda"),
        (torch_with(cuda=4), {"LOCAL_RANK": "3"}, "cuda:3"),
        (torch_with(cuda=4), {"SLURM_LOCALID": "2"}, "cuda:2"),
        (torch_with(cuda=1), {"LOCAL_RANK": "3", "CUDA_VISIBLE_DEVICES": "3"}, "cuda:0"),
        (torch_with(xpu=2), {"LOCAL_RANK": "1"}, "xpu:1"),
        (torch_with(mps=1), {"LOCAL_RANK": "0"}, "mps"),
    ],
)
def test_the_device_is_that_of_the_rank(torch: Any, environment: dict[str, str], expected: str) -> None:
    """Of the accelerators that PyTorch sees; without one, the CPU."""
    assert find_device(torch, environment) == expected


def test_a_rank_without_a_gpu_of_its_own_is_an_error() -> None:
    """It would otherwise share one, or fail later with an error that names neither."""
    with pytest.raises(DeviceFailure, match="number 2 of its host, counted from 0, but only 2 GPUs are visible"):
        find_device(torch_with(cuda=2), {"LOCAL_RANK": "2"})


def test_a_gpu_that_pytorch_cannot_use_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is loaded and PyTorch is built for it; the owner may have hidden the GPUs."""
    (tmp_path / "driver").touch()
    monkeypatch.setattr(devices, "_DEVICE_FILES", (str(tmp_path / "driver"),))
    with pytest.raises(DeviceFailure, match="this host has a GPU, but PyTorch cannot use it"):
        find_device(torch_with(version="12.8"), {})
    assert find_device(torch_with(version="12.8"), {"CUDA_VISIBLE_DEVICES": ""}) == "cpu"
    assert find_device(torch_with(), {}) == "cpu"
    monkeypatch.setattr(devices, "_DEVICE_FILES", (str(tmp_path / "none"),))
    assert find_device(torch_with(version="12.8"), {}) == "cpu"


class BrokenTorch(SimpleNamespace):
    """A torch whose GPU fails at the first allocation."""

    def ones(self, *_: object, device: str) -> object:
        """Raise what PyTorch raises."""
        raise RuntimeError(f"CUDA error: unspecified launch failure on {device}\nSearch for more.")


@pytest.fixture(name="broken")
def _broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the script have imported a torch whose GPU is broken."""
    monkeypatch.setitem(sys.modules, "torch", BrokenTorch(**vars(torch_with(cuda=1))))
    for name in ("FLYBALL_DEVICE_FALLBACK", "FLYBALL_LABELS", "LOCAL_RANK", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("broken")
def test_a_broken_gpu_is_an_error_with_a_way_out() -> None:
    """One line, without the library's advice."""
    with pytest.raises(DeviceFailure) as raised:
        flyball.device()
    assert str(raised.value) == (
        "flyball.device: CUDA error: unspecified launch failure on cuda. Check the GPU, for example with `nvidia-smi`. "
        'To train on the CPU then, pass fallback="cpu" or set FLYBALL_DEVICE_FALLBACK=cpu.'
    )


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("is_open", [False, True])
def test_the_owner_may_allow_the_cpu_and_the_run_is_labelled(
    is_open: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one warning, and a label, whether the run was opened before or after the choice."""
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "agent.sock"))
    monkeypatch.setenv("FLYBALL_LABELS", "team=nlp")
    with ListeningSocket(tmp_path / "agent.sock") as agent:
        if is_open:
            run = flyball.run("on-cpu")
            chosen = flyball.device(fallback="cpu")
        else:
            monkeypatch.setenv("FLYBALL_DEVICE_FALLBACK", "cpu")
            chosen = flyball.device()
            run = flyball.run("on-cpu")
        monkeypatch.delitem(sys.modules, "torch")
        run.step()
        run.finish()
        agent.accept()
        hellos = [line for line in agent.lines() if line["kind"] == "hello"]
    assert chosen == "cpu"
    assert hellos[-1]["labels"] == {"team": "nlp", "device": "cpu (fallback)"}
    error = capsys.readouterr().err
    assert error == "flyball: CUDA error: unspecified launch failure on cuda; this rank trains on the CPU\n"


def test_only_the_cpu_can_be_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else is the caller's mistake."""
    monkeypatch.setitem(sys.modules, "torch", torch_with())
    with pytest.raises(ValueError, match="fallback='cuda': only \"cpu\" is possible"):
        flyball.device(fallback="cuda")


def test_torch_must_be_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flyball never imports it, and the CPU as an answer would be a guess."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(DeviceFailure, match="import torch before this call"):
        flyball.device()


def test_a_device_that_works_is_returned() -> None:
    """The real torch computes on it."""
    torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")
    found = flyball.device()
    assert int(torch.ones(3, device=found).sum()) == 3
