"""Every rule gives advice where its condition is active and its facts are known, and otherwise none."""

import re
from dataclasses import replace
from typing import Any

import pytest

from flyball_collector.advice.advice import Advice, Safety
from flyball_collector.advice.advice_list import materially_other
from flyball_collector.advice.rules.catalogue import BY_NAME, RULES
from flyball_collector.advice.settings import GIB, AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME as KINDS
from flyball_collector.diagnosis.kinds import Scope
from flyball_collector.diagnosis.subject import Subject

SETTINGS = AdviceSettings()


def event(kind: str, *, confidence: float = 0.8, level: float | None = None, gpu: str = "", **evidence: float) -> Event:
    """Return an active condition on host a."""
    scope = KINDS[kind].scope
    subject = {
        Scope.HOST: Subject("a"),
        Scope.GPU: Subject("a", gpu or "GPU-0"),
        Scope.RESOURCE: Subject("a", gpu, resource="eth0"),
        Scope.RUN: Subject(run="r"),
        Scope.RANK: Subject("a", run="r", rank=3),
    }[scope]
    return Event(
        condition=f"{kind}-1",
        time_ns=1,
        state=State.RAISED,
        kind=KINDS[kind],
        subject=subject,
        severity=KINDS[kind].severity,
        confidence=confidence,
        level=level,
        because=f"text of {kind}",
        evidence=evidence,
    )


def situation(*events: Event, **facts: Any) -> Situation:
    """Return host a with room for everything, unless the facts differ."""
    active: dict[str, tuple[Event, ...]] = {}
    for one in events:
        active[one.kind.name] = (*active.get(one.kind.name, ()), one)
    roomy: dict[str, Any] = {
        "subject": Subject("a"),
        "gpus": 8,
        "gpu_busy_share": 0.5,
        "data_wait_share": 0.4,
        "cpu_busy_share": 0.2,
        "cores": 64.0,
        "memory_available_bytes": 500.0 * GIB,
        "memory_total_bytes": 1000.0 * GIB,
        "shared_memory_free_bytes": 400.0 * GIB,
        "shared_memory_total_bytes": 500.0 * GIB,
        "disk_busy_share": 0.1,
    }
    return Situation(active=active, **(roomy | facts))


def advise(name: str, found: Situation) -> Advice | None:
    return BY_NAME[name].advise(found, SETTINGS)


