"""The report's sections on the trained model's use and on the memory of its hosts."""

from flyball_planner.plan.plan import GenerationSection, InferenceSection, Plan
from flyball_planner.report.part_names import part_name
from flyball_reports.figures import count, duration, figure, plural, rate, size, spread
from flyball_reports.section import ReportTable, Section

_TONES = {"uncertain": "warning", "does not fit": "bad"}


def inference(plan: Plan) -> Section:
    """Return the section on predictions by the trained model."""
    found = plan.inference
    if found is None:
        return Section("Inference")
    flops = found.flops_per_sample
    work = rate(flops, "FLOP") if plan.training.optimizer else f"{count(flops)} operations"
    where = f"{found.devices} × {plan.hardware.device}" if found.devices > 1 else plan.hardware.device
    rows = [
        ("One sample", f"{work}, {spread(found.seconds_per_sample, duration)}"),
        (f"{found.batch:,} samples together" if found.batch > 1 else "", _batch(found)),
    ]
    if found.generation is not None:
        rows += _generation(found.generation, plan.hardware.kind, found.devices)
    hold = "hold" if found.devices > 1 else "holds"
    text = f"Predictions by the trained model on {where}, which {hold} it completely."
    return Section("Inference", (text,), (ReportTable(tuple(row for row in rows if row[0])),))


def _batch(found: InferenceSection) -> str:
    return f"{spread(found.seconds_per_batch, duration)}, {figure(found.samples_per_second)} samples per second"


def _generation(found: GenerationSection, kind: str, devices: int) -> list[tuple[str, str]]:
    several = found.sequences > 1
    tokens = f"{found.sequences:,} × " * several + plural(found.context_tokens, "token")
    cache = f"{size(found.key_value_cache_bytes)} for {tokens} of context"
    each = f"{size(found.key_value_cache_bytes_per_token)} per token"
    name = "Keys and values (KV cache)"
    if not found.key_value_cache_bytes_per_token:
        name, cache, each = "State of the sequences", size(found.key_value_cache_bytes), "the same for any context"
    pace = f"{spread(found.seconds_per_token, duration)}, {figure(found.tokens_per_second)} per second"
    engine = found.engine_seconds_per_token
    how = "CUDA graphs" if kind == "gpu" else "a compiled engine"
    quick = f"with {how} {spread(engine, duration)}" if engine is not None else ""
    most = f"{plural(found.most_sequences, 'sequence')} of this length fit at once" if found.most_sequences else ""
    weights = f"weights {size(found.weight_bytes)}{' in total' if devices > 1 else ''}"
    prompt = f"{found.sequences:,} prompts" if several else "Prompt"
    return [
        (f"{prompt} of the full context", spread(found.prefill_seconds, duration)),
        ("Each generated token", "; ".join(filter(None, (f"{pace}, limited by {found.limited_by}", quick)))),
        (name, ", ".join(filter(None, (cache, each, most)))),
        ("Memory", f"{spread(found.memory_bytes_per_device, size)} per device, {weights}"),
    ]


def host(plan: Plan) -> Section:
    """Return the section on the memory of a host."""
    found = plan.host
    if found is None:
        return Section("Host memory")
    needed = f"Each host needs {spread(found.needed_bytes, size)} of memory"
    if found.capacity_bytes is None:
        text = f"{needed}."
    else:
        text = f"{needed}, and has {size(found.capacity_bytes)}: {found.verdict}."
    rows = tuple((part_name(each.name).capitalize(), spread(each.amount, size)) for each in found.parts)
    return Section("Host memory", (text,), (ReportTable(rows, ("Part", "Size"), (1,)),), tone=_tone(found.verdict))


def _tone(verdict: str) -> str:
    return _TONES.get(verdict, "plain")
