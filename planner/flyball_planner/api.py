"""The planner's Python interface: a plan in one call, and the other public names.

>>> from flyball_planner.api import plan
>>> made = plan(model="gpt2-xl", hardware="A100_80GB_fp16", devices=8, training={"batch_size": 512, "tokens": 30e9})
>>> made.memory.verdict
'fits'
>>> made.model.parameters
1557611200
>>> made.computation.training_flops > 1e20
True
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flyball_planner.catalogue.devices import register_hardware
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import model_cost, model_names, register_model, specification_keys
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.plan.plan import Plan
from flyball_planner.report.render import ReportFormat, render
from flyball_reports.errors import InputError
from flyball_reports.specification.source_value import SourceValue

if TYPE_CHECKING:
    from flyball_planner.calibration.comparison import CalibrationResult
    from flyball_planner.plan.make import make_plan
    from flyball_planner.recommend.recommendation import recommend
    from flyball_planner.specification.specification import Specification
    from flyball_planner.storage.estimator import StorageEstimator

__all__ = [
    "Configuration", "Plan", "ReportFormat", "Specification", "StorageEstimator", "calibrate", "configure", "make_plan",
    "model_cost", "model_names", "plan", "plan_file", "recommend", "register_hardware", "register_model", "render",
    "specification_keys",
]  # fmt: skip

_LATER = {
    "Specification": "flyball_planner.specification.specification",
    "StorageEstimator": "flyball_planner.storage.estimator",
    "make_plan": "flyball_planner.plan.make",
    "recommend": "flyball_planner.recommend.recommendation",
}
"""Names that need numpy, which takes longer to import than everything else here. They are imported on first use, like
the imports inside the functions below."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def plan(
    model: str | Mapping[str, object] | TransformerShape | ModelCost,
    hardware: str | Mapping[str, object],
    devices: int | None = None,
    **sections: Mapping[str, object] | Sequence[object] | str,
) -> Plan:
    """Return the plan for the sections of a specification. A plain name is short for a section with only that name.

    >>> made = plan(
    ...     model={"name": "mlp", "d_in": 784, "d_out": 10, "layers": [512, 256], "n": 60_000, "epochs": 10},
    ...     hardware="RTX_4090_fp16",
    ...     training={"batch_size": 128},
    ... )
    >>> made.model.parameters, made.training.steps
    (535818, 4688)

    The model may also be a `TransformerShape`, or the `ModelCost` that `trace_module` returns for any
    `torch.nn.Module`.

    `calibration` names a file of measured runs or lists them. What a run leaves out is taken from the plan.

    >>> sections = {"training": {"batch_size": 512, "sequence": 1024, "tokens": 30e9}}
    >>> measured = [{"micro_batch": 8, "step_seconds": 5.1}, {"micro_batch": 4, "step_seconds": 5.3}]
    >>> narrowed = plan(model="gpt2-xl", hardware="A100_80GB_fp16", devices=8, calibration=measured, **sections)
    >>> narrowed.calibration.step.runs
    2

    All mistakes are reported at once, with suggestions:

    >>> plan(model="gpt2-xxl", hardware="RTX_4090_fp16", training={"optimiser": "adamw"})
    Traceback (most recent call last):
    ...
    flyball_reports.specification.problems.SpecificationError: ...
    """
    from flyball_planner.plan.make import make_plan  # noqa: PLC0415
    from flyball_planner.specification.reader import read_entry  # noqa: PLC0415

    where = _where(hardware)
    if devices is not None:
        where["devices"] = devices
    subject = model if isinstance(model, TransformerShape | ModelCost) else None
    what = {"name": model} if isinstance(model, str) else {"name": "subject"} if subject else model
    root = _entry({"model": what, "hardware": where, **sections})
    return make_plan(read_entry(root, files=_beside(Path()), subject=subject))


def plan_file(path: str | Path) -> Plan:
    """Return the plan of a specification in YAML, JSON or TOML.

    >>> import tempfile
    >>> from flyball_planner.specification.example_files import example_text
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "run.yaml").write_text(example_text("linear_regression"))
    >>> plan_file(folder / "run.yaml").computation.bottleneck
    'compute-bound'
    """
    from flyball_planner.plan.make import make_plan  # noqa: PLC0415
    from flyball_planner.specification.reader import read_specification  # noqa: PLC0415

    file = Path(path)
    return make_plan(read_specification(file.read_text(encoding="utf-8"), str(file), _beside(file.parent)))


def calibrate(path: str | Path) -> "CalibrationResult":
    """Learn from a file of measured runs and compare the estimates with and without it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "measured.csv"
    >>> _ = file.write_text("model,device,batch_size,sequence,step_seconds\\ngpt2,A100_80GB_fp16,8,1024,0.1\\n")
    >>> learned = calibrate(file)
    >>> [str(each.kind) for each in learned.learned], learned.refused
    (['transformer on A100 SXM4 80GB'], ())
    """
    from flyball_planner.calibration.comparison import calibrate as learn  # noqa: PLC0415
    from flyball_planner.specification.reader import read_entry  # noqa: PLC0415
    from flyball_planner.specification.runs import read_runs  # noqa: PLC0415

    file = Path(path)
    resolve = partial(read_entry, file=str(file), files=_beside(file.parent))
    return learn(read_runs(file.read_text(encoding="utf-8"), str(file), resolve))


def configure(hardware: str, devices: int | None = None, *, longest_days: float = 7.0) -> tuple[Configuration, ...]:
    """Return a conservative, a balanced and an extreme configuration for a machine.

    >>> [each.name for each in configure("RTX_4090_fp16")]
    ['conservative', 'balanced', 'extreme']
    """
    from flyball_planner.configurations.configure import configure as of_machine  # noqa: PLC0415
    from flyball_planner.specification.hardware import named_machine  # noqa: PLC0415

    if not isinstance(hardware, str):
        raise InputError(f"configure: expected the name of a device or an instance type, not {hardware!r}")
    return of_machine(named_machine(hardware, devices), longest_days=longest_days)


def _where(hardware: object) -> dict[str, object]:
    """Return the section `hardware`."""
    if isinstance(hardware, str):
        return {"device": hardware}
    if not isinstance(hardware, Mapping):
        raise InputError(f"plan: hardware: expected the name of a device or keys such as device, not {hardware!r}")
    return dict(hardware)


def _beside(folder: Path) -> Callable[[str], str]:
    """Return a function that opens files of a folder."""
    return lambda name: (folder / name).read_text(encoding="utf-8")


def _entry(value: Any) -> SourceValue:
    """Convert plain values to values without lines."""
    if isinstance(value, Mapping):
        return SourceValue({str(key): _entry(each) for key, each in value.items()}, 0)
    if isinstance(value, list | tuple):
        return SourceValue([_entry(each) for each in value], 0)
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return _entry(value.tolist())
    return SourceValue(value, 0)
