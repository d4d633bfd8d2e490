"""Call the hooks when the script has imported a module that they concern. When a process starts, it loads nothing."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

WATCHED = frozenset((
    "torch",
    "flyball.training.opening",
    "http.client",
    "safetensors.torch",
    "torch.distributed.checkpoint.state_dict_saver",
    "transformers.trainer_callback",
    "lightning.pytorch.trainer.trainer",
    "pytorch_lightning.trainer.trainer",
    "deepspeed.runtime.engine",
))  # fmt: skip
"""The modules in `flyball.hooks.install.HOOKS`."""

_FIRST = ("torch", "flyball.training.opening")
_LEVELS = 3  # of folders between this one and the package's parent: site, hooks, flyball


class AfterImport:
    """A finder of modules that finds what the others find. The watched modules are passed to the hooks afterwards."""

    def __init__(self) -> None:
        self._searched: set[str] = set()  # a finder may ask all finders, which would lead here again

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what the other finders find for a watched module, and nothing for others."""
        if name not in WATCHED or name in self._searched:
            return None
        self._searched.add(name)
        try:
            for finder in sys.meta_path:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = find(name, path, target) if find else None
                if spec is not None:
                    _observe(spec)
                    return spec
        finally:
            self._searched.discard(name)
        return None


class OwnPackage:
    """The last finder: it finds the package `flyball` where the Python of the script does not have it installed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the package from its own folder. The folder holds other packages too, so it is not on `sys.path`."""
        if name != "flyball":
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, [self._folder], target)


def install(site: str) -> None:
    """Add the finders to this process. `site` is the folder of this file."""
    sys.meta_path.insert(0, AfterImport())
    sys.meta_path.append(OwnPackage(site.rsplit("/", _LEVELS)[0]))


def _observe(spec: ModuleSpec) -> None:
    """Call the hooks after this module has been executed. The loader is one object for each module."""
    loader = spec.loader
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def exec_module(module: ModuleType) -> None:
        try:
            del loader.exec_module  # type: ignore[union-attr]  # it is set below
            execute(module)
        except BaseException as error:
            _leave_out_caller(error)
            raise
        _call_hooks(module.__name__)

    try:  # noqa: SIM105  contextlib would be imported for nothing
        loader.exec_module = exec_module  # type: ignore[union-attr,method-assign]  # checked above
    except AttributeError:  # this loader does not allow it
        pass


def _leave_out_caller(error: BaseException) -> None:
    """Remove the calling frame from a traceback, which then looks as if the script ran without the hooks."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _call_hooks(name: str) -> None:
    """Call the hooks. They are loaded with torch, or with a run of the script that opens one by itself."""
    if name not in _FIRST and "flyball.hooks.install" not in sys.modules:
        return
    try:
        from flyball.hooks.install import after_import

        after_import(name)
    except Exception:  # noqa: BLE001, S110  the import has succeeded, and the script must not see anything else
        pass
