"""What travels to the process that renders: everything a page needs, and what seldom changes only once."""

import pickle

from flyball_collector.exporter.pages import Pages
from flyball_collector.exporter.parcel import Packer, Parcel, Unpacker
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.exporter.busy_fleet import STANDS, busy_fleet, layout_of, order_of, say


def sent(parcel: Parcel) -> Parcel:
    """As it comes out at the other end."""
    arrived: Parcel = pickle.loads(pickle.dumps(parcel))  # noqa: S301  our own bytes
    return arrived


def test_the_page_of_a_parcel_is_the_page_of_its_order() -> None:
    """Whatever a host says, it is shown the same from the other side, second by second, and after a host has gone."""
    fleet, packer, unpacker = busy_fleet(), Packer(), Unpacker()
    here, there = Pages(15), Pages(15)
    for second in range(4):
        if second == 2:
            say(fleet, "b", second, layout_of("GPU-4", "GPU-3"))
            fleet.ensure("a").unavailable = ()
        if second == 3:
            fleet.remove("b")
        order = order_of(fleet, second)
        whole = here.render(order)
        assert there.render(unpacker.unpack(sent(packer.pack(order_of(fleet, second))))) == whole
        assert b'flyball_gpu_power_watts{instance="a",gpu="GPU-1"}' in whole.body
        assert b'user="ann"' in whole.body
        assert (b'"GPU-4"' in whole.body) == (second == 2)
        assert (b'instance="b"' in whole.body) == (second < 3)


def test_what_lasts_is_sent_once() -> None:
    """Layouts, inventories and the like travel again only when they are others; a host that comes back says all."""
    fleet, packer = busy_fleet(), Packer()
    news = [set(packer.pack(order_of(fleet)).lasting)]
    news.append(set(packer.pack(order_of(fleet)).lasting))
    fleet.ensure("a").inventory = pb.Inventory(kernel="6.2")
    news.append(set(packer.pack(order_of(fleet)).lasting))
    fleet.remove("b")
    news.append(set(packer.pack(order_of(fleet)).lasting))
    say(fleet, "b", 1, layout_of("GPU-3"))
    news.append(set(packer.pack(order_of(fleet)).lasting))
    assert news == [{"a", "b"}, set(), {"a"}, set(), {"b"}]


def test_a_group_of_conditions_is_sent_once() -> None:
    """One that is the same as in the parcel before is named by its number there, whatever stands before it now."""
    fleet, packer, unpacker = busy_fleet(), Packer(), Unpacker()
    one, other = [STANDS], [STANDS._replace(left=None)]
    seen = []
    for groups in ([one, other], [other], [one, other], []):
        order = order_of(fleet)
        parcel = packer.pack(order._replace(diagnosis=order.diagnosis._replace(active=groups)))
        assert unpacker.unpack(sent(parcel)).diagnosis.active == groups
        seen.append([group if isinstance(group, int) else len(group) * 10 for group in parcel.active])
    assert seen == [[10, 10], [1], [10, 0], []]


def test_what_lasts_is_the_same_object_at_the_other_end() -> None:
    """By that the writers know that nothing has changed; equal metrics of unlike hosts are one object, too."""
    fleet, packer, unpacker = busy_fleet(), Packer(), Unpacker()
    first, second = (unpacker.unpack(sent(packer.pack(order_of(fleet)))).snapshot.hosts for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.layout is other.layout
        assert one.inventory is other.inventory
        assert one.tenancy is other.tenancy
        assert one.unavailable is other.unavailable
    assert first[0].layout is not None
    assert first[1].layout is not None
    assert first[0].layout.layout.columns[0].metric is first[1].layout.layout.columns[0].metric
