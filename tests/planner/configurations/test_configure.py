"""Tests of conservative, balanced and extreme configurations for real machines."""

import pytest
from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.catalogue.machines import machine
from flyball_planner.configurations.bounds import ALL, CONSERVATIVE, EXTREME
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.configure import configure
from flyball_planner.configurations.supplements import supplements_of
from flyball_planner.plan.make import make_plan
from flyball_planner.specification.reader import read_specification
from flyball_reports.errors import InputError
from flyball_reports.figures import percent

FEWEST_WORDS = 4


@pytest.fixture(scope="module", params=[("RTX_4090_fp16", 1), ("GTX_1660Ti_fp32", 1), ("A100_80GB_fp16", 8)])
def found(request: pytest.FixtureRequest) -> tuple[Configuration, ...]:
    """Return all three configurations for a machine."""
    return configure(machine(*request.param))


def test_the_memory_share_is_a_limit(found: tuple[Configuration, ...]) -> None:
    """No configuration uses more memory than its kind allows."""
    for each, bounds in zip(found, ALL, strict=True):
        assert each.expected.memory_share <= bounds.memory_share


def test_every_limit_is_met_or_listed_as_missed(found: tuple[Configuration, ...]) -> None:
    """Exactly the limits that a configuration does not meet are listed as missed."""
    for each, bounds in zip(found, ALL, strict=True):
        missed = {bound.bound for bound in each.missed}
        for name, span, value in (
            ("parameters", bounds.parameters, each.model.parameters),
            ("micro-batch", bounds.micro_batch, each.training.micro_batch),
            ("sequence", bounds.sequence, each.training.sequence),
            ("time", bounds.seconds, each.expected.seconds.middle),
            ("tokens per parameter", bounds.tokens_per_parameter, each.training.tokens_per_parameter),
        ):
            assert (name in missed) is not (0.99 * span.low <= value <= 1.01 * span.high), (each.name, name)
        if "power" not in missed:
            assert each.expected.power_share is not None
            assert bounds.power_share.holds(round(each.expected.power_share, 2))
        assert ("memory" in missed) is (each.expected.memory_share < bounds.least_memory_share)


@pytest.mark.parametrize(
    "name",
    ["RTX_3060_fp16", "H200", "TPU_v4_pod", "M1_Pro", "CPU_8C_3.5Ghz_baseline"],
)
def test_every_missed_limit_has_its_reason(name: str) -> None:
    """On devices of every kind, each missed limit has a reason, with the value that was reached."""
    for each in configure(machine(name)):
        reasons = [bound.because for bound in each.missed]
        assert all(len(reason.split()) >= FEWEST_WORDS for reason in reasons), reasons
        assert all(bound.reached and bound.wanted for bound in each.missed)


def test_an_extreme_configuration_uses_the_memory_or_shows_why_not(found: tuple[Configuration, ...]) -> None:
    """Nine tenths of the memory are used, or the reason has the figure that stops a larger micro-batch or model."""
    (extreme,) = (each for each in found if each.name == "extreme")
    (why,) = [bound.because for bound in extreme.missed if bound.bound == "memory"] or [""]
    assert extreme.expected.memory_share >= 0.9 or any(letter.isdigit() for letter in why)


def test_an_unknown_power_is_a_missed_limit() -> None:
    """A device without a nominal power gets the reason, and no power."""
    quiet = replace(find_device("RTX_4090_fp16"), name="quiet", power_watts=None)
    (each,) = configure(machine(quiet), [CONSERVATIVE])
    (power,) = [bound for bound in each.missed if bound.bound == "power"]
    assert power.because == "the catalogue has no nominal power of quiet"
    assert each.expected.power_share is None


def test_each_configuration_can_be_planned(found: tuple[Configuration, ...]) -> None:
    """The plan of the specification has the same model and memory, and the same time without pauses."""
    for each in found:
        plan = make_plan(read_specification(each.specification))
        assert plan.model.parameters == each.model.parameters
        assert plan.memory.driver_bytes.middle == pytest.approx(each.expected.memory_bytes.middle)
        assert plan.layout.micro_batch == each.training.micro_batch
        share = plan.computation.estimated_train_seconds.middle / each.expected.seconds.middle
        assert share == pytest.approx(1, rel=0.05) or (each.training.pause_seconds_per_step > 0 and share < 1)


