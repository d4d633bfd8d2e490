"""The profile of one command and of all processes that it starts."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from flyball.profiling.allowed_resources import allowed_cpus, own_groups
from flyball.profiling.api_latency import ApiLatency
from flyball.profiling.command_process import CommandProcess
from flyball.profiling.process_tree import ProcessTree
from flyball.profiling.profile_record import ProfileRecord
from flyball.profiling.profiling_summary import ProfilingSummary
from flyball.profiling.resource_snapshot import ResourceSnapshot
from flyball.profiling.sampler import ProfileSampler
from flyball.profiling.sampling_thread import SamplingThread
from flyball.profiling.tree_ledger import TreeLedger


class CommandProfile(NamedTuple):
    """The result. `running` is the number of processes that the command has left behind."""

    command: tuple[str, ...]
    status: int
    summary: ProfilingSummary
    snapshots: list[ResourceSnapshot]
    running: int


def profile_command(command: Sequence[str], interval: float, api_url: str | None = None) -> CommandProfile:
    """Run a command and measure it. Raise NotStarted if it cannot be started."""
    process = CommandProcess(command)
    api = ApiLatency(api_url) if api_url is not None else None

    def build() -> ProfileSampler:
        tree = ProcessTree(os.getpid(), with_root=False)
        return ProfileSampler(tree, TreeLedger(os.getpid()), from_zero=True, api=api, waited=process.waited)

    record = ProfileRecord(interval, allowed_cpus(own_groups()))
    thread = SamplingThread(build, record, interval, peaks=process.peaks)
    with process.signals():
        if api is not None:
            api.start()
        thread.start()
        try:
            status = process.run()
        finally:
            thread.finish()
    snapshots = record.snapshots()
    return CommandProfile(tuple(command), status, thread.summary(), snapshots, snapshots[-1].processes or 0)
