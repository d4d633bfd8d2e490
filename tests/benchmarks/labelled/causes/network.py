"""A network that takes long, a service that does, many small calls, and waiting for something that cannot be seen."""

import random
from collections.abc import Sequence

from tests.benchmarks.labelled.causes.generator import Generator, History
from tests.benchmarks.labelled.plan import Change, SourcePlan
from tests.benchmarks.labelled.scene import SHARE, Draw, LoopSwitch, WeatherSwitch
from tests.benchmarks.labelled.surroundings import Weather

KIB = 1024


def _latency(rng: random.Random, milliseconds: Sequence[int] = (10, 20, 50, 100)) -> Draw:
    seconds, amount = rng.choice(milliseconds) / 1e3, rng.choice((64, 256, 1024)) * KIB
    switch = WeatherSwitch(Weather(network_seconds=seconds))
    return Draw(f"{seconds * 1e3:.0f} ms more a round trip", switch, SourcePlan("remote", amount))


def _narrow(rng: random.Random) -> Draw:
    megabytes, amount = rng.choice((4, 8, 16)), rng.choice((512, 1024)) * KIB
    switch = WeatherSwitch(Weather(bytes_per_second=megabytes * 1e6))
    return Draw(f"a link of {megabytes} MB/s", switch, SourcePlan("remote", amount))


def _calls(rng: random.Random) -> Draw:
    many = rng.choice((30, 60, 100))
    return Draw(f"{many} calls a step, not 2", LoopSwitch(Change(calls=many), Change(calls=2)), loop={"calls": 2})


def _slow_service(
    rng: random.Random, counts: Sequence[int] = (2, 4, 8), milliseconds: Sequence[int] = (5, 10, 30)
) -> Draw:
    calls, seconds = rng.choice(counts), rng.choice(milliseconds) / 1e3
    switch = WeatherSwitch(Weather(service_seconds=seconds))
    return Draw(f"{calls} calls a step of {seconds * 1e3:.0f} ms", switch, loop={"calls": calls})


def _sleepy(rng: random.Random) -> Draw:
    workers, seconds = rng.choice((1, 2, 4)), rng.choice((0.1, 0.15, 0.2))
    source = SourcePlan("remote", 64 * KIB)
    return Draw(
        f"{workers} workers that wait {seconds * 1e3:.0f} ms for each batch",
        WeatherSwitch(Weather(record_seconds=seconds)), source, {"workers": workers},
    )  # fmt: skip


def _resolver(rng: random.Random) -> Draw:
    seconds, count = rng.choice((0.01, 0.02, 0.04)), rng.choice((1, 2))
    switch = WeatherSwitch(Weather(resolver_seconds=seconds))
    return Draw(f"{count} look-ups a step of {seconds * 1e3:.0f} ms", switch, SourcePlan("resolver", count))


def _lossy(rng: random.Random, percents: Sequence[int] = (2, 4, 8)) -> Draw:
    percent, milliseconds, amount = rng.choice(percents), rng.choice((2, 5)), rng.choice((256, 512, 1024)) * KIB
    switch = WeatherSwitch(Weather(network_seconds=milliseconds / 1e3, loss_ratio=percent / 100))
    words = f"{percent} % of the packets are lost, {milliseconds} ms more a round trip"
    return Draw(words, switch, SourcePlan("remote", amount))


def _remote_files(rng: random.Random, milliseconds: Sequence[int] = (5, 10, 20, 40)) -> Draw:
    seconds, amount = rng.choice(milliseconds) / 1e3, rng.choice((128, 256, 512)) * KIB
    switch = WeatherSwitch(Weather(network_seconds=seconds))
    words = f"a file system over a network that is {seconds * 1e3:.0f} ms longer"
    return Draw(words, switch, SourcePlan("file", amount, cold=True, folder=SHARE))


def _slow_target(
    rng: random.Random, counts: Sequence[int] = (1, 2, 4), milliseconds: Sequence[int] = (10, 30, 60)
) -> Draw:
    calls, seconds = rng.choice(counts), rng.choice(milliseconds) / 1e3
    switch = WeatherSwitch(Weather(service_seconds=seconds, health_seconds=seconds))
    words = f"{calls} calls a step of {seconds * 1e3:.0f} ms, and its latency target as slow"
    return Draw(words, switch, loop={"calls": calls})


def _locked(rng: random.Random) -> Draw:
    workers, milliseconds = rng.choice((2, 3, 4)), rng.choice((40, 60, 100))
    switch = LoopSwitch(Change(cold=True), Change(cold=False))
    words = f"{workers} workers wait for one lock, {milliseconds} ms for each batch"
    return Draw(words, switch, SourcePlan("locked", milliseconds), {"workers": workers})


def _interpreter(rng: random.Random) -> Draw:
    threads, steps = rng.choice((2, 3)), rng.choice((200_000, 400_000))
    switch = LoopSwitch(Change(cold=True), Change(cold=False))
    words = f"{threads} threads decode in Python, {steps} steps of the interpreter for each batch"
    return Draw(words, switch, SourcePlan("python", steps), {"loader_threads": threads})


GENERATORS = (
    Generator(
        "latency", "network", ("bottleneck_network",), _latency, draw_mixed=lambda rng: _latency(rng, (20, 30, 40))
    ),
    Generator("narrow-link", "network", ("bottleneck_network",), _narrow, history=History.SEEN),
    Generator("small-calls", "service", ("bottleneck_service",), _calls),
    Generator(
        "slow-service",
        "service",
        ("bottleneck_service",),
        _slow_service,
        draw_mixed=lambda rng: _slow_service(rng, (2, 3), (10, 15)),
    ),
    Generator("idle-workers", "waiting", ("bottleneck_data_wait",), _sleepy),
    Generator(
        "slow-resolver", "waiting", ("bottleneck_data_wait", "bottleneck_network"), _resolver, history=History.SEEN
    ),
    Generator(
        "lossy-link",
        "network",
        ("bottleneck_network",),
        _lossy,
        history=History.NEVER,
        needs=("packets",),
        draw_mixed=lambda rng: _lossy(rng, (4,)),
    ),
    Generator(
        "remote-files",
        "network",
        ("bottleneck_network",),
        _remote_files,
        history=History.NEVER,
        needs=("packets", "fuse"),
        draw_mixed=lambda rng: _remote_files(rng, (10, 20)),
    ),
    Generator(
        "slow-target",
        "service",
        ("bottleneck_service",),
        _slow_target,
        history=History.NEVER,
        draw_mixed=lambda rng: _slow_target(rng, (1, 2), (10, 15)),
    ),
    Generator("locked-workers", "waiting", ("bottleneck_data_wait",), _locked, history=History.NEVER),
    Generator(
        "python-threads",
        "waiting",
        ("bottleneck_data_wait", "bottleneck_host"),
        _interpreter,
        history=History.NEVER,
    ),
)
