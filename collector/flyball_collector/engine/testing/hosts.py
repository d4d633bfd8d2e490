"""A small simulated fleet for tests: readings and facts are set by hand and diagnosed second by second."""

import numpy as np

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.engine.start_up import StartUp
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.kill_details import KillDetails
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9
START = 1_900_000_000

_Key = tuple[str, tuple[tuple[str, str], ...]]


class SimulatedFleet:
    """Hosts that send a record each second until they are added to `not_reporting`."""

    def __init__(self, *detectors: Detector, settings: DiagnosisSettings | None = None) -> None:
        self.fleet = Fleet()
        self.start_up = StartUp()
        self.diagnosis = Diagnosis(self.fleet, settings or DiagnosisSettings(), list(detectors), start_up=self.start_up)
        self.now = float(START)
        self.not_reporting: set[str] = set()
        self._readings: dict[str, dict[_Key, float | None]] = {}
        self._layouts: dict[tuple[_Key, ...], KnownLayout] = {}
        self._steps: dict[str, list[pb.StepReport]] = {}
        self._sequence = 0

    def host(self, name: str = "a") -> HostState:
        """Return a connected host with an agent; create it if needed."""
        state = self.fleet.ensure(name)
        if name not in self._readings:
            self._readings[name] = {}
            state.connected, state.agent_version = True, "1.2.3"
            self.set("cpu_busy_ratio", 0.1, host=name)
        return state

    def set(self, metric: str, value: float | None, *, host: str = "a", gpu: str = "", **labels: str) -> None:
        """Set what a host reports from now on; `None` means unknown."""
        self.host(host)
        own = {"gpu": gpu, "index": gpu[-1]} if gpu else {}
        self._readings[host][metric, tuple({**own, **labels}.items())] = value

    def drop(self, metric: str, *, host: str = "a", gpu: str = "") -> None:
        """Remove columns of a host."""
        for key in [k for k in self._readings[host] if k[0] == metric and (not gpu or ("gpu", gpu) in k[1])]:
            del self._readings[host][key]

    def add_event(
        self,
        kind: str,
        *,
        host: str = "a",
        resource: str = "",
        code: int = 0,
        ago: float = 0.0,
        kill: KillDetails | None = None,
    ) -> None:
        """Add an event as if a record of the host had brought it."""
        state = self.host(host)
        event = HostEvent(int((self.now - ago) * SECOND), kind, resource, code, f"text of {kind}", kill)
        state.events = (*state.events, event)

    def report(self, *reports: pb.StepReport, host: str = "a") -> None:
        """Set the step reports of the host's next record."""
        self._steps[host] = list(reports)

    def step(self, seconds: int = 1) -> list[Event]:
        """Let seconds pass and return the events."""
        events: list[Event] = []
        for _ in range(seconds):
            self.now += 1
            for name in self._readings.keys() - self.not_reporting:
                self._send(name)
            now_ns = int((self.now + 0.5) * SECOND)
            self.fleet.advance(now_ns)
            events += self.diagnosis.step(now_ns)
        assert not self.diagnosis.failures, self.diagnosis.failures  # noqa: S101  a test's own helper
        return events

    def kinds(self, seconds: int = 1) -> list[str]:
        """Let seconds pass and return the events in short form, like `gpu_xid raised`."""
        return [f"{event.kind.name} {event.state}" for event in self.step(seconds)]

    @property
    def view(self) -> View:
        """The newest view."""
        assert self.diagnosis.view is not None  # noqa: S101
        return self.diagnosis.view

    def _send(self, name: str) -> None:
        readings = self._readings[name]
        keys = tuple(sorted(readings))
        layout = self._layouts.get(keys)
        if layout is None:
            layout = self._layouts[keys] = KnownLayout(Layout(tuple(_column(key) for key in keys)))
        known = [readings[key] for key in keys]
        values = np.array(
            [round((v or 0) * s) for v, s in zip(known, layout.scales.tolist(), strict=True)], dtype=np.int64
        )
        valid = np.array([value is not None for value in known], dtype=np.bool_)
        at = int(self.now * SECOND)
        self._sequence += 1
        steps = self._steps.pop(name, [])
        extras = pb.Record(steps=steps).SerializeToString() if steps else b""
        self.fleet.apply(
            Tick(name, bytes(16), self._sequence, layout, values, valid, at, at, at, at, 0, 0, extras, live=True)
        )


def _column(key: _Key) -> Column:
    name, labels = key
    kind = Kind.COUNTER if name.endswith("_total") else Kind.GAUGE
    scale = 1 if "bytes" in name or "hertz" in name else 1_000_000
    return Column(Metric(name, kind, "", "Of a test.", tuple(k for k, _ in labels), scale), tuple(v for _, v in labels))
