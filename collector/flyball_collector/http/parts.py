"""What the HTTP side is made of: everything that it shows is handed in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from litestar.di import NamedDependency

from flyball_collector.advice.advice import Advice
from flyball_collector.blocks.block import RowGroup
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.exporter.renderings import Findings, NothingFound, Renderings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.notify.silences import Silences
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.security.tokens import TokensFile
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store
from flyball_collector.timeline.timeline import Timeline
from flyball_proto.layout import Layout


class RecentRows(Protocol):
    """Who has records that are not in the store yet."""

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:
        """Rows around [start_ns, end_ns) of corrected time; some may be in the store as well."""


class NothingRecent:
    """Stands in where nothing is gathered: every row is in the store."""

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:  # noqa: ARG002
        """None: see above."""
        return ()


def always_ready() -> Sequence[str]:
    """No reason against."""
    return ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The collector, as the HTTP side sees it."""

    settings: CollectorSettings
    fleet: Fleet
    store: Store
    clock: Callable[[], int]  # wall clock in nanoseconds
    renderings: Renderings
    own_metrics: OwnMetrics
    timeline: Timeline
    silences: Silences
    diagnosis: Diagnosis
    tokens: TokensFile | None = None
    recent: RecentRows = field(default_factory=NothingRecent)
    not_ready: Callable[[], Sequence[str]] = always_ready  # why the collector is not ready; nothing: it is
    warming: Callable[[], bool] = bool  # the windows are still being loaded
    forget_host: Callable[[str], None] = lambda _: None  # lets go of what is gathered and not stored
    findings: Findings = field(default_factory=NothingFound)  # scores, primary bottlenecks, figures of runs
    advice: Callable[[], Sequence[Advice]] = tuple  # the most urgent first
    origins: Mapping[str, str] = field(default_factory=dict)  # where each setting came from


Here: TypeAlias = NamedDependency[Parts]
"""How a handler asks for the parts."""
