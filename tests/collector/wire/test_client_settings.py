"""The client's settings."""

import pytest

from flyball_collector.wire import frames
from flyball_collector.wire.client_settings import ClientSettings, read_settings
from flyball_collector.wire.frames import ErrorCode, ProtocolFault


def entries(*pairs: tuple[int, int]) -> bytes:
    return b"".join(frames.SETTING.pack(key, value) for key, value in pairs)


def test_the_last_window_and_the_smallest_table_count() -> None:
    """An encoder signals the smallest size; everything else has the value that was set last."""
    payload = entries((4, 10), (1, 4096), (1, 100), (1, 8192), (4, 20), (0x99, 7))
    assert read_settings(payload) == ClientSettings(window=20, table_bytes=100)
    assert read_settings(b"") == ClientSettings(None, None)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        (frames.ENABLE_PUSH, 2, ErrorCode.PROTOCOL_ERROR),
        (frames.INITIAL_WINDOW_SIZE, 1 << 31, ErrorCode.FLOW_CONTROL_ERROR),
        (frames.MAX_FRAME_SIZE, (1 << 14) - 1, ErrorCode.PROTOCOL_ERROR),
        (frames.MAX_FRAME_SIZE, 1 << 24, ErrorCode.PROTOCOL_ERROR),
    ],
)
def test_values_outside_their_range_are_refused(key: int, value: int, code: ErrorCode) -> None:
    """The reason contains the value."""
    with pytest.raises(ProtocolFault, match=str(value)) as caught:
        read_settings(entries((key, value)))
    assert caught.value.code is code
