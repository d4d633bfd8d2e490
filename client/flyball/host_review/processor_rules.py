"""Rules about the processor: clocks, quotas, NUMA nodes and cores for each GPU."""

from collections.abc import Iterator

from flyball.host_review.host_finding import HostFinding, HostSituation, suggestion, warning
from flyball_planner.configurations.configure import LONGEST_DAYS
from flyball_reports.figures import figure, percent, plural

DAY = 86400.0
SLOW_GOVERNORS = frozenset({"powersave", "conservative", "userspace"})
SELF_RULED = ("intel_pstate", "amd-pstate", "amd_pstate")
"""Drivers whose governor `powersave` raises the clock under load too; their energy preference decides (kernel.org,
admin-guide/pm/intel_pstate.rst and amd-pstate.rst). `intel_cpufreq` and `acpi-cpufreq` keep the lowest clock."""

SAVING_PREFERENCES = frozenset({"power", "balance_power"})
CORES_A_GPU = 4
"""The fewest cores for each GPU of machines that are rented out for training (AWS: p3.2xlarge 4, p5.48xlarge 12)."""

LONG_DAYS = LONGEST_DAYS  # beyond it, even the shortest configuration of its kind takes longer than wanted


def slow_clock(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a governor that keeps the clock low, or a preference that raises it slowly."""
    processor, around = situation.profile.processor, situation.surroundings
    if around.scaling_driver.startswith(SELF_RULED):
        if around.energy_preference in SAVING_PREFERENCES:
            yield suggestion(
                "energy-preference", 1, f"The processor saves energy (preference {around.energy_preference})",
                f"with {around.scaling_driver}, this preference lowers clocks under partial load, as of data loaders",
                "Prefer performance",
                effect="higher clocks of loaders and of the thread that starts kernels",
                command="cpupower frequency-set --governor performance",
            )  # fmt: skip
    elif processor.governor in SLOW_GOVERNORS and around.scaling_driver:
        clocks = f" of up to {processor.max_mhz:,.0f} MHz" if processor.max_mhz else ""
        yield suggestion(
            "governor", 2, f"The processor's governor is {processor.governor}",
            f"with {around.scaling_driver}, it does not use the clock{clocks} under load",
            "Use the governor performance",
            effect="work on the processor runs at the full clock instead of a low one",
            command="cpupower frequency-set --governor performance",
        )  # fmt: skip


def few_usable_cpus(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a quota below the CPUs that libraries count."""
    profile = situation.profile
    quota, cpus = profile.limits.cpus, profile.processor.logical_cpus
    if not quota or not cpus or quota >= cpus:
        return
    threads = max(1, int(quota))
    yield warning(
        "cpu-quota", 2, f"This container may use {quota:g} of {cpus} CPUs",
        "libraries count all CPUs and start as many threads, which then wait for the quota",
        f"Limit the threads to {threads}, and data loader workers to fewer",
        effect="no throttled threads in the middle of a step",
        command=f"export OMP_NUM_THREADS={threads}",
    )  # fmt: skip


def few_cores_for_gpus(situation: HostSituation) -> Iterator[HostFinding]:
    """Find fewer cores than data loaders need for each GPU."""
    profile = situation.profile
    cores, gpus = profile.cpu_cores, len(profile.gpus)
    if cores is None or gpus == 0 or cores >= CORES_A_GPU * gpus:
        return
    workers = max(1, cores // gpus - 1)
    yield suggestion(
        "cores-per-gpu", 2, f"{cores / gpus:.3g} cores for each GPU",
        f"machines that are rented out for training have at least {CORES_A_GPU}; decoding and tokenising need them",
        f"Prepare the data before the training, and use {plural(workers, 'data loader worker')} for each GPU",
        effect="GPUs wait less for data",
    )  # fmt: skip


def several_numa_nodes(situation: HostSituation) -> Iterator[HostFinding]:
    """Find GPUs or cores on several NUMA nodes, where each process should stay on one."""
    profile = situation.profile
    nodes = [each for each in profile.processor.numa_nodes if each.memory_bytes != 0]
    if len(nodes) < 2:
        return
    if profile.gpus:
        placed = sorted({each.numa_node for each in profile.gpus if each.numa_node is not None and each.numa_node >= 0})
        if not placed:
            return
        on = "node" if len(placed) == 1 else "nodes"
        yield suggestion(
            "numa", 1, f"The memory has {len(nodes)} NUMA nodes",
            f"the GPUs are at {on} {', '.join(map(str, placed))}; copies from another node pass between the sockets",
            "Bind each process to the node of its GPU",
            effect="full rate of copies between memory and GPU",
            command=f"numactl --cpunodebind={placed[0]} --membind={placed[0]} python train.py",
        )  # fmt: skip
        return
    yield suggestion(
        "numa", 2, f"The memory has {len(nodes)} NUMA nodes",
        "threads of one process would use memory of other nodes",
        f"Train with {len(nodes)} processes, each on the cores and memory of one node",
        effect="local memory bandwidth for all threads",
        command=f"torchrun --nproc-per-node={len(nodes)} --no-python bash -c "
        "'numactl --cpunodebind=$LOCAL_RANK --membind=$LOCAL_RANK python train.py'",
    )  # fmt: skip


def shared_with_database(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a database server beside the training."""
    names = situation.surroundings.databases
    if not names:
        return
    cores, memory = situation.profile.cpu_cores, situation.profile.memory
    used = ""
    if memory.usable_bytes and memory.available_bytes is not None:
        used = f"; {percent(1 - memory.available_bytes / memory.usable_bytes)} of the memory is in use"
    half = " By default, MongoDB's cache takes half of the memory above 1 GB." if "mongod" in names else ""
    yield suggestion(
        "database", 1, f"{', '.join(names)} runs on this machine",
        f"its cache, its writes and its cores ({cores or 'all'} shared) compete with the training{used}",
        f"Limit its cache, or move it to another host.{half}",
        effect="steps no longer wait for the database's disk writes",
        command="mongod --wiredTigerCacheSizeGB 2" if "mongod" in names else "",
    )  # fmt: skip


def long_runs(situation: HostSituation) -> Iterator[HostFinding]:
    """Find configurations that would take longer than anyone waits."""
    late = [each for each in situation.configurations if each.expected.seconds.middle > LONG_DAYS * DAY]
    if not late:
        return
    names = " and ".join(each.name for each in late)
    yield suggestion(
        "long-runs", 2, f"The {names} configuration{'s' if len(late) > 1 else ''} would take "
        f"{late[-1].expected.time_human} on this device",
        f"it reaches {figure(late[-1].expected.tokens_per_second)} tokens per second",
        "Train on fewer tokens here, or rent a GPU for this one",
        effect="`flyball prices` compares the cost of devices",
        command="flyball prices H100",
    )  # fmt: skip


RULES = (long_runs, slow_clock, few_usable_cpus, few_cores_for_gpus, several_numa_nodes, shared_with_database)
