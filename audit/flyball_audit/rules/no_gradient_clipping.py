"""`no-gradient-clipping`: recurrent networks and transformers are trained without a limit on their gradients."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.effects import Effect
from flyball_audit.finding import Severity
from flyball_audit.loops import Turns
from flyball_audit.mentions import launched_by, mentions, quick
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import SUSPECTED, Match, Rule

EXPLODING = quick(
    r"\bnn\.(LSTM|GRU|RNN|LSTMCell|GRUCell|Transformer\w*|MultiheadAttention)\b|\bLSTM\(|\bGRU\(|\bTransformer(Encoder|Decoder)\w*\("
    r"|scaled_dot_product_attention|AutoModelFor(CausalLM|Seq2SeqLM|MaskedLM)|class \w*(GPT|Attention|Transformer)\w*\("
)
"""Networks whose gradients are known to jump: recurrent ones, and transformers."""

CLIPPING = re.compile(
    r"clip_grad|clip_gradient|gradient_clip|max_grad_norm|grad_norm_clip|grad_clip|clip_norm|clip_value|adaptive_clip|agc\b"
)


def look(module: Module, project: Project) -> Iterator[Match]:
    """Optimizer steps of such networks, if nothing in the files around clips."""
    loops = [each for each in project.loops.training_of(module) if each.hook_of in {None, "caller"}]
    if not loops or not mentions(project, module, EXPLODING) or mentions(project, module, CLIPPING):
        return
    if launched_by(project, module) & {"deepspeed", "lightning", "composer", "fastai"}:
        return
    for turns in loops:
        found = next(_steps(project, turns), None)
        if found is not None:
            region, call = found
            yield Match(
                call,
                f"`{region.module.quote(call)}` runs without gradient clipping",
                "a recurrent network or transformer is trained, and nothing in these files limits its gradients",
                SUSPECTED,
                module=region.module,
            )


def _steps(project: Project, turns: Turns) -> Iterator[tuple[Region, ast.Call]]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            if Effect.STEP in project.loops.effects.direct(region.module, call):
                yield region, call


RULE = Rule(
    id="no-gradient-clipping",
    severity=Severity.NOTE,
    summary="A recurrent network or transformer is trained without gradient clipping.",
    cause="A single bad batch can make the weights diverge, and the time of the run is lost.",
    change="Call `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` before the optimizer's step. It returns "
    "the norm, which can be logged.",
    expected="no time by itself; fewer runs lost to divergence",
    source="Pascanu, Mikolov and Bengio 2013, https://arxiv.org/abs/1211.5063; GPT-3 clips at 1.0, appendix B of "
    "https://arxiv.org/abs/2005.14165",
    before="loss.backward()\noptimizer.step()",
    after="loss.backward()\ntorch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()",
    look=look,
)
