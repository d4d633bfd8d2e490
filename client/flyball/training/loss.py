"""Reads the value of a loss. It never waits for a device, and keeps no reference to a tensor or its graph."""

from __future__ import annotations

from flyball.training.loaded_modules import initialised_cuda, loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMERIC_KINDS = "fiuV"  # of NumPy's types; V includes the bfloat16 of ml_dtypes
_OTHER_NUMBERS = ("decimal", "_decimal", "_pydecimal", "fractions")


class LossReader:
    """Turns a number, array or tensor into a number, at once or as soon as its device has computed it."""

    __slots__ = ("_array", "_buffer", "_copied", "_device", "_value", "_waiting", "dropped")

    def __init__(self) -> None:
        self._value: float | None = None
        self._array: Any = None  # of JAX, where a value cannot change and has no graph
        self._buffer: Any = None  # pinned memory for one value
        self._copied: Any = None  # the event after the copy into the buffer
        self._device: Any = None
        self._waiting = False
        self.dropped = 0  # losses that are not numbers, or cannot be read without waiting

    def offer(self, loss: object) -> None:
        """Begin to read the newest loss."""
        try:
            self._collect()
            if loss is not None and not self._begin(loss):
                self.dropped += 1
        except Exception:  # noqa: BLE001  a loss may be an object of any library, and nothing may reach the training
            self._give_up()

    def take(self) -> float | None:
        """Return the value of the newest loss that is known by now, once."""
        try:
            self._collect()
        except Exception:  # noqa: BLE001  the device may have failed: the training finds that out itself
            self._give_up()
        value, self._value = self._value, None
        return value

    def _begin(self, loss: object) -> bool:
        if isinstance(loss, (float, int)):
            return not isinstance(loss, bool) and self._keep(float(loss))
        torch = loaded("torch")
        if torch is not None and isinstance(loss, torch.Tensor):
            return self._begin_tensor(torch, loss)
        numpy = loaded("numpy")
        if numpy is not None and isinstance(loss, (numpy.ndarray, numpy.generic)):
            return loss.size == 1 and loss.dtype.kind in _NUMERIC_KINDS and self._keep(float(loss.item()))
        jax = loaded("jax")
        if jax is not None and isinstance(loss, jax.Array):
            return self._begin_jax(loss)
        return type(loss).__module__ in _OTHER_NUMBERS and self._keep(float(loss))  # type: ignore[arg-type]

    def _begin_tensor(self, torch: Any, loss: Any) -> bool:
        if not _is_readable(torch, loss):
            return False
        kind = loss.device.type
        if kind == "cpu":
            return self._keep(float(loss.detach()))
        return kind == "cuda" and self._copy(torch, loss)  # reading from XLA or MPS would wait for the device

    def _copy(self, torch: Any, loss: Any) -> bool:
        """Start a copy to pinned memory behind the work that computes the loss.

        The stream of the loss is not recorded: in the pool of a CUDA graph, that would keep the memory from being used
        again.
        """
        cuda = torch.cuda
        if cuda.is_current_stream_capturing():
            return False
        if self._copied is not None and not self._copied.query():
            return True  # the previous value comes first: a device that is far behind must not starve the report
        with torch.no_grad(), torch.inference_mode(False):
            if self._buffer is None or self._buffer.dtype != loss.dtype:
                self._buffer = torch.empty((), dtype=loss.dtype, device="cpu", pin_memory=True)
            if self._copied is None or self._device != loss.device:
                self._copied, self._device = cuda.Event(), loss.device
            self._buffer.copy_(loss.detach().reshape(()), non_blocking=True)
            self._copied.record(cuda.current_stream(loss.device))
        self._waiting, self._array = True, None
        return True

    def _begin_jax(self, loss: Any) -> bool:
        """Keep the array until it is computed. Arrays in a function that is being traced have no `is_ready`."""
        if loss.size != 1 or loss.dtype.kind not in _NUMERIC_KINDS or not hasattr(loss, "is_ready"):
            return False
        loss.copy_to_host_async()
        self._array, self._waiting = loss, False
        return True

    def _collect(self) -> None:
        """Take over the value that a device has computed since."""
        if self._array is not None and self._array.is_ready():
            array, self._array = self._array, None
            self._value = float(array.item())
        if self._waiting:
            cuda = initialised_cuda()  # None in a forked process
            if cuda is not None and not cuda.is_current_stream_capturing() and self._copied.query():
                self._waiting = False
                self._value = float(self._buffer)

    def _keep(self, value: float) -> bool:
        self._value, self._array, self._waiting = value, None, False
        return True

    def _give_up(self) -> None:
        self._array = self._buffer = self._copied = self._device = None
        self._waiting = False
        self.dropped += 1


def _is_readable(torch: Any, loss: Any) -> bool:
    """Return True for a plain tensor with one real number, outside of compilation and function transforms.

    The value of a distributed or fake tensor cannot be read, or only together with other ranks. Such types, and active
    modes that look like them, intercept operations.
    """
    return (
        not torch.compiler.is_compiling()
        and type(loss).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
        and not torch._C._len_torch_dispatch_stack()  # the public form asks for one's own modes only
        and torch._C._functorch.peek_interpreter_stack() is None
        and loss.layout is torch.strided
        and loss.numel() == 1
        and loss.dtype is not torch.bool
        and not loss.is_complex()
        and not loss.is_quantized
    )
