"""Tests of NVLink: whichever counters a generation answers are read, and a bad link is named."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.nvidia_fields import DOUBLE, FieldValue
from flyball_agent.accelerators.nvidia_links import LINKS_AT_ONCE, bit_error_rate
from flyball_agent.standin.cards import H100
from flyball_agent.standin.chips import CHIPS, set_chip
from flyball_agent.standin.scenario import Scenario, count
from flyball_proto.unavailable_reading import Reason
from tests.agent.accelerators.nvidia_bench import Bench, unavailable_reading, value, values

ERRORS = "gpu_nvlink_errors_total"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("chip", "number", "link", "kind"),
    [
        ("A100", 10_000, 5, "replay"),  # nvmlDeviceGetNvLinkErrorCounter
        ("A100", 10_004, 0, "ecc_data"),
        ("H100", 161, 17, "replay"),
        ("H100", 162, 3, "recovery"),
        ("H100", 163, 3, "crc"),
        ("B200", 206, 3, "malformed_packet"),
        ("B200", 215, 3, "recovery"),
        ("B200", 221, 17, "symbol"),
        ("GB200", 214, 9, "recovery_failed"),
    ],
)
def test_injected_errors_of_a_link_are_counted(bench: Bench, chip: str, number: int, link: int, kind: str) -> None:
    """Errors on any link of any chip with NVLink are in the sum of their kind, and the link is named."""
    healthy = set_chip(Scenario(gpus=1), chip)
    bench.play(healthy)
    before = bench.read()
    assert values(before, ERRORS)[kind] == 0
    assert values(before, "gpu_nvlink_link_errors_total") == {}
    bench.play(healthy.field(number, 162_312, scopes=(link, link)))
    for _ in range(40):
        after = bench.read()
    assert values(after, ERRORS)[kind] == 162_312
    assert values(after, "gpu_nvlink_link_errors_total") == {str(link): 162_312}
    assert values(after, "gpu_nvlink_link_up") == {str(link): 1}


def test_totals_are_counted_where_only_they_answer(bench: Bench) -> None:
    """A driver that answers only the totals of all links is read with these."""
    bench.play(Scenario(gpus=1).set(H100).set({"nvlink_replay": 7, "nvlink_crc_data": 3}))
    counted = values(bench.read(), ERRORS)
    assert counted == {"replay": 7, "recovery": 0, "crc_flit": 0, "crc_data": 3}


def test_totals_need_no_link_states(bench: Bench) -> None:
    """A driver that answers the totals, but not the state of links, is read at each slow query."""
    bench.play(Scenario(gpus=1).set(H100).set({"nvlink_replay": 7}).error("nvmlDeviceGetNvLinkState", 3))
    for _ in range(25):
        sample = bench.read()
    assert values(sample, ERRORS)["replay"] == 7


def test_totals_of_zero_do_not_hide_the_errors_of_links(bench: Bench) -> None:
    """Hopper may answer the totals with zero while the counters of its links rise."""
    scenario = set_chip(Scenario(gpus=1), "H100").set({"nvlink_replay": 0, "nvlink_recovery": 0})
    bench.play(scenario.field(161, 5, scopes=(0, 17)))
    assert values(bench.read(), ERRORS)["replay"] == 5 * 18


def test_errors_are_unavailable_where_nothing_answers(bench: Bench) -> None:
    """Without any counter there is a reason instead of a zero, also on a chip whose links are up."""
    quiet = set_chip(Scenario(gpus=2), "B200", 0)
    for answer in CHIPS["B200"].fields:
        quiet.field(answer.number, None, 0, scopes=answer.scopes)
    for scenario in (set_chip(Scenario(gpus=2), "T4", 0), quiet):
        bench.play(scenario)
        sample = bench.read(after=601)
        assert values(sample, ERRORS) == {}
        missing = unavailable_reading(sample, ERRORS)
        assert missing is not None
        assert missing.reason is Reason.UNSUPPORTED


def test_a_link_that_goes_down_keeps_its_errors(bench: Bench) -> None:
    """A link that is down does not answer; the sums keep its counts, and the link is named as down."""
    scenario = set_chip(Scenario(gpus=1), "H100").field(162, 4, scopes=(17, 17))
    bench.play(scenario)
    bench.read()
    bench.play(scenario.set({"nvlinks_active": 17}).field(162, None, scopes=(17, 17)))
    for _ in range(30):
        sample = bench.read()
    assert values(sample, ERRORS)["recovery"] == 4
    assert value(sample, "gpu_nvlink_active_links") == 17
    assert values(sample, "gpu_nvlink_link_up") == {"17": 0}


def test_links_that_were_never_up_are_not_named(bench: Bench) -> None:
    """Boards wire fewer links than the chip has."""
    bench.play(set_chip(Scenario(gpus=1), "H100").set({"nvlinks_active": 12}))
    sample = bench.read()
    assert value(sample, "gpu_nvlink_active_links") == 12
    assert values(sample, "gpu_nvlink_link_up") == {}


def test_a_failing_link_makes_the_sums_unknown(bench: Bench) -> None:
    """While one link cannot be read the sums are unknown with the reason: a sum of the others would be too small."""
    scenario = set_chip(Scenario(gpus=1), "H100")
    bench.play(scenario)
    bench.read()
    bench.play(set_chip(Scenario(gpus=1), "H100").error("field_162", 999))
    for _ in range(20):
        sample = bench.read()
    missing = unavailable_reading(sample, ERRORS)
    assert missing is not None
    assert missing.reason is Reason.FAILED
    assert values(sample, ERRORS) == dict.fromkeys(("replay", "recovery", "crc", "crc_flit"))
    bench.play(scenario)
    for _ in range(40):
        sample = bench.read()
    assert values(sample, ERRORS)["recovery"] == 0
    assert unavailable_reading(sample, ERRORS) is None


@pytest.mark.parametrize("call", ["field_162", "nvmlDeviceGetNvLinkErrorCounter"])
def test_a_failure_at_the_start_is_not_taken_for_a_missing_counter(bench: Bench, call: str) -> None:
    """A counter that fails at the first reading is read again; only an unsupported one is dropped."""
    scenario = set_chip(Scenario(gpus=1), "H100")
    bench.play(set_chip(Scenario(gpus=1), "H100").error(call, 999))
    assert set(values(bench.read(), ERRORS).values()) == {None}
    bench.play(scenario.field(162, 3, scopes=(0, 17)).link_counter(2, 4, links=(0, 17)))
    for _ in range(40):
        sample = bench.read()
    assert values(sample, ERRORS) == {"replay": 0, "recovery": 3 * 18, "crc": 0, "crc_flit": 4 * 18}


def test_fields_that_no_link_has_are_not_asked_again(bench: Bench) -> None:
    """An A100 has no fields of single links: after the first reading a slow query asks for fields and totals only."""
    bench.play(set_chip(Scenario(gpus=1), "A100"))
    bench.read()
    calls = bench.nvml.calls["nvmlDeviceGetFieldValues"]
    before = calls.calls
    for _ in range(10):
        bench.read()
    assert calls.calls - before <= 10 * 2 + 2 * 2


def test_the_links_are_read_in_parts(bench: Bench) -> None:
    """A slow query reads six of the 18 links with 28 fields each, so that no tick takes long."""
    bench.play(set_chip(Scenario(gpus=1), "B200"))
    bench.read()
    calls = bench.nvml.calls["nvmlDeviceGetFieldValues"]
    before = calls.calls
    for _ in range(10):
        bench.read()
    fast, slow = 2, 2 + 1  # calls of each tick; fields and totals of the slow query (chip-to-chip is unsupported)
    assert calls.calls - before <= 10 * fast + 2 * (slow + LINKS_AT_ONCE)


def test_nvlink_5_has_error_correction_in_four_groups(bench: Bench) -> None:
    """The sixteen counts of repaired blocks are summed over links, in four groups; the worst bit error rate counts."""
    scenario = set_chip(Scenario(gpus=1), "B200")
    for bin_ in range(16):
        scenario.field(235 + bin_, 10**bin_ if bin_ < 9 else 0, scopes=(0, 17))
    bench.play(scenario.field(220, 15 | 3 << 8, scopes=(0, 16)).field(220, 12 | 2 << 8, scopes=(17, 17)))
    sample = bench.read()
    blocks = values(sample, "gpu_nvlink_fec_blocks_total")
    assert blocks == {"0": 18, "1-3": 18 * 1110, "4-7": 18 * 11_110_000, "8-15": 18 * 10**8}
    assert value(sample, "gpu_nvlink_effective_ber_ratio") == pytest.approx(2e-12)


def test_bytes_are_summed_over_links_where_there_is_no_total(bench: Bench) -> None:
    """NVLink 5 counts bytes of each link; a link that no longer answers keeps its bytes."""
    scenario = set_chip(Scenario(gpus=1), "B200").set({"nvlink_transmit_kib": None, "nvlink_receive_kib": None})
    bench.play(scenario.field(202, 1000, scopes=(0, 17)).field(204, 7, scopes=(0, 17)))
    sample = bench.read()
    assert value(sample, "gpu_nvlink_transmit_bytes_total") == 18_000
    assert value(sample, "gpu_nvlink_receive_bytes_total") == 18 * 7
    assert unavailable_reading(sample, "gpu_nvlink_transmit_bytes_total") is None
    bench.play(scenario.field(202, None, scopes=(3, 3)).field(202, 2000, scopes=(4, 17)))
    assert value(bench.read(), "gpu_nvlink_transmit_bytes_total") == 4 * 1000 + 14 * 2000


def test_the_total_is_preferred_to_the_bytes_of_links(bench: Bench) -> None:
    """The bytes of single links are not asked for while the total answers."""
    bench.play(set_chip(Scenario(gpus=1), "B200").set({"nvlink_transmit_kib": 3}).field(202, 9, scopes=(0, 17)))
    assert value(bench.read(), "gpu_nvlink_transmit_bytes_total") == 3 * 1024


@pytest.mark.parametrize(
    ("field", "rate"),
    [
        (FieldValue(0, 1.5e-9, DOUBLE, 0), 1.5e-9),
        (FieldValue(0, 15 | 3 << 8, 3, 0), 3e-15),
        (FieldValue(0, 0, 3, 0), 0.0),
    ],
)
def test_bit_error_rates_have_mantissa_and_exponent(field: FieldValue, rate: float) -> None:
    """The eight low bits are the negative exponent, the next four the mantissa; a floating-point number is itself."""
    assert bit_error_rate(field) == pytest.approx(rate)


def test_chip_to_chip_links_are_counted(bench: Bench) -> None:
    """A Grace superchip has links to its CPU, with their state and errors."""
    scenario = set_chip(Scenario(gpus=1), "GB200").field(171, 0, kind="uint", scopes=(2, 2)).field(232, 6, kind="uint")
    bench.play(scenario)
    sample = bench.read()
    assert (value(sample, "gpu_c2c_links"), value(sample, "gpu_c2c_active_links")) == (10, 9)
    assert values(sample, "gpu_c2c_errors_total") == {"crc": 0, "replay": 6, "replay_back_to_back": 0}


def test_growing_errors_stay_monotone_while_links_are_read_in_turn(bench: Bench) -> None:
    """The sum never falls although the links are read at different times."""
    bench.play(set_chip(Scenario(gpus=1), "B200").field(221, count(3), scopes=(0, 17)).started_at(0.001))
    sums = [values(bench.read(), ERRORS)["symbol"] or 0 for _ in range(60)]
    assert sums == sorted(sums)


def test_counters_that_no_link_has_are_not_asked_again(bench: Bench) -> None:
    """Since NVLink 5 the function for one link and counter is not supported, so it is not called again."""
    bench.play(set_chip(Scenario(gpus=1), "B200"))
    bench.read()
    calls = bench.nvml.calls["nvmlDeviceGetNvLinkErrorCounter"]
    before = calls.calls
    for _ in range(12):
        bench.read()
    assert calls.calls == before


@pytest.mark.parametrize("call", ["nvmlDeviceGetNvLinkState", "nvmlDeviceGetFieldValues"])
def test_a_failing_call_leaves_the_errors_unknown_until_it_succeeds(bench: Bench, call: str) -> None:
    """Link states or fields that fail for a time are a temporary failure, not a device without NVLink."""
    bench.play(set_chip(Scenario(gpus=1), "H100").error(call, 999))
    missing = unavailable_reading(bench.read(), ERRORS)
    assert missing is not None
    assert missing.reason is Reason.FAILED
    bench.play(set_chip(Scenario(gpus=1), "H100"))
    for _ in range(40):
        sample = bench.read()
    assert values(sample, ERRORS) == dict.fromkeys(("replay", "recovery", "crc", "crc_flit"), 0)
    assert unavailable_reading(sample, ERRORS) is None


def test_bytes_of_links_that_fail_are_unknown(bench: Bench) -> None:
    """A sum without one of the links would be too small."""
    scenario = set_chip(Scenario(gpus=1), "B200").set({"nvlink_transmit_kib": None, "nvlink_receive_kib": None})
    bench.play(scenario.field(202, 5, scopes=(0, 17)).error("field_202", 999))
    sample = bench.read()
    assert value(sample, "gpu_nvlink_transmit_bytes_total") is None
    missing = unavailable_reading(sample, "gpu_nvlink_transmit_bytes_total")
    assert missing is not None
    assert missing.reason is Reason.FAILED
