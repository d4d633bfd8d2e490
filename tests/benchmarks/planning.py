"""Measure the time of `flyball plan` and of thousands of layouts, and compare predictions with measured runs.

Beside it Accelerate's estimate-memory on the same model. Every command is a process of its own, started again and
again, its bytecode written before, as an installed package's is: the fastest start counts, since others share the
machine. This process stays small, because the kernel's peak of a child is never less than its parent's.

python -m tests.benchmarks.planning [--rounds 9] [--tables DIR]: tables of measured runs to judge the accuracy by.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.accelerate_peer import PROGRAM, environment
from tests.benchmarks.figure import Figure, at_most, plain, report

PLAN_SECONDS, IMPORT_SECONDS, SEARCH_SECONDS = 0.25, 0.15, 1.0
EXAMPLES = ("linear_regression", "deep_learning", "transformer")
FLYBALL = str(Path(sys.executable).with_name("flyball"))

SEARCH = """
import time
from flyball_planner.layout_search.search import search_layouts
from flyball_planner.plan.scaling import on
from flyball_planner.specification.example_files import example_text
from flyball_planner.specification.reader import read_specification
known = read_specification(example_text("transformer"))
machine = on(known, 32)
search_layouts(known.subject, known.training, machine)
started = time.process_time()
found = search_layouts(known.subject, known.training, machine)
print(time.process_time() - started, found.candidates)
"""
"""The example over 32 devices, searched twice: no data file is read and nothing is imported in the time that counts."""

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 3072, "num_hidden_layers": 28,
    "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192,
    "vocab_size": 128256, "tie_word_embeddings": True, "max_position_embeddings": 131072,
}  # fmt: skip
SPECIFICATION = """
model: {huggingface: config.json}
hardware: {device: A100_80GB_fp16}
training: {batch_size: 2, sequence: 256, steps: 1000, precision: bf16-pure, optimizer: adamw-fused}
layout: {micro_batch: 2, checkpointing: none}
"""
MEASURED_BYTES = 25.5 * 2**30
"""Llama 3.2 3B, all weights trained in bf16 with fused AdamW, micro-batches of 2 unpacked samples: README.md of
pytorch/torchtune@bd2a0fc, the first row of its ladder of optimisations. Such samples rarely have more than 256 tokens.
The run is one of those that the memory model was fitted on."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one process from start to end; the smallest of several runs."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def cost(command: Sequence[str], rounds: int, bytecode: Path, folder: Path | None = None) -> Cost:
    """Run it once unmeasured, then some times."""
    found = [once(command, bytecode, folder) for _ in range(rounds + 1)][1:]
    return Cost(
        min(each.seconds for each in found),
        min(each.cpu_seconds for each in found),
        min(each.peak_bytes for each in found),
        found[-1].output,
    )


def once(command: Sequence[str], bytecode: Path, folder: Path | None = None) -> Cost:
    """Run it; an error ends the benchmark."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"PYTHONPYCACHEPREFIX": str(bytecode), "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=output, env=environ, cwd=folder)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)  # it was waited for here, not by Popen
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        output.seek(0)
        return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, output.read())


def starts(rounds: int, bytecode: Path) -> Iterator[Figure]:
    """From the shell's start of a command to its end, its output in a pipe."""
    for name in EXAMPLES:
        found = cost([FLYBALL, "plan", f"examples/{name}.yaml"], rounds, bytecode)
        yield from _figures(f"flyball plan {name}", found, PLAN_SECONDS)
    recommended = [FLYBALL, "recommend", "--plan", "examples/transformer.yaml", "--hours", "48"]
    yield from _figures("flyball recommend for the transformer", cost(recommended, rounds, bytecode))
    found = cost([sys.executable, "-c", "import flyball_planner.api"], rounds, bytecode)
    yield from _figures("import of the library, Python's start included", found, IMPORT_SECONDS)
    yield from _figures(
        "for comparison: Python with numpy", cost([sys.executable, "-c", "import numpy"], rounds, bytecode)
    )


def _figures(name: str, found: Cost, bound_seconds: float | None = None) -> Iterator[Figure]:
    if bound_seconds is None:
        yield plain(name, found.seconds, "s")
    else:
        yield at_most(name, found.seconds, bound_seconds, "s")
    yield plain("its CPU", found.cpu_seconds, "s")
    yield plain("its peak memory", found.peak_bytes / 1e6, "MB")


