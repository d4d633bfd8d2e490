"""The planner from Python: a plan in one call, and the names that earlier scripts know.

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
from flyball_reports.specification.entry import Entry

if TYPE_CHECKING:
    from flyball_planner.calibration.compare import Calibration
    from flyball_planner.plan.make import make_plan
    from flyball_planner.specification.specification import Specification
    from flyball_planner.storage.estimator import StorageEstimator

__all__ = [
    "Configuration", "Plan", "ReportFormat", "Specification", "StorageEstimator", "calibrate", "configure", "make_plan",
    "model_cost", "model_names", "plan", "plan_file", "register_hardware", "register_model", "render",
    "specification_keys",
]  # fmt: skip

_LATER = {
    "Specification": "flyball_planner.specification.specification",
    "StorageEstimator": "flyball_planner.storage.estimator",
    "make_plan": "flyball_planner.plan.make",
}
"""What needs numpy, whose import takes longer than everything else here: it waits until it is asked for, as the imports
within the functions below do."""


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
    """A plan from the sections of a specification; a name alone stands for a section that says no more.

    >>> made = plan(
    ...     model={"name": "mlp", "d_in": 784, "d_out": 10, "layers": [512, 256], "n": 60_000, "epochs": 10},
    ...     hardware="RTX_4090_fp16",
    ...     training={"batch_size": 128},
    ... )
    >>> made.model.parameters, made.training.steps
    (535818, 4688)

    A model of your own is taken as it is: a `TransformerShape`, or the `ModelCost` that `trace_module` gives for any
    `torch.nn.Module`.

    Measured runs narrow the estimates: a file of them, or a list; what a run leaves out is as in the plan.

    >>> sections = {"training": {"batch_size": 512, "sequence": 1024, "tokens": 30e9}}
    >>> measured = [{"micro_batch": 8, "step_seconds": 5.1}, {"micro_batch": 4, "step_seconds": 5.3}]
    >>> narrowed = plan(model="gpt2-xl", hardware="A100_80GB_fp16", devices=8, calibration=measured, **sections)
    >>> narrowed.calibration.step.runs
    2

    A mistake is told with what was probably meant, all of them at once:

    >>> plan(model="gpt2-xxl", hardware="RTX_4090_fp16", training={"optimiser": "adamw"})
    Traceback (most recent call last):
    ...
    flyball_reports.specification.problems.SpecificationError: ...
    """
    from flyball_planner.plan.make import make_plan  # noqa: PLC0415
    from flyball_planner.specification.read import read_entry  # noqa: PLC0415

    where: dict[str, object] = {"device": hardware} if isinstance(hardware, str) else dict(hardware)
    if devices is not None:
        where["devices"] = devices
    own = model if isinstance(model, TransformerShape | ModelCost) else None
    what = {"name": model} if isinstance(model, str) else {"name": "own"} if own else model
    root = _entry({"model": what, "hardware": where, **sections})
    return make_plan(read_entry(root, files=_beside(Path()), subject=own))


def plan_file(path: str | Path) -> Plan:
    """The plan of a specification in YAML.

    >>> import tempfile
    >>> from flyball_planner.specification.bundled import example_text
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "run.yaml").write_text(example_text("linear_regression"))
    >>> plan_file(folder / "run.yaml").computation.bottleneck
    'compute-bound'
    """
    from flyball_planner.plan.make import make_plan  # noqa: PLC0415
    from flyball_planner.specification.read import read_specification  # noqa: PLC0415

    file = Path(path)
    return make_plan(read_specification(file.read_text(encoding="utf-8"), str(file), _beside(file.parent)))


def calibrate(path: str | Path) -> "Calibration":
    """What a file of measured runs teaches, and how near the estimates come with and without it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "measured.csv"
    >>> _ = file.write_text("model,device,batch_size,sequence,step_seconds\\ngpt2,A100_80GB_fp16,8,1024,0.1\\n")
    >>> learned = calibrate(file)
    >>> [str(each.kind) for each in learned.learned], learned.refused
    (['transformer on A100 SXM4 80GB'], ())
    """
    from flyball_planner.calibration.compare import calibrate as learn  # noqa: PLC0415
    from flyball_planner.specification.read import read_entry  # noqa: PLC0415
    from flyball_planner.specification.runs import read_runs  # noqa: PLC0415

    file = Path(path)
    resolve = partial(read_entry, file=str(file), files=_beside(file.parent))
    return learn(read_runs(file.read_text(encoding="utf-8"), str(file), resolve))


def configure(hardware: str, devices: int = 1, *, longest_days: float = 7.0) -> tuple[Configuration, ...]:
    """Conservative, balanced and extreme configurations for a machine.

    >>> [each.name for each in configure("RTX_4090_fp16")]
    ['conservative', 'balanced', 'extreme']
    """
    from flyball_planner.catalogue.machines import machine  # noqa: PLC0415
    from flyball_planner.configurations.configure import configure as of_machine  # noqa: PLC0415

    return of_machine(machine(hardware, devices), longest_days=longest_days)


def _beside(folder: Path) -> Callable[[str], str]:
    """Opens what a specification names."""
    return lambda name: (folder / name).read_text(encoding="utf-8")


def _entry(value: Any) -> Entry:
    """Values that stand on no line."""
    if isinstance(value, Mapping):
        return Entry({str(key): _entry(each) for key, each in value.items()}, 0)
    if isinstance(value, list | tuple):
        return Entry([_entry(each) for each in value], 0)
    return Entry(value, 0)
