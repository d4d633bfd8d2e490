"""A review of invented findings, for whoever tests what becomes of reviews."""

from flyball_audit.evidence import Evidence, Measured, Withdrawn
from flyball_audit.finding import Action, Change, Edit, Finding, Gain, Severity, Span, Time
from flyball_audit.fix import Patch, Text, fixable, patch
from flyball_audit.review import Review
from flyball_audit.source import Source, Unreadable

CODE = """\
import torch

for x, y in loader:
    optimizer.zero_grad(set_to_none=False)
    loss = model(x.cuda(), y)
    loss.backward()
    optimizer.step()
    total += loss.item()

"""


def sample_finding(
    rule: str = "sync-every-step",
    line: int = 8,
    columns: tuple[int, int] = (14, 25),
    severity: Severity = Severity.WARNING,
    **others: object,
) -> Finding:
    """A finding in the code above; what it says is invented."""
    start, end = columns
    words = {
        "message": f"what {rule} is about",
        "because": "`loss` is on the device, and the host waits for it in every step",
        "change": "add up `loss.detach()` on the device, and read it once every hundred steps",
        "expected": "steps up to 3× faster (somebody's measurements)",
    }
    return Finding(rule, "train.py", line, start, severity, 0.9, **words, end_line=line, end_column=end, **others)  # type: ignore[arg-type]


def sample_review(path: str = "train.py", code: str = CODE) -> Review:
    """Every part of a report has something to say."""
    mend = Edit((Change(Action.DROP_ARGUMENT, Span(4, 5, 4, 43), name="set_to_none"),), safe=True)
    detach = Edit((Change(Action.REPLACE, Span(8, 14, 8, 25), "loss.detach()"),))
    findings = (
        sample_finding(edit=detach, gain=Gain(Time.HOST, 3.0)),
        sample_finding("zero-grad-to-zero", 4, (5, 43), Severity.WARNING, edit=mend, gain=Gain(Time.OPTIMIZER, 1.05)),
        sample_finding("clip-before-unscale", 6, (5, 20), Severity.ERROR),
        sample_finding("loader-without-workers", 3, (13, 19), Severity.NOTE, gain=Gain(Time.INPUT, 2.0)),
        sample_finding("no-compile", 5, (12, 17), Severity.NOTE, gain=Gain(Time.COMPUTE, 2.0)),
    )
    return Review(
        title=f"Audit of {path}",
        findings=tuple(sorted(findings, key=lambda each: each.order)),
        sources=(Source("train.py", code), Source("data.py", "\n")),
        unreadable=(Unreadable("old.py", 3, "Python 2 (a print statement)", "convert it to Python 3 first"),),
        withdrawn=(Withdrawn(sample_finding("small-batch", 3, (5, 6), Severity.NOTE), "gpu_busy_ratio 99 % (run 7)"),),
        evidence=Evidence({"host_bound_ratio": Measured(0.4, "run 7")}, "facts.yaml"),
    )


def sample_patch(finding: Finding) -> Patch | None:
    """The change of a finding of that review."""
    return patch(Text("train.py", CODE, "utf-8"), [finding]) if fixable(finding) else None