def search(rounds: int, bytecode: Path) -> Iterator[Figure]:
    """Every layout of the transformer over 32 devices."""
    found = cost([sys.executable, "-c", SEARCH], rounds, bytecode)
    seconds, candidates = found.output.split()
    name = f"{int(candidates):,} layouts evaluated"
    yield at_most(name, float(seconds), SEARCH_SECONDS, "s", "CPU; imported before; ranked, ten of them listed")
    yield plain("its peak memory", found.peak_bytes / 1e6, "MB")


def beside_the_peer(rounds: int, bytecode: Path) -> Iterator[Figure]:
    """The same model to both, and a published measurement of it."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "config.json").write_text(json.dumps(LLAMA))
        (folder / "run.yaml").write_text(SPECIFICATION)
        ours = cost([FLYBALL, "plan", "run.yaml", "--format", "json"], rounds, bytecode, folder)
        yield from _figures("flyball plan, Llama 3.2 3B", ours)
        found = json.loads(ours.output)["memory"]["allocated_bytes"]
        interval = f"{found['low'] / 2**30:.1f} … {found['high'] / 2**30:.1f} GiB"
        yield plain(
            "predicted memory of tensors", found["middle"] / 2**30, "GiB", f"{interval}; {_off(found['middle'])}"
        )
        python = environment()
        if python is None:
            return
        theirs = cost([str(python.absolute()), "-c", PROGRAM, "."], rounds, bytecode, folder)
        yield from _figures("accelerate estimate-memory, the same", theirs)
        trained = json.loads(theirs.output.splitlines()[-1])["float16"]["training"]
        yield plain(
            "predicted memory of a training", trained / 2**30, "GiB", f"a batch of one in 16 bits; {_off(trained)}"
        )
        yield plain("flyball / accelerate, CPU", ours.cpu_seconds / theirs.cpu_seconds, "ratio")
        yield plain("flyball / accelerate, peak memory", ours.peak_bytes / theirs.peak_bytes, "ratio")


def _off(predicted_bytes: float) -> str:
    return f"{predicted_bytes / MEASURED_BYTES - 1:+.0%} of the {MEASURED_BYTES / 2**30:g} GiB that torchtune measured"


HEADLINES = (
    ("peak memory, one device", "peak_memory", "every suite but lambda-monitor, one device", "median_ape", 8),
    (
        "peak memory, several devices",
        "peak_memory",
        "every suite but lambda-monitor, several devices",
        "median_ape",
        12,
    ),
    ("step time, vTrain's runs of a node", "step_time", "vtrain-single", "median_ape", None),
    ("step time, MosaicML's runs", "step_time", "mosaicml-mpt", "median_ape", None),
    ("layout regret, vTrain's runs", "layout_regret", "vtrain-single", "mean_ape", 5),
)
"""Words, metric, suite, statistic and what it should be at most, in percent."""


def accuracy(tables: Path | None, bytecode: Path) -> Iterator[Figure]:
    """Errors on suites that were left out of the fit; the planning document has the whole table."""
    if tables is None:
        print("no accuracy: no tables of measured runs are named (--tables DIR)", file=sys.stderr)
        return
    found = once([sys.executable, "-m", "flyball_planner.accuracy", str(tables), "--format", "json"], bytecode)
    results = [each for each in json.loads(found.output)["results"] if each["mode"] == "cold"]
    for words, metric, suite, statistic, bound in HEADLINES:
        for each in results:
            if (each["metric"], each["suite"]) != (metric, suite) or not each["predicted"]:
                continue
            name, error = f"{words}: {statistic[:-4]} error", 100 * each[statistic]
            note = f"{each['predicted']} of {each['eligible']} rows, the suite left out of the fit"
            yield plain(name, error, "%", note) if bound is None else at_most(name, error, bound, "%", note)
    yield plain("judging all tables", found.seconds, "s", f"{found.cpu_seconds:.0f} s of CPU")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tables", type=Path, default=os.environ.get("FLYBALL_TABLES"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bytecode = Path(directory)
        report(
            [
                *starts(options.rounds, bytecode),
                *search(options.rounds, bytecode),
                *beside_the_peer(options.rounds, bytecode),
                *accuracy(options.tables, bytecode),
                plain(
                    "this process, the smallest possible peak",
                    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
                    "MB",
                ),
            ]
        )


if __name__ == "__main__":
    main()
