"""The parts of the collector that HTTP handlers use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from litestar.di import NamedDependency

from flyball_collector.advice.advice import Advice
from flyball_collector.blocks.block import RowGroup
from flyball_collector.captures.orders import CaptureOrders
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.exporter.renderings import FindingSource, NoFindings, Renderings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.http.adjustment_source import AdjustmentSource
from flyball_collector.notify.notifier import Notifier
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.refused_agents import RefusedAgent
from flyball_collector.security.tokens import TokensFile
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.contract import Store
from flyball_collector.timeline.timeline import Timeline
from flyball_proto.layout import Layout


class RecentRows(Protocol):
    """A source of records that are not stored yet."""

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:
        """Return rows around [start_ns, end_ns) of corrected time. Some may be stored already."""


class NoRecentRows:
    """A source without rows, if all rows are stored."""

    def recent_rows(self, host: str, start_ns: int, end_ns: int) -> Sequence[tuple[Layout, RowGroup]]:  # noqa: ARG002
        """Return no rows."""
        return ()


def always_ready() -> Sequence[str]:
    """Return no reasons."""
    return ()


@dataclass(frozen=True, slots=True)
class CollectorParts:
    """The collector's parts for the HTTP application."""

    settings: CollectorSettings
    fleet: Fleet
    store: Store
    clock: Callable[[], int]  # wall clock in nanoseconds
    renderings: Renderings
    own_metrics: OwnMetrics
    timeline: Timeline
    notifier: Notifier
    diagnosis: Diagnosis
    captures: CaptureOrders
    tokens: TokensFile | None = None
    recent: RecentRows = field(default_factory=NoRecentRows)
    not_ready: Callable[[], Sequence[str]] = always_ready  # reasons why the collector is not ready
    warming: Callable[[], bool] = bool  # True while the windows are being loaded
    forget_host: Callable[[str], None] = lambda _: None  # drops buffered data that are not stored
    findings: FindingSource = field(default_factory=NoFindings)  # scores, primary bottlenecks, figures of runs
    advice: Callable[[], Sequence[Advice]] = tuple  # the most urgent first
    refused_agents: Callable[[], Sequence[RefusedAgent]] = tuple  # the newest first
    adjustments: AdjustmentSource | None = None
    origins: Mapping[str, str] = field(default_factory=dict)  # the origin of each setting


PartsDependency: TypeAlias = NamedDependency[CollectorParts]
"""The dependency through which a handler gets the parts."""
