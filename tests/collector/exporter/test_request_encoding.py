"""Requests for the rendering process: everything that a page needs, with static data sent only once."""

import pickle

from flyball_collector.exporter.page_renderer import PageRenderer
from flyball_collector.exporter.request_encoding import EncodedRequest, RequestDecoder, RequestEncoder
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.exporter.busy_fleet import CONDITION, apply, busy_fleet, layout_of, page_request


def transferred(encoded: EncodedRequest) -> EncodedRequest:
    """Return the request as the receiver gets it."""
    arrived: EncodedRequest = pickle.loads(pickle.dumps(encoded))  # noqa: S301  our own bytes
    return arrived


def test_the_page_of_an_encoded_request_is_the_same() -> None:
    """In every second, and after a host was removed, the page equals the one rendered here."""
    fleet, encoder, decoder = busy_fleet(), RequestEncoder(), RequestDecoder()
    here, there = PageRenderer(15), PageRenderer(15)
    for second in range(4):
        if second == 2:
            apply(fleet, "b", second, layout_of("GPU-4", "GPU-3"))
            fleet.ensure("a").unavailable = ()
        if second == 3:
            fleet.remove("b")
        order = page_request(fleet, second)
        whole = here.render(order)
        assert there.render(decoder.decode(transferred(encoder.encode(page_request(fleet, second))))) == whole
        assert b'flyball_gpu_power_watts{instance="a",gpu="GPU-1"}' in whole.body
        assert b'user="ann"' in whole.body
        assert (b'"GPU-4"' in whole.body) == (second == 2)
        assert (b'instance="b"' in whole.body) == (second < 3)


def test_static_data_are_sent_once() -> None:
    """Layouts, inventories and the like are sent again only after a change; a host that returns sends all of them."""
    fleet, encoder = busy_fleet(), RequestEncoder()
    news = [set(encoder.encode(page_request(fleet)).static)]
    news.append(set(encoder.encode(page_request(fleet)).static))
    fleet.ensure("a").inventory = pb.Inventory(kernel="6.2")
    news.append(set(encoder.encode(page_request(fleet)).static))
    fleet.remove("b")
    news.append(set(encoder.encode(page_request(fleet)).static))
    apply(fleet, "b", 1, layout_of("GPU-3"))
    news.append(set(encoder.encode(page_request(fleet)).static))
    assert news == [{"a", "b"}, set(), {"a"}, set(), {"b"}]


def test_a_group_of_conditions_is_sent_once() -> None:
    """An unchanged group is referred to by its index in the previous request, whatever precedes it now."""
    fleet, encoder, decoder = busy_fleet(), RequestEncoder(), RequestDecoder()
    one, other = [CONDITION], [CONDITION._replace(left=None)]
    seen = []
    for groups in ([one, other], [other], [one, other], []):
        order = page_request(fleet)
        encoded = encoder.encode(order._replace(diagnosis=order.diagnosis._replace(active=groups)))
        assert decoder.decode(transferred(encoded)).diagnosis.active == groups
        seen.append([group if isinstance(group, int) else len(group) * 10 for group in encoded.active])
    assert seen == [[10, 10], [1], [10, 0], []]


def test_static_data_are_the_same_objects_for_the_receiver() -> None:
    """The writers recognise unchanged data by it; equal metrics of different hosts are one object as well."""
    fleet, encoder, decoder = busy_fleet(), RequestEncoder(), RequestDecoder()
    first, second = (decoder.decode(transferred(encoder.encode(page_request(fleet)))).snapshot.hosts for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.layout is other.layout
        assert one.inventory is other.inventory
        assert one.tenancy is other.tenancy
        assert one.unavailable is other.unavailable
    assert first[0].layout is not None
    assert first[1].layout is not None
    assert first[0].layout.layout.columns[0].metric is first[1].layout.layout.columns[0].metric