FIRES: dict[str, Situation] = {
    "more_workers": situation(event("bottleneck_data_wait")),
    "faster_storage": situation(event("bottleneck_disk", io_pressure_full_ratio=0.3)),
    "cheaper_preprocessing": situation(event("bottleneck_cpu"), cpu_busy_share=0.95),
    "free_cpus": situation(event("bottleneck_cpu"), cores=2.0, own_cores=0.5, other_cores=1.4, ready_share=0.3),
    "resize_workers": situation(event("bottleneck_cpu"), workers=200),
    "batch_calls": situation(event("bottleneck_service", service_ratio=0.6), calls_per_sample=100.0),
    "tune_pool": situation(event("bottleneck_service", service_ratio=0.6), pool_wait_share=0.2),
    "parallel_workers": situation(event("bottleneck_service", service_ratio=0.6)),
    "serve_batches": situation(event("bottleneck_service", service_ratio=0.6), server_queue_share=0.5),
    "fuse_host_work": situation(event("bottleneck_host")),
    "remove_syncs": situation(event("bottleneck_sync")),
    "grow_micro_batch": situation(event("bottleneck_small_batch")),
    "profile_kernels": situation(event("bottleneck_gpu_compute"), gpu_busy_share=0.97, gpu_power_share=0.4),
    "mixed_precision": situation(event("bottleneck_gpu_compute"), tensor_active_share=0.0, capability=8.0),
    "release_gpu": situation(event("bottleneck_idle_gpu")),
    "raise_use": situation(event("bottleneck_low_use")),
    "hide_communication": situation(event("bottleneck_communication"), communication_share=0.3),
    "repair_link": situation(event("infiniband_flap")),
    "repair_nvlink": situation(event("nvlink_down")),
    "restore_pcie": situation(event("pcie_degraded", rate_ratio=0.5)),
    "pinned_transfers": situation(event("bottleneck_pcie")),
    "bind_numa": situation(event("bottleneck_numa")),
    "checkpoint_now": situation(event("memory_exhaustion", gpu="GPU-0")),
    "shrink_micro_batch": situation(event("memory_exhaustion", gpu="GPU-0")),
    "defragment_memory": situation(
        event("memory_exhaustion", gpu="GPU-0"), reserved_peak_bytes=70e9, allocated_peak_bytes=50e9
    ),
    "stop_gpu_leak": situation(event("memory_leak", gpu="GPU-0")),
    "recycle_workers": situation(event("memory_leak")),
    "ease_memory": situation(event("memory_pressure")),
    "raise_memory_limit": situation(event("oom_kill", limit_of_a_group=1)),
    "free_disk": situation(event("disk_full")),
    "improve_cooling": situation(event("thermal_slowdown")),
    "pause_to_cool": situation(event("thermal_slowdown")),
    "raise_power_limit": situation(event("power_capped", clock_of_peers_ratio=0.8)),
    "check_power_supply": situation(event("power_brake")),
    "debug_application": situation(event("gpu_xid", xid=13)),
    "reset_gpu": situation(event("gpu_xid", xid=48)),
    "service_node": situation(event("gpu_xid", xid=79)),
    "replace_memory": situation(event("gpu_row_remap", failed=1)),
    "evict_tenant": situation(event("co_tenant")),
    "use_mains": situation(event("bottleneck_cpu"), power_source="battery"),
    "inspect_slow_rank": situation(event("fail_slow", step_ratio=1.3)),
    "swap_straggler": situation(event("straggler", own_seconds=1.3, peers_own_seconds=1.0)),
    "look_at_run": situation(event("run_slow")),
    "balance_load": situation(event("load_imbalance", work_spread_ratio=0.3)),
    "look_at_outliers": situation(event("step_outliers")),
    "look_at_stalls": situation(event("periodic_stalls", lost_ratio=0.07)),
    "capture_stacks": situation(event("run_hang")),
    "look_at_start": situation(event("slow_start")),
    "stop_bad_loss": situation(event("loss_not_finite")),
    "asynchronous_checkpoint": situation(event("bottleneck_checkpoint", checkpoint_ratio=0.2)),
    "checkpoint_interval": situation(
        event("bottleneck_checkpoint"), checkpoint_seconds=60.0, checkpoint_interval_seconds=300.0, world_size=1024
    ),
}

