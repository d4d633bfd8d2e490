"""Silences."""

import pytest

from flyball_collector.diagnosis.subject import Subject
from flyball_collector.notify.silences import Silence, Silences, check_matchers
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import NOW_NS, make_event


def silence(**matchers: str) -> Silence:
    return Silence(id="-".join(matchers.values()), matchers=matchers, created_ns=NOW_NS, until_ns=NOW_NS + 10)


@pytest.mark.parametrize(
    ("matchers", "fits"),
    [
        ({"host": "node-1"}, True), ({"host": "node-*"}, True), ({"host": "node"}, False), ({"host": "node-?"}, True),
        ({"host": "node-1", "kind": "straggler"}, True), ({"host": "node-1", "kind": "host_lost"}, False),
        ({"run": "r"}, True), ({"rank": "3"}, True), ({"gpu": "*"}, True), ({"gpu": "G*"}, False),
        ({"alertname": "FlyballRunStraggler"}, True), ({"severity": "critical"}, False), ({"host": "[n]ode-1"}, True),
    ],
)  # fmt: skip
def test_all_matchers_must_fit(matchers: dict[str, str], fits: bool) -> None:
    """A name or a pattern each; what does not apply to an entry is empty."""
    entry = entry_of(make_event("straggler", subject=Subject("node-1", run="r", rank=3)))
    assert silence(**matchers).fits(entry) is fits


def test_it_ends_by_itself() -> None:
    """In force until its time, and listed so."""
    silences, entry = Silences(), entry_of(make_event())
    silences.add(silence(host="*-1"))
    assert silences.silence_of(entry, NOW_NS + 9) is not None
    assert silences.silence_of(entry, NOW_NS + 10) is None
    assert [each.id for each in silences.over(NOW_NS + 10)] == ["*-1"]
    assert silences.remove("*-1")
    assert not silences.remove("*-1")


def test_damaged_documents_silence_nothing() -> None:
    """Whatever the store holds, loading goes on."""
    silences = Silences()
    silences.load([b"", b"[]", b'{"id":"x"}', b'{"id":"x","matchers":{"host":"a"},"created_ns":0,"until_ns":5}'])
    assert [each.id for each in silences.active(0)] == ["x"]


@pytest.mark.parametrize(
    ("matchers", "said"),
    [
        ({}, "needs a matcher"), ({"hosts": "a"}, "one of kind, severity, host"), ({"host": ""}, "expected a name"),
        ({"host": "x" * 257}, "at most 256"), ({"host": "*", "kind": "**"}, "silence everything"),
        ({"kind": "stragler"}, "no kind fits 'stragler'; did you mean straggler"), ({"severity": "bad"}, "no severity"),
    ],
)  # fmt: skip
def test_wrong_matchers_are_named(matchers: dict[str, str], said: str) -> None:
    """What is wrong, and what is expected."""
    with pytest.raises(ValueError, match=said):
        check_matchers(matchers)


@pytest.mark.parametrize(
    "matchers", [{"kind": "straggler"}, {"kind": "gpu_*"}, {"severity": "w*"}, {"host": "stragler"}]
)
def test_what_may_fit_is_taken(matchers: dict[str, str]) -> None:
    """Names and patterns that fit something; of hosts nobody knows all names."""
    check_matchers(matchers)
