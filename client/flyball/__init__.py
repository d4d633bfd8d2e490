"""The package for users: `import flyball` in a training script, and the `flyball` command.

>>> import flyball
>>> with flyball.run("example", total_steps=3) as run:
...     for batch in run.data([1, 2, 3]):
...         run.step(samples=1)
>>> run.last_step
3

Some names of the planner, and the profiler, are available here too:

>>> estimator = flyball.StorageEstimator(num_nodes=4, chunk_size=15, zipf_alpha=1.0)
>>> round(estimator.estimate_storage(100_000, 500).total_storage_gb, 2)
1.4

Each name is imported when it is first used, so that `import flyball` costs a training script almost nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would cost more than the rest of the import
    from flyball import lightning as lightning
    from flyball.adjustments.veto import Veto as Veto
    from flyball.devices import device as device
    from flyball.frameworks.attach import attach as attach
    from flyball.host.hardware_analyzer import HardwareAnalyzerV2 as HardwareAnalyzerV2
    from flyball.host.hardware_profile import HardwareProfile as HardwareProfile
    from flyball.profiling.engine import ProfilingEngine as ProfilingEngine
    from flyball.profiling.profiling_summary import ProfilingSummary as ProfilingSummary
    from flyball.profiling.resource_snapshot import ResourceSnapshot as ResourceSnapshot
    from flyball.training.opening import current_run as current_run
    from flyball.training.opening import run as run
    from flyball.training.run import Run as Run
    from flyball_planner.api import configure as configure
    from flyball_planner.api import plan as plan
    from flyball_planner.api import plan_file as plan_file
    from flyball_planner.catalogue.devices import register_hardware as register_hardware
    from flyball_planner.models.families import register_model as register_model
    from flyball_planner.recommend.recommendation import recommend as recommend
    from flyball_planner.storage.estimator import LevelEstimate as LevelEstimate
    from flyball_planner.storage.estimator import StorageBreakdown as StorageBreakdown
    from flyball_planner.storage.estimator import StorageEstimator as StorageEstimator

_NAMES = {
    "HardwareAnalyzerV2": "flyball.host.hardware_analyzer",
    "HardwareProfile": "flyball.host.hardware_profile",
    "LevelEstimate": "flyball_planner.storage.estimator",
    "ProfilingEngine": "flyball.profiling.engine",
    "ProfilingSummary": "flyball.profiling.profiling_summary",
    "ResourceSnapshot": "flyball.profiling.resource_snapshot",
    "Run": "flyball.training.run",
    "StorageBreakdown": "flyball_planner.storage.estimator",
    "StorageEstimator": "flyball_planner.storage.estimator",
    "Veto": "flyball.adjustments.veto",
    "attach": "flyball.frameworks.attach",
    "configure": "flyball_planner.api",
    "current_run": "flyball.training.opening",
    "device": "flyball.devices",
    "lightning": "flyball.lightning",
    "plan": "flyball_planner.api",
    "plan_file": "flyball_planner.api",
    "recommend": "flyball_planner.recommend.recommendation",
    "register_hardware": "flyball_planner.catalogue.devices",
    "register_model": "flyball_planner.models.families",
    "run": "flyball.training.opening",
}
"""The names of the package and their modules."""


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_NAMES[name])
    value = globals()[name] = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
