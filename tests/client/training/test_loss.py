"""Losses of any kind become numbers, or are dropped; none is waited for, and none is kept."""

import math
import sys
import weakref
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.training.loss import LossReader
from tests.client.training.standin_cuda import StandinCuda


def read(loss: object) -> float | None:
    """Return what a report would contain."""
    reader = LossReader()
    reader.offer(loss)
    return reader.take()


@pytest.mark.parametrize(
    "loss",
    [
        2.5,
        Decimal("2.5"),
        Fraction(5, 2),
        np.float32(2.5),
        np.float64(2.5),
        np.array(2.5),
        np.array([[2.5]]),
        np.float16(2.5),
    ],
)
def test_numbers_of_all_libraries_are_read_at_once(loss: object) -> None:
    """A loss may come from plain Python or NumPy."""
    assert read(loss) == 2.5


@pytest.mark.parametrize("loss", [7, np.int64(7), np.uint8(7)])
def test_whole_numbers_are_losses(loss: object) -> None:
    """A count of errors is a loss, too."""
    assert read(loss) == 7.0


@pytest.mark.parametrize("make", [float, np.float32, Decimal])
def test_what_is_not_finite_is_reported(make: Callable[[str], object]) -> None:
    """NaN and infinity are findings, not faults of the client."""
    value = read(make("nan"))
    assert value is not None
    assert math.isnan(value)
    assert read(make("-inf")) == -math.inf


@pytest.mark.parametrize(
    "loss",
    [True, "2.5", b"2", 1j, [2.5], (2.5,), {"loss": 2.5}, object(), 10**400, np.bool_(True), np.array([1.0, 2.0]),
     np.array([]),
     np.complex64(1), np.datetime64(7, "s"), np.array("2.5"), np.array([object()]), Decimal("sNaN"), float],
)  # fmt: skip
def test_what_is_not_a_single_number_is_dropped_and_counted(loss: object) -> None:
    """It must never raise, and an older value must not be reported in its place."""
    reader = LossReader()
    reader.offer(loss)
    assert reader.take() is None
    assert reader.dropped == 1


def test_no_loss_is_not_a_drop() -> None:
    """Most steps pass none."""
    reader = LossReader()
    reader.offer(None)
    assert (reader.take(), reader.dropped) == (None, 0)


def test_a_value_is_taken_once_and_the_newest_wins() -> None:
    """A report without a new loss has none."""
    reader = LossReader()
    reader.offer(1.0)
    reader.offer(2.0)
    assert (reader.take(), reader.take()) == (2.0, None)


class Hostile:
    """An object that fails at whatever is asked of it."""

    __module__ = "decimal"

    def __float__(self) -> float:
        raise RuntimeError("no")


def test_an_object_that_raises_is_dropped() -> None:
    """Its error stays here."""
    reader = LossReader()
    reader.offer(Hostile())
    assert (reader.take(), reader.dropped) == (None, 1)


@given(
    st.one_of(
        st.floats(),
        st.integers(),
        st.text(),
        st.binary(),
        st.none(),
        st.decimals(),
        st.fractions(),
        st.complex_numbers(),
    )
)
def test_nothing_that_is_passed_raises(loss: object) -> None:
    """Whatever it is, the result is a number or unknown."""
    found = read(loss)
    assert found is None or isinstance(found, float)


torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "float8_e4m3fn"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_tensors_on_the_cpu_are_read_at_once(dtype: str, shape: tuple[int, ...]) -> None:
    """Of any type and with any shape of one element."""
    assert read(torch.full(shape, 2.0).to(getattr(torch, dtype))) == 2.0


def test_a_tensor_with_a_graph_is_read_without_a_warning_and_not_kept() -> None:
    """A reference would keep the activations of a step in memory."""
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * 2).sum()
    gone = weakref.ref(loss)
    reader = LossReader()
    reader.offer(loss)
    assert reader.take() == 6.0
    loss.backward()
    assert weight.grad is not None
    del loss
    assert gone() is None


def test_a_reader_works_in_and_after_inference_mode() -> None:
    """An evaluation may report its loss."""
    reader = LossReader()
    with torch.inference_mode():
        inner = torch.tensor(3.0)
        reader.offer(inner)
        assert reader.take() == 3.0
    reader.offer(inner)
    assert reader.take() == 3.0


def _fake() -> object:
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415  torch may be missing

    with FakeTensorMode():
        return torch.tensor(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2),
        lambda: torch.ones(0),
        lambda: torch.tensor(True),
        lambda: torch.tensor(1j),
        lambda: torch.ones((), device="meta"),
        lambda: torch.ones(1).to_sparse(),
        _fake,
    ],
    ids=["two", "none", "truth", "complex", "meta", "sparse", "fake"],
)
def test_tensors_without_one_readable_number_are_dropped(make: Callable[[], object]) -> None:
    """Reading them would raise, or be wrong."""
    reader = LossReader()
    reader.offer(make())
    assert (reader.take(), reader.dropped) == (None, 1)


