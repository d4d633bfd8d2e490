"""Checks the client on a real GPU: slow-down, times of a step's parts, losses, peaks; nothing may wait for the GPU.

Run it with `PYTHONPATH=client python -m tests.benchmarks.client_on_gpu` on a machine with PyTorch and a GPU. It needs
nothing else, and takes about two minutes; names of checks after it run these alone.
"""

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.client_on_gpu.captured import captures, measured_run
from tests.benchmarks.client_on_gpu.slowdown import slowdown_busy, slowdown_launching
from tests.benchmarks.client_on_gpu.survived import survived
from tests.benchmarks.client_on_gpu.survived_together import survived_together
from tests.benchmarks.client_on_gpu.throttled import throttled
from tests.benchmarks.client_on_gpu.training import StandinAgent, Training


def main() -> int:
    """Run all checks that are possible here. Return 1 if one of them fails."""
    try:
        import torch  # noqa: PLC0415  it may be missing
    except ImportError:
        print("The client was not checked: PyTorch is not installed. Use the Python of your trainings.")
        return 0
    if not torch.cuda.is_available():
        print("The client was not checked: PyTorch finds no GPU.")
        return 0
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FLYBALL_SOCKET"] = f"{folder}/agent.sock"
        agent = StandinAgent(Path(os.environ["FLYBALL_SOCKET"]))
        checks: list[Callable[[Any, StandinAgent], Iterator[tuple[bool, str]]]] = [
            _equal_losses,
            _no_synchronisation,
            _times_as_the_profiler,
            _graphs_and_forks,
            captures,
            measured_run,
            survived,
            survived_together,
            throttled,
            slowdown_busy,
            slowdown_launching,
        ]
        chosen = [check for check in checks if not sys.argv[1:] or check.__name__.strip("_") in sys.argv[1:]]
        passed = [_run(check, torch, agent) for check in chosen]
    return 0 if all(passed) else 1