NO_ADVICE: dict[str, Situation] = {
    "more_workers": replace(FIRES["more_workers"], waiting_while_idle_share=0.01),
    "faster_storage": replace(FIRES["faster_storage"], gpu_busy_share=1.0),
    "cheaper_preprocessing": replace(FIRES["cheaper_preprocessing"], cpu_busy_share=0.4),
    "free_cpus": replace(FIRES["free_cpus"], own_cores=1.6, other_cores=0.3),
    "resize_workers": replace(FIRES["resize_workers"], workers=64),
    "batch_calls": replace(FIRES["batch_calls"], calls_per_sample=3.0),
    "tune_pool": replace(FIRES["tune_pool"], pool_wait_share=0.01),
    "parallel_workers": replace(FIRES["parallel_workers"], cpu_busy_share=0.9),
    "serve_batches": replace(FIRES["serve_batches"], server_queue_share=0.1),
    "fuse_host_work": replace(FIRES["fuse_host_work"], gpu_busy_share=0.99),
    "remove_syncs": replace(FIRES["remove_syncs"], gpu_busy_share=None),
    "grow_micro_batch": replace(FIRES["grow_micro_batch"], allocated_peak_bytes=60e9, gpu_memory_total_bytes=80e9),
    "profile_kernels": replace(FIRES["profile_kernels"], gpu_power_share=0.9),
    "mixed_precision": replace(FIRES["mixed_precision"], tensor_active_share=0.3),
    "hide_communication": replace(FIRES["hide_communication"], communication_share=0.05),
    "pinned_transfers": replace(FIRES["pinned_transfers"], gpu_busy_share=None),
    "shrink_micro_batch": situation(event("memory_exhaustion")),
    "defragment_memory": replace(FIRES["defragment_memory"], allocated_peak_bytes=69e9),
    "stop_gpu_leak": FIRES["recycle_workers"],
    "recycle_workers": FIRES["stop_gpu_leak"],
    "ease_memory": situation(event("memory_exhaustion", gpu="GPU-0"), event("oom_kill", limit_of_a_group=1)),
    "raise_memory_limit": situation(event("oom_kill", limit_of_a_group=0)),
    "debug_application": FIRES["reset_gpu"],
    "reset_gpu": FIRES["debug_application"],
    "service_node": FIRES["debug_application"],
    "use_mains": replace(FIRES["use_mains"], power_source="mains"),
    "asynchronous_checkpoint": situation(event("bottleneck_checkpoint", checkpoint_ratio=0.02)),
    "checkpoint_interval": replace(FIRES["checkpoint_interval"], checkpoint_interval_seconds=4600.0),
}


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        (
            "its control group “/x” (“Slurm job 42, step 0”) reached its memory limit",
            "give Slurm job 42, step 0 more memory (`--mem`",
        ),
        (
            "its control group “/x” (“container main of pod a/b”) reached its memory limit",
            "request of container main of pod a/b (`resources.limits",
        ),
        ("its control group “/x” (“train.service”) reached its memory limit", "raise `MemoryMax=` of train.service"),
        (
            "its control group “/docker/3f” (“container 3f”) reached its memory limit",
            "limit of container 3f (`--memory`)",
        ),
        ("its control group “/x” reached its memory limit", "(`memory.max`) of the group"),
    ],
)
def test_a_kill_at_a_limit_raises_that_limit(reason: str, change: str) -> None:
    """The change names the group's owner, and no advice claims that the host has too little memory."""
    killed = situation(replace(event("oom_kill", limit_of_a_group=1), because=reason))
    advice = advise("raise_memory_limit", killed)
    assert advice is not None
    assert change in advice.change
    assert advise("ease_memory", killed) is None
    assert advise("ease_memory", situation(event("oom_kill", limit_of_a_group=0))) is not None


@pytest.mark.parametrize(("own", "others"), [(4.0, 2.1), (1.0, 1.9)], ids=["mostly its own", "few of them"])
def test_the_cpus_are_not_freed_of_the_trainings_own_work(own: float, others: float) -> None:
    """Other programs must use a quarter of the CPUs, and much of what is used."""
    found = replace(FIRES["free_cpus"], cores=8.0, own_cores=own, other_cores=others)
    assert advise("free_cpus", found) is None
    assert advise("free_cpus", replace(found, own_cores=1.0, other_cores=2.1)) is not None


def test_every_rule_has_a_situation_here() -> None:
    """Names are unique and not those of kinds; the rules that it yields to and its kinds exist."""
    assert FIRES.keys() == BY_NAME.keys()
    assert len(BY_NAME) == len(RULES)
    assert not BY_NAME.keys() & KINDS.keys()
    for rule in RULES:
        assert all(kind in KINDS for kind in rule.kinds), rule.name
        assert all(leaf in BY_NAME for leaf in rule.yields_to), rule.name
        assert rule.source, rule.name


@pytest.mark.parametrize("name", FIRES)
def test_a_rule_gives_advice_where_its_facts_are_known(name: str) -> None:
    """It has a reason and a change, is at most as certain as its conditions, and lists them."""
    advice = advise(name, FIRES[name])
    assert advice is not None
    assert advice.because
    assert advice.change
    assert 0 < advice.confidence <= 0.8
    assert advice.conditions
    assert advice.rule == name


@pytest.mark.parametrize("name", FIRES)
def test_a_rule_gives_no_advice_without_its_condition(name: str) -> None:
    """Facts alone are not enough."""
    other = event("duplicate_host")
    assert advise(name, replace(FIRES[name], active={"duplicate_host": (other,)})) is None


@pytest.mark.parametrize("name", NO_ADVICE)
def test_a_rule_gives_no_advice_if_its_facts_contradict_it(name: str) -> None:
    """Each threshold is tested on its other side."""
    assert advise(name, NO_ADVICE[name]) is None


