"""Tests of columns, which stay the same object while nothing changes, and of the reasons for missing values."""

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason

HOST = (gauge("a", "x", "A."), gauge("b", "x", "B."))
EACH = (gauge("c", "x", "C.", ("device",)), gauge("d", "x", "D.", ("device",)))


def test_columns_are_ordered_by_group_and_resource() -> None:
    """Columns are ordered by group, then by resource, then by metric."""
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
    """Equal resources give the same object, because the sampler compares by identity; other resources a new one."""
    grouped = GroupedColumns(EACH)
    first = grouped.columns([("sda",)])
    assert grouped.columns([("sda",)]) is first
    assert grouped.columns([("sdb",)]) is not first


def test_known_values_need_no_reason() -> None:
    """Known values, including zero, have no unavailable reading."""
    columns = GroupedColumns(HOST).columns(ONE)
    assert Gaps("p", "why").unavailable(columns, [0, 0.0]) == ()


def test_a_metric_without_any_value_has_one_reason() -> None:
    """A metric without any value has one unavailable reading; else there is one for each resource without a value."""
    columns = GroupedColumns(EACH).columns([("sda",), ("sdb",)])
    unavailable = Gaps("p", "why", Reason.UNSUPPORTED, "do that").unavailable(columns, [None, 1, None, None])
    assert [(s.metric, s.resource) for s in unavailable] == [("c", ""), ("d", "sdb")]
    assert {(s.probe, s.reason, s.detail, s.remedy) for s in unavailable} == {
        ("p", Reason.UNSUPPORTED, "why", "do that")
    }


def test_a_metric_can_have_its_own_detail() -> None:
    """The detail of a metric replaces that of the probe."""
    columns = GroupedColumns(HOST).columns(ONE)
    unavailable = Gaps("p", "why", details={"b": "no limit is set"}).unavailable(columns, [None, None])
    assert [s.detail for s in unavailable] == ["why", "no limit is set"]


def test_the_same_gaps_give_the_same_unavailable_readings() -> None:
    """The same missing values give the same objects; other missing values give new ones."""
    columns = GroupedColumns(HOST).columns(ONE)
    gaps = Gaps("p", "why")
    first = gaps.unavailable(columns, [None, 1])
    assert gaps.unavailable(columns, [None, 2]) is first
    assert [s.metric for s in gaps.unavailable(columns, [1, None])] == ["b"]
