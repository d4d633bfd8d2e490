"""Checks captures and measured facts on a real GPU: a trace, waits for the GPU, its memory, `flyball run --measure`."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.client_on_gpu.training import StandinAgent, Training

_STEPS = 3
_SCRIPT = """
import time
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        time.sleep(0.010)
        return torch.ones(512, 4096)


waited = computed = 0.0
began = time.perf_counter()
for batch in torch.utils.data.DataLoader(Slow(), batch_size=None):
    waited += time.perf_counter() - began
    loss = model(batch.cuda()).square().mean()
    for _ in range(3):
        with torch.no_grad():
            model(batch.cuda())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    loss.item()  # the only wait for the GPU, but for the copies
    began = time.perf_counter()
"""
_SYNC_LINE = next(n for n, line in enumerate(_SCRIPT.splitlines(), 1) if "loss.item()" in line)


def captures(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """A trace has the GPU's kernels, the list of waits has the line, and the snapshot has the allocator's blocks."""
    import flyball  # noqa: PLC0415  after the socket is set
    from flyball.captures.memory import MemoryCapture  # noqa: PLC0415
    from flyball.captures.sync_calls import SyncCapture  # noqa: PLC0415
    from flyball.captures.trace import Trace  # noqa: PLC0415

    del agent
    training = Training(torch, width=2048)
    with flyball.run("captures") as run, tempfile.TemporaryDirectory() as folder:

        def record(recorder: Any) -> Any:
            recorder.begin(run)
            for _ in range(recorder.steps):
                training.step(run)
                training.forward().item()
                recorder.step(run)
            path, _ = recorder.end(Path(folder))
            content = path.read_bytes()
            return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)

        training.step(run)
        kernels = [each for each in record(Trace(_STEPS))["traceEvents"] if each.get("cat") == "kernel"]
        yield len(kernels) > 10 * _STEPS, f"the trace of {_STEPS} steps has {len(kernels)} kernels"
        places = record(SyncCapture(_STEPS))["places"]
        here = [each for each in places if each["place"].startswith(__file__)]
        yield (
            len(here) == 1 and here[0]["calls"] == _STEPS,
            f"waits for the GPU: {[(Path(each['place']).name, each['calls']) for each in places]}",
        )
        facts = record(MemoryCapture())
        held = sum(each["allocated_size"] for each in facts["cuda"]["snapshot"]["segments"])
        yield held == torch.cuda.memory_allocated(), f"the snapshot holds {held:,} bytes, as PyTorch reports"


def measured_run(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """`flyball run --measure` writes the share of waiting, the GPU's busy share, and the line that waits for it."""
    del torch, agent
    with tempfile.TemporaryDirectory() as folder:
        script, evidence = Path(folder) / "train.py", Path(folder) / "evidence.yaml"
        script.write_text(_SCRIPT)
        command = ["run", "--measure", "20", "--evidence", str(evidence), "--", sys.executable, str(script)]
        done = subprocess.run(
            [sys.executable, "-m", "flyball", *command], env=os.environ, capture_output=True, text=True, check=False
        )
        yield done.returncode == 0, f"the training ends with {done.returncode} {done.stderr[-300:].strip()}"
        text = evidence.read_text()
        facts = dict(_facts(text))
        yield f"{script}:{_SYNC_LINE}" in text, f"the file names line {_SYNC_LINE} of the script"
        yield 0.1 < float(facts["data_wait_ratio"]) < 0.9, f"data_wait_ratio {facts['data_wait_ratio']}"
        busy, wait = float(facts["gpu_busy_ratio"]), float(facts["data_wait_ratio"])
        yield 0.02 < busy < 1.0 - 0.9 * wait, f"gpu_busy_ratio {busy}, host_bound_ratio {facts['host_bound_ratio']}"
        print(text)


def _facts(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, value = line.partition("#")[0].strip().partition(": ")
        if colon:
            yield name, value
