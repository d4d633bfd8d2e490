"""The size of a message before it is parsed."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.ingest.message_size import OTHER_BYTES, check_size
from flyball_collector.ingest.rejection import Rejection
from flyball_proto.v1 import telemetry_pb2 as pb

RECORDS = pb.AgentMessage(records=pb.Records(epoch=bytes(16), records=[bytes(1000)] * 3000), sent_boot_ns=1)
DEFINITION = pb.AgentMessage(definition=pb.Definition(body=bytes(3_000_000)), sent_boot_ns=1, echo=pb.Echo())
INVENTORY = pb.AgentMessage(inventory=pb.Inventory(gpus=[pb.Gpu()] * (OTHER_BYTES // 2)))
HELLO = pb.AgentMessage(hello=pb.Hello(epochs=[pb.SpooledEpoch()] * (OTHER_BYTES // 2)))


@pytest.mark.parametrize("message", [RECORDS, DEFINITION])
def test_long_records_and_definitions_pass(message: pb.AgentMessage) -> None:
    """Their content is bytes, which cost little to parse."""
    check_size(message.SerializeToString())


@pytest.mark.parametrize("message", [INVENTORY, HELLO])
def test_other_long_messages_are_refused(message: pb.AgentMessage) -> None:
    """The message names the limit."""
    with pytest.raises(Rejection, match="neither records nor a definition; the limit is 524288"):
        check_size(message.SerializeToString())


def test_parts_are_added_up() -> None:
    """Protobuf merges repeated fields, in any order, so many short parts are one long inventory."""
    part = pb.AgentMessage(inventory=pb.Inventory(gpus=[pb.Gpu()] * 50_000)).SerializeToString()
    records = RECORDS.SerializeToString()
    check_size(records + part * 4)
    with pytest.raises(Rejection):
        check_size(records + part * 6)
    with pytest.raises(Rejection):
        check_size(part * 6 + records)


def test_a_long_message_of_countless_fields_is_refused() -> None:
    """Looking at each of them would cost as much as parsing."""
    tiny = pb.AgentMessage(records=pb.Records(epoch=b"x")).SerializeToString()
    with pytest.raises(Rejection):
        check_size(tiny * 200_000)


@given(st.binary(min_size=1, max_size=40))
def test_any_bytes_are_checked_without_an_error(start: bytes) -> None:
    """Bytes that are not a message are refused, or left to the parser."""
    with suppress(Rejection):
        check_size(start + bytes(OTHER_BYTES))