def _run(check: Callable[[Any, StandinAgent], Iterator[tuple[bool, str]]], torch: Any, agent: StandinAgent) -> bool:
    began, passed = time.perf_counter(), True
    try:
        for good, text in check(torch, agent):
            passed = passed and good
            print(f"{'ok    ' if good else 'FAILED'} {text}", flush=True)
    except Exception as error:  # noqa: BLE001  the other checks go on: time on a GPU is scarce
        passed = False
        print(f"FAILED {check.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"       ({check.__name__.strip('_')}: {time.perf_counter() - began:.1f} s)", flush=True)
    return passed


def _equal_losses(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """Losses are equal bit by bit, with and without the client; those that were reported are among them."""
    import flyball  # noqa: PLC0415  after the socket is set

    def losses(run: Any | None) -> list[float]:
        training, found = Training(torch, width=512, batch=256), []
        for _ in range(300):
            loss = training.forward()
            loss.backward()
            training.optimizer.step()
            training.optimizer.zero_grad()
            found.append(loss.detach().clone())
            if run is not None:
                run.mark("all")
                run.step(loss=loss)
                time.sleep(0.007)
        return [float(each) for each in found]

    without = losses(None)
    with flyball.run("losses") as run:
        with_client = losses(run)
    yield without == with_client, f"300 losses with and without the client are equal: {without[-1]!r}"
    reported = [line["loss"] for line in agent.reports("losses") if "loss" in line]
    yield (
        bool(reported) and set(reported) <= set(with_client),
        f"{len(reported)} reported losses are losses of the training",
    )
    yield run.dropped == 0, f"dropped values: {run.dropped}"


def _no_synchronisation(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """No call waits for the GPU: synchronising calls raise, and the longest call is short though the GPU is behind."""
    import flyball  # noqa: PLC0415

    training, longest = Training(torch), 0.0
    with flyball.run("syncs") as run, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mode is a prototype, and PyTorch warns of that
        for _ in range(5):
            training.step(run)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            end = time.perf_counter() + 4
            while time.perf_counter() < end:
                for _ in range(8):  # the host is some steps ahead
                    loss = training.forward()
                    loss.backward()
                    training.optimizer.step()
                    training.optimizer.zero_grad(set_to_none=True)
                    began = time.perf_counter()
                    run.mark("all")
                    run.step(loss=loss)
                    longest = max(longest, time.perf_counter() - began)
                _wait(torch)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        step = training.seconds_of(None, 20)
    yield run.dropped == 0, f"nothing of ours synchronised in {run.last_step} steps with set_sync_debug_mode('error')"
    yield (
        longest < 1e-3,
        f"longest mark and step: {longest * 1e6:.0f} µs, with a GPU that is up to {8 * step * 1e3:.0f} ms behind",
    )
    yield True, f"an event takes {_seconds_of_event(torch) * 1e6:.2f} µs, peaks() {_seconds_of_peaks() * 1e6:.1f} µs"
    report = agent.reports("syncs")[-1]
    peak, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    yield (
        report["allocated_peak_bytes"] == peak,
        f"allocated peak {report['allocated_peak_bytes']:,}, by PyTorch {peak:,}",
    )
    yield (
        report["reserved_peak_bytes"] == reserved,
        f"reserved peak {report['reserved_peak_bytes']:,}, by PyTorch {reserved:,}",
    )


def _seconds_of_event(torch: Any) -> float:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(200)]
    for _ in range(2):  # the first time, they are created
        began = time.perf_counter()
        for event in events:
            event.record()
        taken = time.perf_counter() - began
    return taken / len(events)


def _seconds_of_peaks() -> float:
    from flyball.training.allocator import peaks  # noqa: PLC0415

    began = time.perf_counter()
    for _ in range(100):
        peaks()
    return (time.perf_counter() - began) / 100


def _wait(torch: Any) -> None:
    """Wait for the GPU without a call that the mode refuses."""
    event = torch.cuda.Event()
    event.record()
    while not event.query():
        time.sleep(1e-4)


def _times_as_the_profiler(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """Sections have the time of the GPU's kernels, which the host's clock does not show."""
    import flyball  # noqa: PLC0415

    training = Training(torch)
    training.repeats = 2
    for _ in range(5):
        training.step(None)
    with flyball.run("times") as run:
        end = time.perf_counter() + 4.5
        while time.perf_counter() < end:
            training.step(run)
        torch.cuda.synchronize()
    report = agent.reports("times")[-2]
    ours = {name: seconds / report["steps"] for name, seconds in report["section_seconds"].items()}
    step = report["step_seconds"] / report["steps"]
    theirs = _profiled(torch, training)
    hosts = _host_times(torch, training)
    for name, seconds in theirs.items():
        text = (
            f"{name}: {ours.get(name, 0) * 1e3:.3f} ms by events, {seconds * 1e3:.3f} ms of kernels by the profiler, "
            f"{hosts[name] * 1e3:.3f} ms by the host's clock"
        )
        short = seconds < 1e-3  # many small kernels, which the profiler slows: for people to judge
        yield short or abs(ours.get(name, 0) - seconds) <= 0.05 * seconds, text
    yield (
        sum(ours.values()) <= step * 1.001,
        f"sections {sum(ours.values()) * 1e3:.3f} ms of a step of {step * 1e3:.3f} ms",
    )


def _profiled(torch: Any, training: Training) -> dict[str, float]:
    """Return the kernels' seconds of each part of a step. Each part is profiled separately."""
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]

    def kernels(part: Callable[[], Any], before: Callable[[], Any]) -> float:
        times = []
        for _ in range(3):
            before()
            torch.cuda.synchronize()
            with torch.profiler.profile(activities=activities) as profiler:
                kept = part()
                torch.cuda.synchronize()
            del kept
            device = torch.autograd.DeviceType.CUDA
            spans = [event.time_range for event in profiler.events() if event.device_type == device]
            times.append(_covered([(span.start, span.end) for span in spans]) * 1e-6)
        return median(times)

    losses: list[Any] = []

    def before_backward() -> None:
        training.optimizer.zero_grad(set_to_none=True)
        losses.append(training.forward())

    return {
        "forward": kernels(training.forward, lambda: None),
        "backward": kernels(lambda: losses.pop().backward(), before_backward),
        "optimizer": kernels(training.optimizer.step, lambda: None),
    }


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return the time that is covered by any of the spans."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _host_times(torch: Any, training: Training) -> dict[str, float]:
    torch.cuda.synchronize()
    times = [time.perf_counter()]
    loss = training.forward()
    times.append(time.perf_counter())
    loss.backward()
    times.append(time.perf_counter())
    training.optimizer.step()
    times.append(time.perf_counter())
    return {name: times[n + 1] - times[n] for n, name in enumerate(("forward", "backward", "optimizer"))}


def _graphs_and_forks(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """A captured step works, and a forked process of a training that uses CUDA ends well."""
    import flyball  # noqa: PLC0415

    del agent
    with flyball.run("graphs") as run:
        inputs = torch.ones(1024, device="cuda")
        run.step(loss=(inputs * 2).mean())
        time.sleep(1.1)  # the next step reports and is sampled
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = (inputs * 3).mean()
            run.mark("forward")
            run.step(loss=loss)
            run.step(loss=loss)
        graph.replay()
        yield loss.item() == 3.0, "a graph that was captured around step() is right"
        run.step(loss=loss)
        dropped = run.dropped
        child = os.fork()
        if not child:
            try:
                for _ in range(3):
                    run.mark("child")
                    run.step(loss=1.0)
                    time.sleep(0.6)
            finally:
                os._exit(0 if run.dropped == dropped else 1)
        _, status = os.waitpid(child, 0)
        yield status == 0, "a forked process may call step()"


if __name__ == "__main__":
    sys.exit(main())
