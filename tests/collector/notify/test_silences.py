"""Silences of notifications."""

import pytest

from flyball_collector.diagnosis.subject import Subject
from flyball_collector.notify.silences import Silence, Silences, check_matchers
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import NOW_NS, make_event


def silence(**matchers: str) -> Silence:
    return Silence(id="-".join(matchers.values()), matchers=matchers, created_ns=NOW_NS, until_ns=NOW_NS + 10)


@pytest.mark.parametrize(
    ("matchers", "matches"),
    [
        ({"host": "node-1"}, True), ({"host": "node-*"}, True), ({"host": "node"}, False), ({"host": "node-?"}, True),
        ({"host": "node-1", "kind": "straggler"}, True), ({"host": "node-1", "kind": "host_lost"}, False),
        ({"run": "r"}, True), ({"rank": "3"}, True), ({"gpu": "*"}, True), ({"gpu": "G*"}, False),
        ({"alertname": "FlyballRunStraggler"}, True), ({"severity": "critical"}, False), ({"host": "[n]ode-1"}, True),
    ],
)  # fmt: skip
def test_all_matchers_must_match(matchers: dict[str, str], matches: bool) -> None:
    """Each is a name or a pattern; fields that do not apply to an entry are empty."""
    entry = entry_of(make_event("straggler", subject=Subject("node-1", run="r", rank=3)))
    assert silence(**matchers).matches(entry) is matches


def test_a_silence_ends_by_itself() -> None:
    """It is in force, and listed, until its time."""
    silences, entry = Silences(), entry_of(make_event())
    silences.add(silence(host="*-1"))
    assert silences.silence_of(entry, NOW_NS + 9) is not None
    assert silences.silence_of(entry, NOW_NS + 10) is None
    assert [each.id for each in silences.expired(NOW_NS + 10)] == ["*-1"]
    assert silences.remove("*-1")
    assert not silences.remove("*-1")


def test_damaged_documents_are_skipped() -> None:
    """Loading continues whatever the store contains."""
    silences = Silences()
    silences.load([b"", b"[]", b'{"id":"x"}', b'{"id":"x","matchers":{"host":"a"},"created_ns":0,"until_ns":5}'])
    assert [each.id for each in silences.active(0)] == ["x"]


@pytest.mark.parametrize(
    ("matchers", "message"),
    [
        ({}, "needs at least one"), ({"hosts": "a"}, "one of kind, severity, host"), ({"host": ""}, "expected a name"),
        ({"host": "x" * 257}, "up to 256"), ({"host": "*", "kind": "**"}, "silence everything"),
        ({"kind": "stragler"}, "no kind matches 'stragler'; did you mean 'straggler'"),
        ({"severity": "bad"}, "no severity matches 'bad'; expected one of info, warning, critical"),
        ({"hots": "a"}, "did you mean 'host'"),
    ],
)  # fmt: skip
def test_invalid_matchers_are_refused(matchers: dict[str, str], message: str) -> None:
    """The message names the fault and the expected form."""
    with pytest.raises(ValueError, match=message):
        check_matchers(matchers)


@pytest.mark.parametrize(
    "matchers", [{"kind": "straggler"}, {"kind": "gpu_*"}, {"severity": "w*"}, {"host": "stragler"}]
)
def test_matchers_that_may_match_are_accepted(matchers: dict[str, str]) -> None:
    """Names and patterns that match something; host names are not a closed list."""
    check_matchers(matchers)
