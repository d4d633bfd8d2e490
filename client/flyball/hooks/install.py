"""Installs the hooks into the libraries of a training, after the script has imported them."""

from __future__ import annotations

import sys

from flyball.hooks import calls, checkpoints, deepspeed, lightning, loaders, own_runs, steps, transformers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _install_torch(torch: Any, found: steps.OptimizerSteps) -> None:
    for install in (steps.install, loaders.install, checkpoints.install):
        install(torch, found)


HOOKS: dict[str, Callable[[Any, steps.OptimizerSteps], None]] = {
    "torch": _install_torch,
    "flyball.training.opening": own_runs.install,
    "http.client": calls.install,
    "safetensors.torch": checkpoints.install_safetensors,
    "torch.distributed.checkpoint.state_dict_saver": checkpoints.install_distributed,
    "transformers.trainer_callback": transformers.install,
    "lightning.pytorch.trainer.trainer": lightning.install,
    "pytorch_lightning.trainer.trainer": lightning.install,
    "deepspeed.runtime.engine": deepspeed.install,
}
"""What is done after the import of each module. The file that runs when a process starts lists the same names."""

_STEPS = steps.OptimizerSteps()
_installed: set[str] = set()


def after_import(name: str) -> None:
    """Install the hooks of a module. With torch, also those of modules that were imported before it."""
    _install(name)
    for other in HOOKS if name == "torch" else ():
        if other in sys.modules and not _is_incomplete(sys.modules[other]):
            _install(other)


def _install(name: str) -> None:
    """Install the hooks of one module once. A version that lacks what they need goes without them."""
    if name in _installed:
        return
    _installed.add(name)
    try:
        HOOKS[name](sys.modules[name], _STEPS)
    except Exception:  # noqa: BLE001  it must not reach the script
        _STEPS.failures += 1


def _is_incomplete(module: Any) -> bool:
    """Return True while a module is being imported. Its hooks are installed at the end of that."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
