"""Tests of recommending hardware for a data set and a time limit."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.catalogue.tables import table
from flyball_planner.interval import Interval
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.recommend.demand import Demand
from flyball_planner.recommend.disks import choose_disks, storage_prices
from flyball_planner.recommend.hosts import host_options
from flyball_planner.recommend.recommendation import recommend
from flyball_planner.storage.estimator import StorageEstimator
from flyball_planner.training import Training
from flyball_reports.errors import InputError


def test_a_learner_limited_by_its_service_gets_machines_and_a_database() -> None:
    """A million samples of 0.75 s in a day need nine machines with eight workers, and a database for the patterns."""
    found = recommend(Demand(samples=1_000_000, hours=24))
    assert found.hosts[0].instances <= 9
    assert found.cores.middle == 9 * 8 + 4
    assert found.database is not None
    stored = StorageEstimator().estimate_storage(1_000_000, 500)
    assert found.database.disk_bytes.middle == pytest.approx(stored.storage.middle * 1.05)
    assert found.disks.needed.middle > found.database.disk_bytes.middle
    assert found.hours.middle <= 24 < found.hours.high
    assert found.warnings
    assert found.usd is not None
    assert found.usd.middle > found.hosts[0].usd.middle


def test_all_prices_have_region_and_date() -> None:
    """AWS, GCP and Azure are included, each with region and date."""
    found = recommend(Demand(samples=1_000_000, hours=24))
    assert {"AWS", "GCP", "Azure"} <= {each.provider for each in found.hosts}
    for each in (*found.hosts, *found.database_hosts):
        assert each.region in each.description()
        assert "dated" in each.description() or "as of 20" in each.description()
    assert all(each.region and each.as_of for each in found.storage_prices)


@settings(max_examples=20)
@given(samples=st.integers(1, 10**8), hours=st.floats(0.1, 1e4), factor=st.floats(1.0, 20.0))
def test_less_time_takes_more_machines(samples: int, hours: float, factor: float) -> None:
    """A shorter time limit never needs fewer cores, and the middle of the estimate meets the limit."""
    relaxed = recommend(Demand(samples, hours * factor))
    tight = recommend(Demand(samples, hours))
    assert tight.cores.middle >= relaxed.cores.middle
    assert tight.hours.middle <= hours or tight.hours.middle == pytest.approx(hours)


def test_measured_writes_give_the_number_of_servers() -> None:
    """Without measured writes the number of shards is unknown; with them it follows from the rate."""
    unknown = recommend(Demand(1_000_000, 24)).database
    assert unknown is not None
    assert unknown.shards is None
    assert any("unknown" in each for each in unknown.because)
    measured = recommend(Demand(1_000_000, 24, database_writes_per_second=100.0)).database
    assert measured is not None
    assert measured.shards == 5  # for 429 writes/s


def test_the_simplest_sufficient_disk_is_chosen() -> None:
    """A hard disk is chosen for few operations, an SSD for many, and several of the fastest if one is too slow."""
    size = Interval.exactly(1e12)
    assert choose_disks(size, 50e6, operations_per_second=10).kind == "HDD 7200 rpm"
    assert choose_disks(size, 50e6, operations_per_second=1000).kind == "SATA III SSD"
    assert choose_disks(size, 3e9).kind == "NVMe SSD PCIe 3.0 x4"
    assert choose_disks(size, 1e6, 2e9).kind == "NVMe SSD PCIe 3.0 x4"
    fastest = choose_disks(size, 50e9)
    assert (fastest.kind, fastest.several) == ("NVMe SSD PCIe 5.0 x4", 4)
    assert fastest.needed.middle == pytest.approx(1.2e12)


def test_storage_is_priced_by_size_and_months() -> None:
    """Twice the time costs twice as much, and the cheapest price comes first."""
    once, twice = storage_prices(1e12, 1.0), storage_prices(1e12, 2.0)
    assert [each.usd for each in once] == sorted(each.usd for each in once)
    assert twice[0].usd == pytest.approx(2 * once[0].usd)


def test_large_instances_replace_several_machines() -> None:
    """Two large instances can replace nine small machines; instances with too little memory are left out."""
    options = host_options(9, 8, 16 * 2**30, Interval.exactly(10.0))
    by_name = {each.instance: each for each in options}
    assert by_name["m7i.4xlarge"].instances == 9
    assert by_name["m7i.24xlarge"].instances == 2
    assert "m7i.xlarge" not in by_name
    assert not host_options(1, 8, 2**50, Interval.exactly(1.0))


@pytest.mark.parametrize("row", table("hosts"), ids=lambda row: row["instance"])
def test_host_prices_are_plausible(row: dict[str, str]) -> None:
    """General-purpose instances cost 4 to 7 cents per vCPU and hour; each has a region and a date."""
    assert 0.04 <= float(row["usd_per_hour"]) / int(row["vcpus"]) <= 0.07
    assert row["region"]
    assert row["as_of"]
    assert float(row["ram_gib"]) / int(row["vcpus"]) in {4.0, 8.0}


def _small() -> Training:
    return Training(sequence=1024, global_batch=64, optimizer=find_optimizer("adamw"))


def test_a_model_gets_accelerators_within_the_time_limit() -> None:
    """The first option is the cheapest within the time limit; cores, memory and storage follow from it."""
    demand = Demand(samples=200_000, hours=24, tokens_per_sample=1024)
    found = recommend(demand, named_shape("gpt2"), _small(), devices=("A100 80GB", "H100", "T4"))
    first = found.devices[0]
    assert first.in_time
    assert first.hours.middle <= 24
    assert first.usd == min(each.usd for each in found.devices if each.in_time)
    assert found.cores.low == 4 * first.count
    assert found.ram_bytes.low >= first.device.memory_bytes * first.count
    assert found.disks.needed.low > demand.data_bytes
    assert found.usd is not None
    assert "of 20" in first.description() or "undated" in first.description()
    assert found.reasons[0] == first.description()
    assert found.disks.kind.startswith("NVMe")


def test_the_fastest_come_first_if_none_is_in_time() -> None:
    """With a limit that no device meets, the first option is the one that the warning calls the fastest."""
    demand = Demand(samples=200_000, hours=1e-4, tokens_per_sample=1024)
    found = recommend(demand, named_shape("gpt2"), _small(), devices=("T4", "A100 80GB", "H100"))
    hours = [each.hours.middle for each in found.devices]
    assert hours == sorted(hours)
    assert found.hours == found.devices[0].hours
    assert "this is the fastest" in found.warnings[0]
    assert min(found.devices, key=lambda each: each.usd) != found.devices[0]


def test_all_rented_devices_are_used() -> None:
    """B300s are rented in nodes of eight, so a run uses all eight devices of the node."""
    demand = Demand(3_000_000, 24, 1024)
    (option,) = recommend(demand, named_shape("gpt2-medium"), _small(), devices=("B300",)).devices
    assert option.bill is not None
    assert option.bill.idle_devices == 0
    assert option.count == 8


def test_a_classical_model_gets_a_machine() -> None:
    """The machine has enough memory, meets the time limit if one can, and the implementation is named."""
    forest = model_cost("random_forest", {"n": 1_000_000, "p": 50, "trees": 500, "depth": 20})
    found = recommend(Demand(samples=1_000_000, hours=5, bytes_per_sample=400), forest)
    assert found.hosts[0].ram_bytes >= found.ram_bytes.high - 4 * 2**30
    assert found.hours.middle <= 5
    assert found.devices == ()
    assert any(forest.implementation in each for each in found.reasons)
    hurried = recommend(Demand(samples=1_000_000, hours=1e-6, bytes_per_sample=400), forest)
    assert "this is the cheapest" in hurried.warnings[0]


def test_a_shorter_time_takes_more_devices() -> None:
    """A limit of two hours instead of a day needs more devices."""
    shape, training = named_shape("gpt2-medium"), _small()
    day = recommend(Demand(3_000_000, 24, 1024), shape, training, devices=("A100 80GB",)).devices[0]
    hurried = recommend(Demand(3_000_000, 2, 1024), shape, training, devices=("A100 80GB",)).devices[0]
    assert hurried.count > day.count
    assert hurried.hours.middle < day.hours.middle


def test_impossible_demands_are_errors() -> None:
    """A model that is too large, a demand without samples and a model without a training are errors."""
    with pytest.raises(InputError, match="allow other devices"):
        recommend(Demand(1000, 1), named_shape("llama-3.1-70b"), _small(), devices=("GTX 1650",))
    with pytest.raises(InputError, match="samples must be above 0, not 0"):
        Demand(0, 1)
    with pytest.raises(InputError, match="depends on the training"):
        recommend(Demand(1000, 1), named_shape("gpt2"))


def test_samples_and_hours_are_a_demand() -> None:
    """Both are enough for a recommendation, which is that of the demand; a training has its own samples."""
    assert recommend(samples=1_000_000, hours=24) == recommend(Demand(1_000_000, 24.0))
    training = replace(_small(), samples=3_000_000)
    assert recommend(None, named_shape("gpt2"), training, ("A100 80GB",), hours=5).demand.samples == 3_000_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": 1000}, "hours is missing"),
        ({"hours": 2}, "samples is missing"),
        ({"samples": "many", "hours": 2}, "samples must be a number, not 'many'"),
        ({"samples": 0, "hours": 2}, "samples must be above 0"),
        ({"demand": Demand(1000, 1), "hours": 2}, "either the demand or these"),
    ],
)
def test_an_incomplete_demand_is_an_error(given: dict[str, Any], message: str) -> None:
    """The message names what is missing and shows how the function is called."""
    with pytest.raises(InputError, match=message):
        recommend(**given)
