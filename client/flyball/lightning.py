"""`flyball.lightning.Callback(run="vit-3")`: reports a training of Lightning.

    trainer = Trainer(callbacks=[flyball.lightning.Callback(run="vit-3")])

It works with `lightning` and with `pytorch_lightning`. Import yours before you use the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Callback: Any


def __getattr__(name: str) -> object:
    if name != "Callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from flyball.frameworks.lightning import callback_class

    return callback_class()
