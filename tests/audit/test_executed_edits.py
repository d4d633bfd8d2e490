"""Execute every automatic edit of the corpus on the CPU: the fixed code does what the code did before.

Each script below calls the functions that an edit changes, with small inputs. The values of all their variables, what
they print and the weights of the models must be the same with and without the edits.
"""

import contextlib
import difflib
import functools
import itertools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from flyball_audit.finding import Finding
from flyball_audit.fix import patch, read_text, safely_fixable
from flyball_audit.run import audit
from tests.audit.execution import Free, Inputs, Record, endless, mean_of, package, run, torch
from tests.audit.expectations import Case, scripts, snippets

SCRIPTS: Mapping[str, str] = {
    "blocking-transfer/faulty_1.py": "main(s.samples, s.net, s.optimizer)",
    "blocking-transfer/faulty_10": """
data = [{"latents": torch.randn(2, 2, 9), "texts": torch.randn(4)} for _ in range(10)]
Pipeline(s.made(path=data), s.any, "cuda").train(s.made(), 2)
""",
    "blocking-transfer/faulty_11.py": """
train(s.net, s.inputs, s.optimizer, "cuda")
tune(s.net, s.targets, s.optimizer, "cuda")
""",
    "blocking-transfer/faulty_2.py": "Fit(s.targets, s.net).epoch()",
    "blocking-transfer/faulty_3.py": """
model = s.free(lambda weight, **named: s.made(loss=s.mean_of(weight, named)))
train(s.named, model, s.any_optimizer, 0)
""",
    "blocking-transfer/faulty_306.py": "predict(s.made(test=lambda batch: batch['x'].sum()), s.named, 'cuda')",
    "blocking-transfer/faulty_4.py": """
Trainer(s.inputs, s.any, s.any_optimizer, "cuda").train(2)
Trainer(s.targets, s.any, s.any_optimizer, "cuda").train_all()
""",
    "blocking-transfer/faulty_5.py": """
fit(s.net, s.samples, s.optimizer)
fit_with(s.net, s.samples, s.optimizer)
""",
    "blocking-transfer/faulty_6.py": """
Runner(s.any, s.named, s.made(batch=2, device="cuda")).fit()
Runner(s.net, s.samples, s.made(batch=2, device="cuda")).fit_pairs()
""",
    "blocking-transfer/faulty_8.py": """
train(s.net, s.batches, s.optimizer, "cuda")
train_dict(s.any, [{"x": x, "name": "first"} for x in s.xs], s.any_optimizer, "cuda")
""",
    "blocking-transfer/faulty_9.py": """
Trainer(s.free(lambda weight, batch: {"loss": s.mean_of(weight, batch)}), s.samples).run()
""",
    "cpu-tensor-then-move/faulty_2.py": "result = Sampler(3).cuda()(s.xs[0].cuda())",
    "cpu-tensor-then-move/faulty_3.py": """
rnn = s.free(lambda weight, x, state: (x * weight + state.mean(), None))
train(rnn, s.pairs, torch.optim.SGD(rnn.parameters(), 0.1))
""",
    "cpu-tensor-then-move/faulty_324.py": "result = Decoder(3).eval().cuda()(s.xs[0].cuda())",
    "cpu-tensor-then-move/faulty_400.py": "z = s.xs[0].double().cuda(); result = Noise()(z), Noise().begin(z)",
    "cpu-tensor-then-move/faulty_8.py": "np.random.seed(0); result = Encoder(3, 5).cuda()(torch.randn(3, 3, 3).cuda())",
    "empty-cache-every-step/faulty_1.py": "train(s.net, s.batches, s.optimizer)",
    "empty-cache-every-step/faulty_2.py": "Loop(s.net, s.optimizer).train(s.xs)",
    "empty-cache-every-step/faulty_3.py": "Model(s.net).on_train_batch_end(None, None, 0)",
    "empty-cache-every-step/faulty_300.py": "result = list(loader_of(['a', 'b']))",
    "empty-cache-every-step/faulty_304.py": "train(s.net, s.pairs, s.optimizer, 'cuda')",
    "empty-cache-every-step/faulty_4.py": "find_batch_size(s.net, lambda size: torch.ones(size, 3), s.optimizer)",
    "empty-cache-every-step/faulty_6.py": """
a(s.net, s.xs, s.optimizer)
b(s.net, s.xs, s.optimizer)
evaluate(s.net, s.xs)
""",
    "empty-cache-every-step/faulty_81.py": """
ensemble = Ensemble()
ensemble.model = s.net
result = []
ensemble.predict_folds([s.made(taken=s.xs, store=result.append)])
evaluate(s.net, s.xs)
""",
    "loader-few-workers/faulty_1.py": "main(None, None, s.any, s.any_optimizer)",
    "loader-not-persistent/clean_1.py": "main(s.samples, s.net, s.optimizer)",
    "loader-not-persistent/faulty_1.py": "main(s.samples, s.net, s.optimizer, 2)",
    "loader-without-pinned-memory/faulty_300.py": "train(s.net, s.optimizer, ['a', 'b'])",
    "loader-without-workers/clean_2.py": "with_keywords(s.inputs, 'cuda', True, s.net, s.optimizer)",
    "loader-without-workers/faulty_332.py": "train(s.samples)",
    "no-grad-missing-in-eval/faulty_6.py": "s.loaded = s.net.state_dict(); evaluate_files(['a'], s.net)",
    "retained-graph/faulty_1.py": "train(s.net, s.batches, s.optimizer, 'cuda')",
    "retained-graph/faulty_100.py": "train(s.net, s.batches, s.optimizer, s.cross_entropy, 'cuda')",
    "retained-graph/faulty_2.py": "Trainer(s.net, s.optimizer).fit([{'x': x, 'y': y} for x, y in s.pairs])",
    "retained-graph/faulty_3": "train(s.net, s.pairs, s.optimizer)",
    "retained-graph/faulty_311.py": "Detector(s.net, 'cuda').fit(s.xs, 2)",
    "retained-graph/faulty_352.py": """
train(s.net, s.batches, lambda model, batch: {"total": s.cross_entropy(model(batch[0]), batch[1])}, s.optimizer)
""",
    "retained-graph/faulty_4.py": """
model = s.free(lambda weight, x, y: {"boxes": s.mean_of(weight, x), "kinds": s.mean_of(weight, y)})
train(model, s.batches, torch.optim.SGD(model.parameters(), 0.1))
""",
    "retained-graph/faulty_401.py": """
train(s.net, s.batches, s.optimizer, s.cross_entropy)
tune(s.net, s.batches, s.optimizer, s.cross_entropy)
""",
    "retained-graph/faulty_5.py": "find_batch_size(s.net, s.batches, s.optimizer)",
    "retained-graph/faulty_50.py": "train(s.batches, 2, 'cuda')",
    "retained-graph/faulty_7.py": """
a(s.net, s.xs, s.optimizer, None)
fitted = B()
fitted.model, fitted.criterion, fitted.optimizer = s.net, torch.mean, s.optimizer
fitted.fit(s.xs)
""",
    "retained-graph/faulty_8.py": "fit(s.net, s.pairs, s.optimizer, 2)",
    "small-batch/faulty_1.py": "main(s.samples, s.net)",
    "small-batch/faulty_4.py": "main(s.samples, s.any, s.any_optimizer)",
    "small-batch/faulty_5.py": "main(s.net, s.optimizer)",
    "sync-every-step/faulty_324.py": "train(s.net, s.xs, s.optimizer, [])",
    "tokenise-in-loop/faulty_333.py": "train(['one', 'two'], None)",
    "accelerate/faulty.py": """
faulty.parse = lambda: s.made(
    model="m", dataset="d", train_batch_size=2, block=4, epochs=2, accumulate=2, lr=0.1, output="o"
)
faulty.time = clock
main()
""",
    "gpt/faulty.py": """
import tempfile
from pathlib import Path

real = faulty.GPT
faulty.GPT = lambda *_: real(50, 4, 8, 2, 1)
faulty.DDP = lambda model, device_ids: wrapped(model)
faulty.dist = s.made(init_process_group=lambda _backend: None, destroy_process_group=lambda: None)
faulty.os = s.made(environ={"LOCAL_RANK": "0"})
faulty.time = clock


def wrapped(model):
    outer = s.free(lambda _weight, *given: model(*given))
    outer.module = model
    return outer


with tempfile.TemporaryDirectory() as folder:
    for name in ("train", "val"):
        (np.arange(64, dtype=np.uint16) % 50).tofile(f"{folder}/{name}.bin")
    settings = {"steps": 3, "accumulate": 2, "length": 4, "batch_size": 2, "lr": 0.1, "warmup": 1, "eval_iters": 2}
    faulty.parse = lambda: s.made(data=Path(folder), eval_every=2, **settings)
    main()
""",
    "hf_trainer/faulty.py": "CleanUp().on_step_end(None, None, None)",
    "image/faulty.py": """
faulty.time = clock
batches, model = [(torch.randn(2, 8), y) for _, y in s.batches], torch.nn.Linear(8, 8)
train(batches, model, s.cross_entropy, torch.optim.SGD(model.parameters(), 0.1), 0, s.made(print_freq=9))
""",
    "lightning/faulty.py": """
model = Segmenter(2, 1e-3)
model.log = lambda name, value: None
result = model.training_step((torch.randn(1, 3, 8, 8), torch.zeros(1, 8, 8, dtype=torch.long)), 0)
TidyUp().on_train_batch_end(None, None, None, None, 0)
""",
}
"""By case: code that calls what the automatic edits change. `s` has the inputs of `execution.Inputs`."""

