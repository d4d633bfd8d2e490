"""Replaces the package `flyball` where a script must run without it: everything does nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any


class NoRun:
    """Accepts what a run accepts, measures nothing and reports nothing."""

    def data(self, items: Any) -> Any:
        """Return the items themselves."""
        return items

    @contextmanager
    def block(self, _name: str) -> Iterator[None]:
        """Run a block."""
        yield

    section = call = block

    def level(self, _name: str) -> "NoRun":
        """Return something with `add`."""
        return self

    def batch(self, **_: object) -> "NoBatches":
        """Return what computes batches whole."""
        return NoBatches()

    def nothing(self, *_: object, **__: object) -> None:
        """Do nothing."""

    step = mark = add = summary = finish = nothing

    def __enter__(self) -> "NoRun":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class NoBatches:
    """Computes each batch whole."""

    def accumulate(self, part: Callable[[Any], Any], data: Any, **_: object) -> Any:
        """Compute the batch."""
        return part(data)


def module() -> ModuleType:
    """Return a module with the names of `flyball` that scripts use."""
    made = ModuleType("flyball")
    made.run = made.attach = lambda *_, **__: NoRun()  # type: ignore[attr-defined]  # modules accept attributes
    made.Run = NoRun  # type: ignore[attr-defined]
    made.lightning = _NoLightning()  # type: ignore[attr-defined]
    return made


class _NoLightning:
    """Replaces `flyball.lightning`."""

    @property
    def Callback(self) -> Any:  # noqa: N802  the name of the class
        """Return a callback that does nothing."""

        class NoCallback(sys.modules["lightning.pytorch"].Callback):  # type: ignore[misc]  # found at run time
            """Gives a module the attribute that the real callback gives it."""

            def on_train_start(self, _: Any, module: Any) -> None:
                module.flyball = SimpleNamespace(batch=NoBatches())

        return lambda **_: NoCallback()
