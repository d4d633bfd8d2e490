"""Columns keep their identity while nothing changes, and each gap in the values has its reason."""

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason

HOST = (gauge("a", "x", "A."), gauge("b", "x", "B."))
EACH = (gauge("c", "x", "C.", ("device",)), gauge("d", "x", "D.", ("device",)))


def test_columns_stand_group_by_group_and_resource_by_resource() -> None:
    """First the groups in order, in each the resources, of each all metrics."""
    columns = GroupedColumns(HOST, EACH).columns(ONE, [("sda",), ("sdb",)])
    assert [(c.metric.name, *c.labels) for c in columns] == [
        ("a",),
        ("b",),
        ("c", "sda"),
        ("d", "sda"),
        ("c", "sdb"),
        ("d", "sdb"),
    ]


def test_columns_are_the_same_object_while_resources_are_equal() -> None:
    """The sampler compares by identity: equal resources give the same columns, others new ones."""
    grouped = GroupedColumns(EACH)
    first = grouped.columns([("sda",)])
    assert grouped.columns([("sda",)]) is first
    assert grouped.columns([("sdb",)]) is not first


def test_nothing_missing_needs_no_words() -> None:
    """Known values, zero among them, have no unavailable reading."""
    columns = GroupedColumns(HOST).columns(ONE)
    assert Gaps("p", "why").unavailable(columns, [0, 0.0]) == ()


def test_a_metric_missing_everywhere_is_said_once() -> None:
    """One unavailable reading for a metric that no resource has, one a resource where only some lack it."""
    columns = GroupedColumns(EACH).columns([("sda",), ("sdb",)])
    unavailable = Gaps("p", "why", Reason.UNSUPPORTED, "do that").unavailable(columns, [None, 1, None, None])
    assert [(s.metric, s.resource) for s in unavailable] == [("c", ""), ("d", "sdb")]
    assert {(s.probe, s.reason, s.detail, s.remedy) for s in unavailable} == {
        ("p", Reason.UNSUPPORTED, "why", "do that")
    }


def test_a_metric_can_have_words_of_its_own() -> None:
    """The detail of a single metric replaces the probe's."""
    columns = GroupedColumns(HOST).columns(ONE)
    unavailable = Gaps("p", "why", details={"b": "no limit is set"}).unavailable(columns, [None, None])
    assert [s.detail for s in unavailable] == ["why", "no limit is set"]


def test_the_same_gaps_give_the_same_unavailable_readings() -> None:
    """Repeated gaps cost no new objects; other gaps are explained anew."""
    columns = GroupedColumns(HOST).columns(ONE)
    gaps = Gaps("p", "why")
    first = gaps.unavailable(columns, [None, 1])
    assert gaps.unavailable(columns, [None, 2]) is first
    assert [s.metric for s in gaps.unavailable(columns, [1, None])] == ["b"]