@pytest.mark.parametrize("name", ["more_workers", "parallel_workers"])
@pytest.mark.parametrize(
    "fact",
    [
        "memory_available_bytes",
        "memory_total_bytes",
        "shared_memory_free_bytes",
        "shared_memory_total_bytes",
        "cores",
        "cpu_busy_share",
    ],
)
def test_no_worker_is_advised_if_memory_is_unknown(name: str, fact: str) -> None:
    """An unknown value does not count as plenty."""
    unknown: dict[str, Any] = {fact: None}
    assert advise(name, replace(FIRES[name], **unknown)) is None


@pytest.mark.parametrize("name", ["more_workers", "parallel_workers"])
def test_no_worker_is_advised_that_does_not_fit(name: str) -> None:
    """RAM or /dev/shm may be almost used up; a measured worker replaces the assumed one."""
    assert advise(name, replace(FIRES[name], memory_available_bytes=201.0 * GIB)) is None
    assert advise(name, replace(FIRES[name], shared_memory_free_bytes=100.2 * GIB)) is None
    assert advise(name, replace(FIRES[name], worker_memory_bytes=301.0 * GIB)) is None
    assert advise(name, replace(FIRES[name], disk_busy_share=0.97)) is None
    one = advise(name, replace(FIRES[name], worker_memory_bytes=100.0 * GIB, worker_shared_memory_bytes=0.0))
    assert one is not None
    assert one.proposed["workers_added"] == 3


def test_a_gain_counts_only_while_the_gpu_idles() -> None:
    """A wait of 40 % while the GPU is busy is worth little; without a reading of the GPU there is no gain."""
    found = FIRES["more_workers"]
    large, small = advise("more_workers", found), advise("more_workers", replace(found, gpu_busy_share=0.9))
    assert large is not None
    assert large.gain is not None
    assert large.gain.upper == pytest.approx(1 / 0.6)
    assert small is not None
    assert small.gain is not None
    assert small.gain.upper == pytest.approx(1 / 0.9)
    assert advise("more_workers", replace(found, gpu_busy_share=None)) is None
    without_gpus = advise("more_workers", replace(found, gpus=0, gpu_busy_share=None))
    assert without_gpus is not None


def test_a_pause_of_several_ranks_is_for_all_together_and_needs_consent() -> None:
    """A single rank may pause; many only together, well within the timeout; an unknown number counts as many."""
    for size, safety in ((1, Safety.SAFE), (8, Safety.CONSENT), (None, Safety.CONSENT)):
        advice = advise("pause_to_cool", replace(FIRES["pause_to_cool"], world_size=size))
        assert advice is not None
        assert advice.safety is safety
        assert advice.proposed["pause_seconds"] <= SETTINGS.collective_timeout_seconds / 4
        assert ("all ranks" in advice.change) is (size != 1)


def test_gpu_headroom_is_unknown_without_the_frameworks_figures() -> None:
    """The driver's figure includes caches, so no machine may act on it; known figures still need consent."""
    unknown = advise("grow_micro_batch", FIRES["grow_micro_batch"])
    assert unknown is not None
    assert (unknown.safety, "check its memory first" in unknown.because) == (Safety.ADVISE, True)
    known = advise(
        "grow_micro_batch",
        replace(
            FIRES["grow_micro_batch"], allocated_peak_bytes=20e9, gpu_memory_total_bytes=80e9, accumulation_steps=4
        ),
    )
    assert known is not None
    assert (known.safety, known.needs_consent) == (Safety.CONSENT, True)


def test_a_disputed_action_of_an_xid_is_marked() -> None:
    """If sources disagree, the advice notes it."""
    advice = advise("debug_application", situation(event("gpu_xid", xid=94)))
    assert advice is not None
    assert "disagree" in advice.caution


def test_advice_with_almost_no_gain_is_not_given() -> None:
    """It is below the least gain even at best."""
    assert advise("remove_syncs", replace(FIRES["remove_syncs"], gpu_busy_share=0.96)) is None
    strict = AdviceSettings(least_gain=10.0)
    assert BY_NAME["more_workers"].advise(FIRES["more_workers"], strict) is None


