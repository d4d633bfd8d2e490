"""One state-space layer: its parameters, its operators for one sample, and what it stores for the backward pass."""

from msgspec import Struct

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_planner.models.transformer.products import NUMBER_BYTES, product

SCAN_FLOPS = 9.0  # per token, channel and state of the selective scan (Gu & Dao 2023, appendix C: O(B L D N))
STREAM_NUMBERS = 2.0  # of 16 bits: the residual stream is in fp32 (residual_in_fp32 of the published models)


class Mixer(Struct, frozen=True):
    """The dimensions of a selective state space: Mamba with a ranked time step, Mamba-2 with heads."""

    hidden: int
    inner: int
    state: int
    kernel: int = 4  # of the causal convolution
    rank: int = 0  # of the time step; 0 for Mamba-2
    heads: int = 0  # of Mamba-2
    groups: int = 1  # of Mamba-2's B and C
    chunk: int = 256  # tokens that Mamba-2 multiplies at once
    bias: bool = False
    kernel_bias: bool = True
    step_norms: bool = False  # of time step, B and C (Jamba)

    @property
    def convolved(self) -> int:
        """Return the channels of the convolution."""
        return self.inner + (2 * self.groups * self.state if self.heads else 0)

    @property
    def entering(self) -> int:
        """Return the outputs of the first product."""
        return self.inner + self.convolved + self.heads

    @property
    def parameters(self) -> int:
        """Return the parameters of a layer without the norm before it."""
        convolution = self.convolved * (self.kernel + self.kernel_bias)
        biases = (self.entering + self.hidden) * self.bias
        products = self.hidden * self.entering + self.inner * self.hidden
        return products + biases + convolution + (self._of_heads if self.heads else self._of_rank)

    @property
    def _of_rank(self) -> int:
        """Return Mamba's own parameters: time step, B and C from the channels, decays and skips."""
        selected = self.inner * (self.rank + 2 * self.state) + (self.rank + 1) * self.inner
        norms = (self.rank + 2 * self.state) * self.step_norms
        return selected + norms + self.inner * (self.state + 1)

    @property
    def _of_heads(self) -> int:
        """Return Mamba-2's own parameters: a time step, decay and skip per head, and the norm before the output."""
        return 3 * self.heads + self.inner


def mixer_operators(mixer: Mixer, tokens: int) -> tuple[Operator, ...]:
    """Return the forward operators of one sample, as fused kernels run them."""
    moved = mixer.convolved * 2.0 + mixer.inner
    steps = [
        product("state-space input", tokens, mixer.hidden, mixer.entering),
        _pass("convolution", 2.0 * mixer.kernel * mixer.convolved * tokens, moved * tokens),
        *(_dual(mixer, tokens) if mixer.heads else _scan(mixer, tokens)),
        product("state-space output", tokens, mixer.inner, mixer.hidden),
        _pass("norm", 0.0, 4.0 * mixer.hidden * tokens),
    ]
    return tuple(steps)


def kept_numbers(mixer: Mixer, tokens: int) -> float:
    """Return the 16-bit numbers that one layer stores for one sample.

    The fused kernels keep the first product's output, the scan's output, and for Mamba the time step's input with B and
    C; they compute the convolution and the time step again (mamba_ssm's selective_scan_interface and ssd_combined).
    """
    selected = 0 if mixer.heads else mixer.rank + 2 * mixer.state
    inside = mixer.entering + mixer.inner + selected
    return tokens * (inside + mixer.hidden * (1 + STREAM_NUMBERS))


def _scan(mixer: Mixer, tokens: int) -> tuple[Operator, ...]:
    """Return Mamba's selection and its scan, which is limited by memory and vector units."""
    moved = 4.0 * mixer.inner + 2.0 * mixer.state
    return (
        product("selection", tokens, mixer.inner, mixer.rank + 2 * mixer.state),
        product("time step", tokens, mixer.rank, mixer.inner),
        _pass("scan", SCAN_FLOPS * mixer.inner * mixer.state * tokens, moved * tokens),
    )


def _dual(mixer: Mixer, tokens: int) -> tuple[Operator, ...]:
    """Return Mamba-2's products within chunks and between them (Dao & Gu 2024, §6)."""
    within = 2.0 * mixer.chunk * (mixer.groups * mixer.state + mixer.inner)
    across = 4.0 * mixer.state * mixer.inner
    moved = 4.0 * mixer.inner + 4.0 * mixer.groups * mixer.state
    attending = Operator(
        "state-space product", OperatorKind.ATTENTION, (within + across) * tokens, NUMBER_BYTES * moved * tokens
    )
    return (attending, _pass("gated norm", 0.0, 3.0 * mixer.inner * tokens))


def _pass(name: str, flops: float, numbers: float) -> Operator:
    return Operator(name, OperatorKind.ELEMENTWISE, flops, NUMBER_BYTES * numbers)
