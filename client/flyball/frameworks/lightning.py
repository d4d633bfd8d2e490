"""Reports a training of Lightning. The class is made for the packages that the script has imported."""

from __future__ import annotations

import functools
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flyball.frameworks.attachment import Attachment
from flyball.frameworks.lightning_batches import OPTIONS
from flyball.frameworks.lightning_watch import FitWatch

if TYPE_CHECKING:
    from flyball.training.run import Run

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
"""The same framework under two names. Each accepts only callbacks made from its own class."""


def attach(trainer: Any, attachment: Attachment) -> None:
    """Add the callback to a trainer that exists already. Callbacks that write checkpoints stay last."""
    own = callback_class()
    callbacks = [each for each in trainer.callbacks if not isinstance(each, FitWatch)]
    first = next((at for at, each in enumerate(callbacks) if hasattr(each, "best_model_path")), len(callbacks))
    callbacks.insert(first, own(attachment=attachment))
    trainer.callbacks = callbacks


def callback_class() -> Any:
    """Return the class of the callback for the package that the script uses."""
    loaded = tuple(name for name in PACKAGES if name in sys.modules)
    return _class_for(loaded or (_installed(),))


def _installed() -> str:
    """Return the package that is installed; the newer name comes first."""
    for name in PACKAGES:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or "?"):
                raise
        else:
            return name
    raise ModuleNotFoundError("flyball.lightning needs the package lightning or pytorch_lightning", name=PACKAGES[0])


@functools.cache
def _class_for(packages: tuple[str, ...]) -> Any:
    """Return a class that each of these packages accepts."""
    bases = tuple(import_module(name).Callback for name in packages)

    def __init__(self: Any, run: Run | str = "", *, attachment: Attachment | None = None, **options: Any) -> None:  # noqa: N807
        sizes = {name: options.pop(name) for name in OPTIONS if name in options}
        FitWatch.__init__(self, attachment or Attachment(run, options), sizes)

    def __reduce__(self: Any) -> tuple[Any, ...]:  # noqa: N807
        return _rebuild, (packages, self.attachment, self.sizes)

    contents = {"__init__": __init__, "__reduce__": __reduce__, "__doc__": FitWatch.__doc__}
    return type("Callback", (FitWatch, *bases), contents | {"__module__": "flyball.lightning"})


def _rebuild(packages: tuple[str, ...], attachment: Attachment, sizes: dict[str, Any]) -> Any:
    """Return a copy in another process: strategies that spawn processes send the callback to each."""
    return _class_for(packages)(attachment=attachment, **sizes)