NOT_EXECUTED: Mapping[str, str] = {}
"""By case: why its automatic edits cannot be executed here."""

ON_OTHER_DEVICE = ("cpu-tensor-then-move", "blocking-transfer")
"""Rules whose edits decide on which device a tensor is: their cases run on PyTorch's meta device as well."""


class _Accelerator:
    """Accelerate's, for one process."""

    device, is_main_process = "cuda", True

    def __init__(self, **_settings: object) -> None:
        """Take any settings."""

    def prepare(self, *given: object) -> tuple[object, ...]:
        """Return everything as it is."""
        return given

    def accumulate(self, _model: object) -> contextlib.AbstractContextManager[None]:
        """Return a context that changes nothing."""
        return contextlib.nullcontext()

    def backward(self, loss: Any) -> None:
        """Differentiate the loss."""
        loss.backward()

    def gather(self, value: Any) -> Any:
        """Return the only process's value."""
        return value

    def unwrap_model(self, _model: object) -> SimpleNamespace:
        """Return something that can be saved."""
        return SimpleNamespace(save_pretrained=lambda _path: None)

    def wait_for_everyone(self) -> None:
        """Return at once."""

    def save_state(self, path: str) -> None:
        """Save nothing."""


class _Encoded(dict[str, Any]):
    """What a tokenizer returns: a dictionary that can be moved."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def to(self, device: object) -> "_Encoded":
        """Return its tensors on a device."""
        return _Encoded({key: each.to(device) for key, each in self.items()})


def _tokenizer() -> SimpleNamespace:
    class Tokenizer:
        eos_token = pad_token = "end"

        def __call__(self, texts: list[str] | str, **_settings: object) -> _Encoded:
            rows = [texts] if isinstance(texts, str) else texts
            return _Encoded(input_ids=torch.tensor([[len(each), 1] for each in rows]))

        def save_pretrained(self, path: str) -> None:
            """Save nothing."""

    return SimpleNamespace(from_pretrained=lambda _name: Tokenizer())


def _language_model() -> SimpleNamespace:
    def compute(weight: Any, **named: Any) -> SimpleNamespace:
        return SimpleNamespace(loss=mean_of(weight, named))

    return SimpleNamespace(from_pretrained=lambda _name: Free(compute))


def _packages() -> dict[str, object]:
    """Return stand-ins for the packages and files that the cases import and that are not there."""
    inputs = Inputs()
    rows = [{"text": "a"}, {"text": "bb"}, {"text": "ccc"}, {"text": "dddd"}]
    any_class: Any = type("StandIn", (), {"__init__": lambda _self, *_given, **_named: None})
    scheduler = SimpleNamespace(step=lambda: None)
    lightning = package(LightningModule=torch.nn.Module, LightningDataModule=any_class, Trainer=any_class)
    return {
        "accelerate": package(Accelerator=_Accelerator),
        "datasets": package(load_dataset=lambda *_given, **_named: {"train": rows, "validation": rows}),
        "far": package(endless=endless, progress=package(every=lambda _count, named: iter(named[1]))),
        "images": package(Folder=lambda _name: inputs.targets),
        "lightning": lightning,
        "lightning.pytorch": lightning,
        "lightning.pytorch.callbacks": package(Callback=object, ModelCheckpoint=any_class),
        "PIL": package(Image=any_class),
        "scenarios": package(Classes=lambda data, increment: [data[:increment], data[increment:]]),
        "torchdata.stateful_dataloader": package(
            StatefulDataLoader=lambda data, batch_size, **_: torch.utils.data.DataLoader(data, batch_size)
        ),
        "torchvision": package(datasets=package(ImageFolder=lambda *_: inputs.samples)),
        "torchvision.datasets": package(ImageFolder=any_class),
        "torchvision.transforms": package(),
        "torchvision.transforms.v2.functional": package(pil_to_tensor=any_class),
        "transformers": package(
            AutoModelForCausalLM=_language_model(),
            AutoModelForSequenceClassification=any_class,
            AutoTokenizer=_tokenizer(),
            get_scheduler=lambda *_given, **_named: scheduler,
            Trainer=any_class,
            TrainerCallback=any_class,
            TrainingArguments=any_class,
        ),
    }


@functools.cache
def _cases() -> dict[str, Case]:
    return {str(each): each for each in (*snippets(), *scripts())}


@functools.cache
def _edits(name: str) -> tuple[Finding, ...]:
    """Return the findings of a case that `--fix` fixes."""
    return tuple(each for each in audit([_cases()[name].path]).findings if safely_fixable(each))


def _before_and_after(name: str) -> tuple[dict[str, str], dict[str, str]]:
    files = [str(each) for each in _cases()[name].files if each.suffix == ".py"]
    before = {path: read_text(path).text for path in files}
    after = {path: patch(read_text(path), [e for e in _edits(name) if e.path == path]).after for path in files}
    return before, after


def _executed(name: str, texts: Mapping[str, str], accelerator: str = "cpu") -> Record:
    clock = itertools.count(1)
    packages = _packages() | {"clock": package(time=lambda: float(next(clock)))}
    return run(texts, f"import clock\n{SCRIPTS[name]}", packages, accelerator)


@pytest.mark.parametrize("name", SCRIPTS)
def test_fixed_code_does_what_the_code_did_before(name: str) -> None:
    """All variables, prints and weights are the same, no exception is new, and every changed line has run."""
    before, after = _before_and_after(name)
    first, second = _executed(name, before), _executed(name, after)
    assert second.values == first.values
    assert second.printed == first.printed
    for path in before:
        changed, new = _changed_lines(before[path], after[path])
        assert changed <= first.lines[path], f"not executed in {path}: {sorted(changed - first.lines[path])}"
        assert new <= second.lines[path], f"not executed in the fixed {path}: {sorted(new - second.lines[path])}"


@pytest.mark.parametrize("name", [each for each in SCRIPTS if each.startswith(ON_OTHER_DEVICE)])
def test_fixed_code_puts_tensors_on_the_same_device(name: str) -> None:
    """On a device that is not the CPU, all variables have the same types, shapes and devices."""
    before, after = _before_and_after(name)
    first, second = (_executed(name, texts, "meta") for texts in (before, after))
    assert second.values == first.values
    assert "'meta'" in repr(first.values)


def test_every_automatic_edit_of_the_corpus_is_executed() -> None:
    """A case with an automatic edit has a script above, or a reason why it has none."""
    counts = {name: len(_edits(name)) for name in _cases()}
    executed = sum(counts[name] for name in SCRIPTS)
    assert {name for name, count in counts.items() if count} <= SCRIPTS.keys() | NOT_EXECUTED.keys()
    assert executed + sum(counts[name] for name in NOT_EXECUTED) == sum(counts.values())
    assert executed > 80


def _changed_lines(before: str, after: str) -> tuple[set[int], set[int]]:
    """Return the lines of both texts that differ, without those that are blank."""
    old, new = before.splitlines(), after.splitlines()
    changed, made = set[int](), set[int]()
    for tag, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            changed |= {number + 1 for number in range(first, last) if old[number].strip()}
            made |= {number + 1 for number in range(new_first, new_last) if new[number].strip()}
    return changed, made
