"""The package for users: `import flyball` in a training script, and the `flyball` command.

Some names of the planner are available here too. The planner is imported when one of them is first used:

>>> from flyball import StorageEstimator
>>> estimator = StorageEstimator(num_nodes=4, chunk_size=15, zipf_alpha=1.0)
>>> round(estimator.estimate_storage(100_000, 500).total_storage_gb, 2)
1.4
"""

from importlib import import_module

_PLANNER_NAMES = {
    "StorageEstimator": "flyball_planner.storage.estimator",
    "register_hardware": "flyball_planner.catalogue.devices",
    "register_model": "flyball_planner.models.families",
}


def __getattr__(name: str) -> object:
    if name not in _PLANNER_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLANNER_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_PLANNER_NAMES))
