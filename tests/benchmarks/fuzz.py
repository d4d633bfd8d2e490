"""A hundred thousand hostile inputs to everything that reads from outside: only our own errors, and no growth."""

import gc
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError

from flyball_agent.errors import SpoolDamaged
from flyball_agent.record import Definition, Epoch, TickRecord
from flyball_agent.runs.messages import BadLine
from flyball_agent.runs.messages import decode as decode_line
from flyball_agent.settings import AgentSettings
from flyball_agent.spool.format import (
    HEADER,
    EntryKind,
    SpoolEntry,
    decode_definition,
    decode_epoch,
    decode_record,
    encode_definition,
    encode_epoch,
    encode_record,
    entries_start,
    scan,
)
from flyball_collector.blocks.codec import decode as decode_block
from flyball_collector.blocks.codec import encode as encode_block
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.testing import rows, small_layout
from flyball_collector.ingest.hello import check_hello
from flyball_collector.ingest.record_reader import RecordReader
from flyball_collector.ingest.rejection import Malformed, Rejection
from flyball_collector.security.tokens import TokensError, parse_tokens
from flyball_collector.tick import KnownLayout
from flyball_collector.times import parse_time
from flyball_daemon.settings import SettingsError, load
from flyball_proto.errors import WireError
from flyball_proto.layout import Layout
from flyball_proto.unavailable_reading import Reason, UnavailableReading, parse_unavailable, unavailable_body
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.figure import at_most, plain, report
from tests.raw_agent import LAYOUT, record

INPUTS = 100_000
_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x22, 0x5C)


@dataclass(frozen=True, slots=True)
class Target:
    """One reader, valid inputs to start from, and the errors that it may raise."""

    name: str
    read: Callable[[bytes], object]
    seeds: Sequence[bytes]
    errors: tuple[type[Exception], ...]


def targets(directory: Path) -> list[Target]:
    """Everything that parses what comes from outside."""
    epoch = bytes(range(16))
    records = [record(epoch, n).SerializeToString() for n in (0, 1, 2**40)]
    message = pb.AgentMessage(records=pb.Records(epoch=epoch, records=records)).SerializeToString()
    door = RecordReader("host", {LAYOUT.digest: KnownLayout(LAYOUT)})
    layout = small_layout()
    life = Epoch(epoch, time.time_ns(), "boot", 1000)
    definition = Definition.of(pb.Definition.LAYOUT, LAYOUT.body)
    segment = HEADER + encode_epoch(life) + encode_definition(definition)
    segment += b"".join(encode_record(TickRecord(n, raw, (definition,))) for n, raw in enumerate(records))
    toml = directory / "agent.toml"

    def read_toml(data: bytes) -> object:
        toml.write_bytes(data)
        return load(AgentSettings, file=toml)

    readers: dict[int, Callable[[bytes], object]] = {
        EntryKind.EPOCH: decode_epoch,
        EntryKind.DEFINITION: decode_definition,
        EntryKind.RECORD: decode_record,
    }

    def read_segment(data: bytes) -> object:
        found = [entry for entry in scan(data, entries_start(data)) if isinstance(entry, SpoolEntry)]
        return [readers[entry.kind](entry.body) for entry in found]

    unavailable = unavailable_body([UnavailableReading("nvidia", "", "", Reason.ABSENT, "no driver", "install it")])
    hello = pb.Hello(host="node-1", protocol=1, epochs=[pb.SpooledEpoch(epoch=life.to_message(), next=9)])
    line = b'{"kind":"steps","step":12,"steps":3,"step_seconds":0.5,"loss":2.5,"section_seconds":{"data":0.1}}'
    return [
        Target("message", pb.AgentMessage.FromString, [message], (DecodeError,)),
        Target("record", lambda data: door.read(data, epoch, 1), records, (Malformed,)),
        Target(
            "hello",
            lambda data: check_hello(pb.Hello.FromString(data)),
            [hello.SerializeToString()],
            (Rejection, DecodeError),
        ),
        Target("layout", Layout.parse, [LAYOUT.body, layout.layout.body], (WireError,)),
        Target("unavailable", parse_unavailable, [unavailable], (WireError,)),
        Target("socket line", decode_line, [line, b'{"kind":"hello","run":"a"}', b'{"kind":"x"}'], (BadLine,)),
        Target("spool segment", read_segment, [segment], (SpoolDamaged,)),
        Target("block", decode_block, [encode_block([rows(layout, range(60))])], (BlockError,)),
        Target("settings", read_toml, [b'host = "a"\n[spool]\nmax_bytes = 5\n', b"[[x]]\ny = 1"], (SettingsError,)),
        Target(
            "tokens",
            lambda data: parse_tokens(data.decode("utf-8", "replace")),
            [b"viewer " + b"a" * 64 + b" me\n"],
            (TokensError,),
        ),
        Target(
            "time of a request",
            lambda data: parse_time(data.decode("utf-8", "replace"), 10**18),
            [b"-15m", b"2026-01-01T00:00:00Z", b"17e8", b"now"],
            (ValueError,),
        ),
    ]


def mutate(data: bytes, dice: random.Random) -> bytes:
    """A damaged copy: bits flipped, bytes replaced, pieces cut, repeated, or made up."""
    mutated = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        choice, at = dice.random(), dice.randrange(len(mutated) + 1)
        if choice < 0.35 and at < len(mutated):
            mutated[at] ^= 1 << dice.randrange(8)
        elif choice < 0.55 and at < len(mutated):
            mutated[at] = dice.choice(_INTERESTING)
        elif choice < 0.7:
            del mutated[at : at + dice.randint(1, 16)]
        elif choice < 0.85:
            mutated[at:at] = mutated[at : at + dice.randint(1, 64)]
        else:
            mutated[at:at] = dice.randbytes(dice.randint(1, 12))
    return bytes(mutated)


def attack(target: Target, count: int, dice: random.Random) -> tuple[int, list[str]]:
    """Count refused inputs and list every other answer."""
    refused, crashes = 0, []
    for _ in range(count):
        data = mutate(dice.choice(target.seeds), dice)
        try:
            target.read(data)
        except target.errors:
            refused += 1
        except Exception as error:  # noqa: BLE001  a fuzzer reports whatever it finds
            crashes.append(f"{target.name}: {type(error).__name__}: {error}: {data!r}"[:400])
    return refused, crashes


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> None:
    """Attack every target twice: the second half must not need more memory than the first."""
    seed = random.SystemRandom().randrange(2**32)
    dice = random.Random(seed)
    crashes: list[str] = []
    refused = total = 0
    sizes = []
    with tempfile.TemporaryDirectory() as name:
        found = targets(Path(name))
        each = INPUTS // len(found) // 2 + 1
        for _ in range(2):
            for target in found:
                newly_refused, newly_crashed = attack(target, each, dice)
                refused, total = refused + newly_refused, total + each
                crashes += newly_crashed
            gc.collect()
            sizes.append(resident_bytes())
    for crash in crashes[:20]:
        print(crash, file=sys.stderr)
    report(
        [
            plain("hostile inputs", total, "inputs", f"{len(found)} readers, seed {seed}"),
            plain("refused", refused, "inputs", "the others were damaged into something valid"),
            at_most("crashes", len(crashes), 0, "inputs"),
            at_most("growth from the first half to the second", (sizes[1] - sizes[0]) / 1e6, 2, "MB"),
        ]
    )


if __name__ == "__main__":
    main()
