"""`flyball.attach`: lets an object of a training framework report. It imports none of these frameworks itself."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import TYPE_CHECKING, Any

from flyball.frameworks.attachment import Attachment
from flyball.training import opening

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flyball.training.run import Run

ROOMS = {
    ("transformers.trainer", "Trainer"): "transformers",
    ("lightning.pytorch.trainer.trainer", "Trainer"): "lightning",
    ("pytorch_lightning.trainer.trainer", "Trainer"): "lightning",
    ("deepspeed.runtime.engine", "DeepSpeedEngine"): "deepspeed",
    ("torch.optim.optimizer", "Optimizer"): "optimizer",
    ("accelerate.optimizer", "AcceleratedOptimizer"): "optimizer",
}
"""Where a class is defined, its name, and the module of this folder for it."""

_OTHERS = {
    "accelerate": "pass the prepared optimizer, or report the loop: examples/training/accelerate_loop.py",
    "keras": "pass a callback to fit(): examples/training/keras_fit.py",
    "jax": "report the loop with flyball.run: examples/training/jax_loop.py",
    "flax": "report the loop with flyball.run: examples/training/jax_loop.py",
    "torch": "report the loop with flyball.run, or pass the optimizer",
}
_POSSIBLE = "a Trainer of transformers or Lightning, a DeepSpeed engine, or an optimizer of PyTorch"


def attach(target: object, run: Run | str = "", **options: Any) -> Run:
    """Let an object of a framework report its training, and return the run.

    `target` is a Trainer of transformers or Lightning, a DeepSpeed engine, or an optimizer of PyTorch. `run` is a name
    or an open run; options are those of `flyball.run`. Anything else is refused with a warning; nothing is raised.
    """
    attachment = Attachment(run, _known(options))
    try:
        room = _room_of(target)
        if room is None:
            _warn(_refusal(target))
            return _unattached(attachment)
        importlib.import_module(f"flyball.frameworks.{room}").attach(target, attachment)
    except Exception as error:  # noqa: BLE001  it must not reach the training
        _warn(f"{_name_of(target)} cannot report: {error!r}")
        return _unattached(attachment)
    return attachment.run


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that `flyball.run` accepts, and warn about others."""
    names = opening.run.__kwdefaults__ or {}
    for name in sorted(set(options) - set(names)):
        _warn(f"there is no option {name}. Options: {', '.join(names)}")
    return {name: value for name, value in options.items() if name in names}


def _room_of(target: object) -> str | None:
    for each in type(target).__mro__:
        room = ROOMS.get((each.__module__, each.__name__))
        if room is not None:
            return room
    return None


def _unattached(attachment: Attachment) -> Run:
    """Return the run of something that does not report. A run that the caller has opened stays open."""
    run = attachment.run
    attachment.end()
    return run


def _name_of(target: object) -> str:
    return f"{type(target).__module__}.{type(target).__qualname__}"


def _refusal(target: object) -> str:
    packages = [each.__module__.partition(".")[0] for each in type(target).__mro__]
    hints = [_OTHERS[package] for package in packages if package in _OTHERS]
    hint = f" Instead, {hints[0]}." if hints else ""
    return f"cannot attach to {_name_of(target)}: expected {_POSSIBLE}.{hint}"


def _warn(text: str) -> None:
    """Warn at the line that called `attach`. Where warnings are errors, the training still goes on."""
    with contextlib.suppress(Warning):
        warnings.warn(f"flyball.attach: {text}", stacklevel=3)
