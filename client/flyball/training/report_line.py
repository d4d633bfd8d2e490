"""The JSON lines that go to the agent. They are written by hand, because importing `json` takes 11 ms."""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.figures import Figures
    from flyball.training.progress import Progress

GOODBYE = b'{"kind":"goodbye"}\n'
MAX_LINE_BYTES = 60_000  # the agent accepts 64 KiB
_SECOND = 1e-9  # nanoseconds


def steps_line(last_step: int, figures: Figures, progress: Progress, dropped: int) -> bytes:
    """Return the report of the steps since the previous one."""
    parts = [
        f'"kind":"steps","step":{last_step},"steps":{figures.steps},"step_seconds":{figures.nanoseconds * _SECOND:.6f}'
    ]
    if figures.waits:
        parts.append(f'"data_wait_seconds":{figures.wait * _SECOND:.6f}')
    if figures.throttled:
        parts.append(f'"throttled_seconds":{figures.throttled * _SECOND:.6f}')
    if figures.paused:
        parts.append(f'"paused_seconds":{figures.paused * _SECOND:.6f}')
    if figures.oom_retries:
        parts.append(f'"oom_retries":{figures.oom_retries}')
    if figures.tokens is not None:
        parts.append(f'"tokens":{figures.tokens!r}')
    if figures.samples is not None:
        parts.append(f'"samples":{figures.samples!r}')
    if progress.loss is not None:
        parts.append(f'"loss":{_loss(progress.loss)}')
    if progress.allocated_peak_bytes is not None:
        parts.append(f'"allocated_peak_bytes":{progress.allocated_peak_bytes}')
    if progress.reserved_peak_bytes is not None:
        parts.append(f'"reserved_peak_bytes":{progress.reserved_peak_bytes}')
    if dropped:
        parts.append(f'"dropped":{dropped}')
    _add_groups(parts, figures)
    return _line(parts)


def _add_groups(parts: list[str], figures: Figures) -> None:
    if figures.sections:
        pairs = [f"{quoted(name)}:{taken * _SECOND:.6f}" for name, taken in figures.sections.items()]
        parts.append(f'"section_seconds":{{{",".join(pairs)}}}')
    if figures.calls:
        calls = [
            f'{{"service":{quoted(service)},"count":{count},"seconds":{taken * _SECOND:.6f},"errors":{errors}}}'
            for service, (count, taken, errors) in figures.calls.items()
        ]
        parts.append(f'"calls":[{",".join(calls)}]')
    if figures.levels:
        levels = [
            f'{{"level":{quoted(level)},"items":{items!r},"seconds":{seconds:.6f}}}'
            for level, (items, seconds) in figures.levels.items()
        ]
        parts.append(f'"levels":[{",".join(levels)}]')


def _loss(loss: float) -> str:
    """Return a number, or a text for one that JSON does not have."""
    if loss - loss == 0.0:
        return repr(loss)
    return '"nan"' if loss != loss else ('"inf"' if loss > 0 else '"-inf"')  # noqa: PLR0124  NaN alone differs from itself


def _line(parts: list[str]) -> bytes:
    return ("{" + ",".join(parts) + "}\n").encode("ascii")