def test_numbers_are_consistent(found: tuple[Configuration, ...]) -> None:
    """Batch, steps, tokens, phases and learning rates are consistent."""
    for each in found:
        training = each.training
        assert training.micro_batch * training.accumulation * each.devices == training.global_batch
        assert training.tokens == training.steps * training.global_batch * training.sequence
        assert 0 < training.warm_up_steps <= training.steps
        assert 0 < training.last_learning_rate < training.learning_rate <= 1e-3
        first, second = supplements_of(each, "nvme").phases
        assert first.tokens + second.tokens == pytest.approx(training.tokens)


def test_a_conservative_run_pauses_to_stay_cool() -> None:
    """Pauses keep the mean power below 40 % of the nominal power."""
    (each,) = configure(machine("RTX_4090_fp16"), [CONSERVATIVE])
    assert each.expected.power_share is not None
    assert each.expected.power_share <= 0.4 + 1e-9
    assert each.training.pause_seconds_per_step > 0


def test_a_processor_gets_threads_and_a_command() -> None:
    """A machine without accelerators gets a complete configuration, with threads."""
    (each,) = configure(machine("CPU_8C_3.5Ghz_baseline"), [CONSERVATIVE])
    supplements = supplements_of(each, "ssd")
    assert supplements.processor is not None
    assert supplements.processor.threads == 8
    assert each.training.precision == "fp32"


@pytest.mark.parametrize("name", ["M1_Pro", "CPU_8C_3.5Ghz_baseline"])
def test_memory_that_is_shared_with_the_host_is_left_to_it(name: str) -> None:
    """Each configuration of a device that shares the memory of its host has a plan in which both suffice."""
    whole = machine(name)
    for each in configure(whole):
        plan = make_plan(read_specification(each.specification))
        assert plan.host is not None
        assert (plan.memory.verdict, plan.host.verdict) == ("fits", "fits"), each.name
        if whole.device.kind is DeviceKind.UNIFIED:
            assert each.expected.memory_bytes.high <= 0.75 * whole.device.memory_bytes


def test_no_run_of_years_is_proposed_on_a_slow_device() -> None:
    """If nothing ends in time, the shortest run is proposed, and the limit is listed as missed with its reason."""
    fast = find_device("CPU_8C_3.5Ghz_baseline")
    rates = {name: rate / 20 for name, rate in fast.flops_per_second.items()}
    slow = machine(replace(fast, name="slow", flops_per_second=rates))
    conservative, balanced, extreme = configure(slow)
    for each in (conservative, balanced, extreme):
        (late,) = [bound for bound in each.missed if bound.bound == "longest run"]
        assert late.wanted == "7 days or less"
        assert "shortest" in late.because
        assert all("smaller model" not in bound.because for bound in each.missed)
    assert extreme.model.parameters == conservative.model.parameters
    assert extreme.expected.seconds.middle < 5 * conservative.expected.seconds.middle


def test_a_reserve_for_the_upper_end_is_the_reason_for_free_memory() -> None:
    """An extreme configuration that uses less than it may states how much its upper end takes."""
    (extreme,) = configure(machine("RTX_4090_fp16"), [EXTREME])
    (memory,) = [bound.because for bound in extreme.missed if bound.bound == "memory"]
    taken = extreme.expected.memory_bytes.high / find_device("RTX_4090_fp16").memory_bytes
    assert taken > 0.9
    assert memory.startswith(f"this one may need up to {percent(taken)} already")


def test_a_machine_that_is_too_small_is_an_error() -> None:
    """A machine on which no model fits is an InputError."""
    tiny = replace(find_device("GTX_1660Ti_fp32"), name="tiny", memory_bytes=2**30)
    with pytest.raises(InputError, match="nothing fits into 50 % of the memory of tiny, not even"):
        configure(machine(tiny), [CONSERVATIVE])
    small = replace(find_device("CPU_8C_3.5Ghz_baseline"), name="small", memory_bytes=4 * 2**30)
    with pytest.raises(InputError, match="of the memory of small beside the operating system"):
        configure(machine(small), [CONSERVATIVE])


@pytest.mark.parametrize("name", ["RTX_3060_fp16", "T4"])
def test_a_longer_sequence_uses_memory_that_a_larger_micro_batch_cannot(name: str) -> None:
    """The sequence grows by less than twice, and nothing else is missed for it."""
    whole = machine(name)
    (extreme,) = configure(whole, [EXTREME])
    assert extreme.training.sequence & (extreme.training.sequence - 1)
    assert extreme.expected.memory_bytes.high > 0.85 * whole.device.memory_bytes
    assert {"time", "longest run", "sequence"}.isdisjoint(each.bound for each in extreme.missed)
