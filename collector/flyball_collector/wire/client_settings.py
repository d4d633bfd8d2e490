"""The client's SETTINGS that concern what a server sends (RFC 9113, section 6.5.2)."""

from typing import NamedTuple

from flyball_collector.wire import frames
from flyball_collector.wire.frames import ErrorCode, ProtocolFault


class ClientSettings(NamedTuple):
    """Settings of one frame; `None` where it does not contain them."""

    window: int | None  # the last value counts
    table_bytes: int | None  # the smallest value: an encoder has to signal that size (RFC 7541, section 4.2)


def read_settings(payload: bytes) -> ClientSettings:
    """Check and return the settings of a frame. Raises `ProtocolFault`. Unknown settings are ignored."""
    window = table_bytes = None
    for key, value in frames.SETTING.iter_unpack(payload):
        if key == frames.INITIAL_WINDOW_SIZE:
            if value > frames.MAX_WINDOW_BYTES:
                raise ProtocolFault(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {value} bytes")
            window = value
        elif key == frames.HEADER_TABLE_SIZE:
            table_bytes = value if table_bytes is None else min(value, table_bytes)
        elif key == frames.ENABLE_PUSH and value > 1:
            raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, f"ENABLE_PUSH {value}: allowed are 0 and 1")
        elif key == frames.MAX_FRAME_SIZE and not frames.FRAME_BYTES <= value <= frames.MAX_FRAME_BYTES:
            allowed = f"allowed are {frames.FRAME_BYTES} to {frames.MAX_FRAME_BYTES}"
            raise ProtocolFault(ErrorCode.PROTOCOL_ERROR, f"MAX_FRAME_SIZE {value}: {allowed}")
    return ClientSettings(window, table_bytes)
