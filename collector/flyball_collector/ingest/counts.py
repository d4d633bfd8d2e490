"""Counters of ingest: plain integers on the hot path, exported once a second."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counts:
    """Totals since the start."""

    messages: int = 0
    message_bytes: int = 0
    records: int = 0
    replayed_records: int = 0
    duplicate_records: int = 0
    lost_records: int = 0
    blocks_stored: int = 0
    blocks_bytes: int = 0  # written
    blocks_failed: int = 0
    blocks_dropped: int = 0
    builder_failures: int = 0
    rewinds: int = 0
    superseded: int = 0
    duplicate_hosts: int = 0
    store_failures: int = 0
    refused_records: Counter[str] = field(default_factory=Counter)  # by reason
    rejected_streams: Counter[str] = field(default_factory=Counter)  # by reason
    refused_definitions: int = 0
    throttled_records: int = 0
    definitions: Counter[str] = field(default_factory=Counter)  # by kind
    write_seconds: list[float] = field(default_factory=list)  # of writes to the store since the last export
    lags_seconds: list[float] = field(default_factory=list)  # of live records since the last export