def test_distributed_tensors_are_dropped() -> None:
    """Their value needs other ranks, which may not call at the same time."""

    class Distributed(torch.Tensor):  # type: ignore[misc, name-defined]  # torch may be missing for mypy
        @classmethod
        def __torch_dispatch__(cls, *_: object, **__: object) -> object:
            raise AssertionError("an operation was run")

    loss = torch.Tensor._make_wrapper_subclass(Distributed, ())
    reader = LossReader()
    reader.offer(loss)
    assert (reader.take(), reader.dropped) == (None, 1)


def test_losses_inside_function_transforms_are_dropped() -> None:
    """There, a tensor may represent a batch of values."""
    reader = LossReader()

    def inner(x: object) -> object:
        reader.offer(x)
        return x

    torch.func.vmap(inner)(torch.ones(3))
    assert (reader.take(), reader.dropped) == (None, 1)


def test_a_module_that_is_still_being_imported_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parts are missing then."""
    monkeypatch.setattr(torch.__spec__, "_initializing", True, raising=False)
    assert read(torch.tensor(1.0)) is None


def test_nothing_is_imported_to_read_a_number() -> None:
    """A script without torch must not get it."""
    before = set(sys.modules)
    read(2.5)
    read("text")
    assert set(sys.modules) == before


class TestOnADevice:
    """The device plays its stream by hand: see the stand-in. `make gpu-check` does the same with a real one."""

    def test_the_value_comes_when_the_device_has_reached_it(self, cuda: StandinCuda) -> None:
        """Nothing waits for it in between."""
        reader = LossReader()
        reader.offer(cuda.tensor(2.5))
        assert reader.take() is None
        cuda.finish()
        assert reader.take() == 2.5
        assert reader.take() is None

    def test_the_report_order_does_not_matter(self, cuda: StandinCuda) -> None:
        """A finished value is not lost if the next loss is offered before it is taken."""
        reader = LossReader()
        reader.offer(cuda.tensor(1.0))
        cuda.finish()
        reader.offer(cuda.tensor(2.0))
        assert reader.take() == 1.0
        cuda.finish()
        assert reader.take() == 2.0

    def test_a_device_that_is_far_behind_still_reports(self, cuda: StandinCuda) -> None:
        """The first value is waited for; later ones do not replace it for ever."""
        reader = LossReader()
        for value in (1.0, 2.0, 3.0):
            reader.offer(cuda.tensor(value))
            assert reader.take() is None
        cuda.finish()
        assert reader.take() == 1.0

    def test_memory_is_pinned_once(self, cuda: StandinCuda) -> None:
        """Pinning takes a millisecond; an event and a buffer serve all reports."""
        reader = LossReader()
        for value in range(10):
            reader.offer(cuda.tensor(float(value)))
            cuda.finish()
            assert reader.take() == float(value)
        assert (cuda.pinned, cuda.events) == (1, 1)

    def test_nothing_is_done_while_a_graph_is_captured(self, cuda: StandinCuda) -> None:
        """Events and copies would become part of the graph, or break the capture."""
        reader = LossReader()
        reader.offer(cuda.tensor(1.0))
        cuda.finish()
        cuda.capturing = True
        assert reader.take() is None
        reader.offer(cuda.tensor(2.0))
        assert cuda.calls_while_capturing == 0
        cuda.capturing = False
        assert reader.take() == 1.0

    def test_an_error_of_the_device_stays_here(self, cuda: StandinCuda) -> None:
        """The training meets it at its own next call."""
        reader = LossReader()
        reader.offer(cuda.tensor(1.0))
        cuda.failing = True
        assert reader.take() is None
        cuda.failing = False
        reader.offer(cuda.tensor(2.0))
        cuda.finish()
        assert reader.take() == 2.0

    def test_no_reference_to_the_tensor_is_kept(self, cuda: StandinCuda) -> None:
        """Its memory is free for the next step at once."""
        loss = cuda.tensor(1.0)
        gone = weakref.ref(loss)
        reader = LossReader()
        reader.offer(loss)
        del loss
        assert gone() is None

    def test_a_forked_process_does_not_touch_the_device(self, cuda: StandinCuda) -> None:
        """CUDA does not survive a fork."""
        reader = LossReader()
        reader.offer(cuda.tensor(1.0))
        cuda.finish()
        cuda.initialised = False
        queries = cuda.queries
        assert reader.take() is None
        assert cuda.queries == queries


jax = pytest.importorskip("jax", reason="jax is not installed")


def test_arrays_of_jax_are_read_when_they_are_computed() -> None:
    """They are never waited for."""
    loss = jax.numpy.float32(2.5)
    loss.block_until_ready()
    assert read(loss) == 2.5
    assert read(jax.numpy.ones((1,))) == 1.0


def test_arrays_of_jax_without_one_number_are_dropped() -> None:
    """Two values, a truth value, and one that the script has deleted."""
    deleted = jax.numpy.float32(1.0)
    deleted.delete()
    for loss in (jax.numpy.ones(2), jax.numpy.bool_(True), deleted):
        reader = LossReader()
        reader.offer(loss)
        assert (reader.take(), reader.dropped) == (None, 1)


def test_values_that_jax_only_traces_are_dropped() -> None:
    """A step inside of a compiled function has no loss yet."""
    reader = LossReader()

    def step(x: object) -> object:
        reader.offer(x)
        return x

    jax.jit(step)(1.0)
    assert (reader.take(), reader.dropped) == (None, 1)
