"""A stand-in for the parts of torch.cuda that the client uses. A test advances its clock and its stream."""

import time
from typing import Any

import pytest


class StandinCuda:
    """One device with one stream: what is recorded is finished when the test calls `finish`."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.initialised = True
        self.capturing = False
        self.failing = False
        self.now = 0.0  # milliseconds, as the device counts them
        self.work_seconds = 0.0  # that are left whenever somebody waits for the device
        self.pinned = self.events = self.queries = self.calls_while_capturing = 0
        self._recorded = self._finished = 0
        self._copies: list[tuple[int, Any, Any]] = []

    def is_initialized(self) -> bool:
        """Answer as torch.cuda does: False in a forked process."""
        return self.initialised

    def is_current_stream_capturing(self) -> bool:
        """Return True while a graph is captured."""
        return self.capturing

    def synchronize(self) -> None:
        """Wait until the device has done its work."""
        self.check()
        time.sleep(self.work_seconds)
        self.finish()

    def current_stream(self, device: object = None) -> object:
        """Return the only stream."""
        return device

    def Event(self, enable_timing: bool = False) -> "StandinEvent":  # noqa: N802  the name in torch
        """Create an event."""
        self.events += 1
        return StandinEvent(self, timing=enable_timing)

    def memory_stats_as_nested_dict(self) -> dict[str, Any]:
        """Return the statistics in the form of torch. This calls nothing of the driver, and so it may be captured."""
        self._fail()
        pool = {"all": {"current": 1, "peak": 2**30, "allocated": 5, "freed": 4}}
        return {"allocated_bytes": pool, "reserved_bytes": {"all": {"peak": 2**31}}, "num_alloc_retries": 3}

    def finish(self) -> None:
        """Let the stream do all that was recorded."""
        self._finished = self._recorded
        for _, target, value in self._copies:
            target.fill_(value)
        self._copies.clear()

    def tensor(self, value: float) -> Any:
        """Return a tensor whose device is the stand-in."""
        return _on_device(self._torch, self, value)

    def check(self) -> None:
        """Count a call, and fail if the test wants that."""
        self.calls_while_capturing += self.capturing
        self._fail()

    def _fail(self) -> None:
        if self.failing:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")


class StandinEvent:
    """An event on the stand-in's stream."""

    def __init__(self, cuda: StandinCuda, *, timing: bool) -> None:
        self._cuda = cuda
        self._timing = timing
        self._position = 0
        self._at = 0.0

    def record(self, stream: object = None) -> None:  # noqa: ARG002  there is only one stream
        """Take the position in the stream, and its time."""
        self._cuda.check()
        self._cuda._recorded += 1
        self._position, self._at = self._cuda._recorded, self._cuda.now

    def query(self) -> bool:
        """Return True when the stream has passed the event."""
        self._cuda.check()
        self._cuda.queries += 1
        return self._position <= self._cuda._finished

    def elapsed_time(self, later: "StandinEvent") -> float:
        """Return milliseconds; raise as torch does if that is not possible."""
        self._cuda.check()
        if not (self._timing and later._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not later.query():
            raise RuntimeError("device not ready")
        return later._at - self._at


def _on_device(torch: Any, cuda: StandinCuda, value: float) -> Any:
    class DeviceTensor(torch.Tensor):  # type: ignore[misc]  # torch may be missing for mypy
        """Answers `cuda` when asked for its device, and refuses to be read."""

        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(function, "__name__", "")
            if function == torch.Tensor.device.__get__:
                return torch.device("cuda", 0)
            if name in {"item", "__float__", "cpu", "tolist", "numpy"}:
                raise AssertionError(f"{name} waits for the device")
            if name == "copy_" and not isinstance(args[0], DeviceTensor):
                assert (kwargs or {}).get("non_blocking")
                cuda.check()
                cuda._copies.append((cuda._recorded, args[0], value))
                return args[0]
            return super().__torch_function__(function, types, args, kwargs or {})

    return torch.tensor(value).as_subclass(DeviceTensor)


def put_into_torch(monkeypatch: pytest.MonkeyPatch) -> StandinCuda:
    """Put the stand-in into torch for one test. Memory is not really pinned."""
    torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")
    standin = StandinCuda(torch)
    empty = torch.empty

    def pinned(*arguments: Any, pin_memory: bool = False, **named: Any) -> Any:
        standin.pinned += pin_memory
        return empty(*arguments, **named)

    for name in (
        "is_initialized",
        "is_current_stream_capturing",
        "current_stream",
        "synchronize",
        "Event",
        "memory_stats_as_nested_dict",
    ):
        monkeypatch.setattr(torch.cuda, name, getattr(standin, name))
    monkeypatch.setattr(torch, "empty", pinned)
    return standin