def test_without_step_reports_texts_leave_out_steps() -> None:
    """On a host without step reports, only the CPU is mentioned."""
    found = situation(event("bottleneck_cpu"), cpu_busy_share=0.95, data_wait_share=None, gpus=0)
    advice = advise("cheaper_preprocessing", found)
    assert advice is not None
    assert advice.because == "the CPU is 95 % busy"


def test_a_slow_rank_costs_what_it_is_slower() -> None:
    """In synchronous training steps are equally long: the rank's own work is compared with its peers'."""
    straggler, slow = (
        advise("swap_straggler", FIRES["swap_straggler"]),
        advise("inspect_slow_rank", FIRES["inspect_slow_rank"]),
    )
    for advice in (straggler, slow):
        assert advice is not None
        assert advice.gain is not None
        assert advice.gain.lower == 1.0
        assert advice.gain.upper == pytest.approx(1.3)


def test_the_gain_of_all_levers_is_shown_if_calls_were_counted() -> None:
    """It is more than the best one and less than the product of all; without a count it is left out."""
    calls = replace(FIRES["batch_calls"], gpus=0, cpu_busy_share=0.005)
    counted, uncounted = advise("batch_calls", calls), advise("batch_calls", replace(calls, calls_per_sample=None))
    assert counted is not None
    assert counted.gain is not None
    assert uncounted is not None
    match = re.search(r"([\d.]+) to ([\d.]+)× in all", counted.caution)
    assert match is not None
    assert float(match[2]) >= round(counted.gain.upper, 1)
    assert "in all" not in uncounted.caution


def test_advice_about_one_gpu_does_not_repeat_its_name() -> None:
    """The subject is shown with the advice. If there are several, the text names the one that it is about."""
    gpus = [Subject("a", "GPU-1"), Subject("a", "GPU-2")]
    situations = [
        Situation(subject=Subject("a"), active={"thermal_slowdown": tuple(map(_hot, some))})
        for some in (gpus[:1], gpus)
    ]
    assert [one.first_reason(one.events("thermal_slowdown")) for one in situations] == ["84 °C", "GPU 1 on a: 84 °C"]


def numbered(kind: str, gpu: str, index: int | None, second: int = 0) -> Event:
    """Return an active condition of a GPU with a known number."""
    return replace(event(kind, gpu=gpu), gpu_index=index, time_ns=second)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [("shrink_micro_batch", "memory_exhaustion"), ("repair_nvlink", "nvlink_down"), ("restore_pcie", "pcie_degraded")],
)
def test_advice_names_a_gpu_by_its_number(rule: str, kind: str) -> None:
    """Without a known number, this is the beginning of the UUID; the subject is always the UUID."""
    gpu = "GPU-3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21"
    for index, words in ((3, "GPU 3 on a"), (None, "GPU 3f2a9c1e on a")):
        given = advise(rule, situation(replace(numbered(kind, gpu, index), subject=Subject("a", gpu))))
        assert given is not None
        assert words in given.because
        assert (given.subject.gpu, given.gpu_index) == (gpu, index)


def test_advice_of_several_conditions_has_the_newest_number() -> None:
    """One GPU before and after a reboot has the later number; several GPUs together have none."""
    one = situation(numbered("gpu_ecc", "GPU-x", 3, 1), numbered("power_brake", "GPU-x", 5, 2))
    several = situation(numbered("gpu_ecc", "GPU-x", 3), numbered("power_brake", "GPU-y", 4))
    given = [advise("checkpoint_now", found) for found in (one, several)]
    assert [advice and (advice.subject.gpu, advice.gpu_index) for advice in given] == [("GPU-x", 5), ("", None)]


def test_advice_changes_if_its_gpu_has_another_number() -> None:
    """Otherwise people would look at the wrong GPU after a reboot."""
    first, second = (advise("repair_nvlink", situation(numbered("nvlink_down", "GPU-x", index))) for index in (3, 5))
    assert first is not None
    assert second is not None
    assert materially_other(first, second)
    assert not materially_other(second, second)


def _hot(gpu: Subject) -> Event:
    kind = KINDS["thermal_slowdown"]
    return Event(
        condition=gpu.gpu, time_ns=1, state=State.RAISED, kind=kind, subject=gpu, severity=kind.severity,
        confidence=0.9, because="84 °C",
    )  # fmt: skip
