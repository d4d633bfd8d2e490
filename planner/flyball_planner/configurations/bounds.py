"""What conservative, balanced and extreme mean, as bounds; what a machine cannot hold is stated, never hidden."""

from msgspec import Struct

MINUTE, HOUR = 60.0, 3600.0
UNBOUNDED = float("inf")


class Span(Struct, frozen=True):
    """From, to; both included."""

    low: float
    high: float = UNBOUNDED

    def holds(self, value: float) -> bool:
        """Whether a value lies within."""
        return self.low <= value <= self.high


class Bounds(Struct, frozen=True):
    """One kind of configuration. The memory share is a ceiling; all else should lie within its span."""

    name: str
    purpose: str
    memory_share: float
    parameters: Span
    micro_batch: Span
    sequence: Span
    seconds: Span
    power_share: Span  # of the device's printed power
    tokens_a_parameter: Span
    fallbacks: tuple[str, ...]
    monitoring: tuple[str, ...]
    warnings: tuple[str, ...]


CONSERVATIVE = Bounds(
    name="conservative",
    purpose="a first run that leaves the machine usable",
    memory_share=0.50,
    parameters=Span(23e6, 70e6),
    micro_batch=Span(2, 8),
    sequence=Span(512, 1024),
    seconds=Span(30 * MINUTE, 2 * HOUR),
    power_share=Span(0.0, 0.40),
    tokens_a_parameter=Span(10, 15),
    fallbacks=(
        "out of memory: halve the micro-batch and double the accumulation, down to 1; then checkpoint activations",
        "a loss that is no number: return to the last checkpoint with half the learning rate; then train in fp32",
        "a device above its slowdown temperature less 5 °C: pause until it is 10 °C cooler",
        "no device left: go on with the processor's configuration from the last checkpoint",
    ),
    monitoring=("memory, temperature and loss at each log line",),
    warnings=(),
)
BALANCED = Bounds(
    name="balanced",
    purpose="the usual choice: good use of the machine with room for spikes",
    memory_share=0.75,
    parameters=Span(70e6, 200e6),
    micro_batch=Span(8, 32),
    sequence=Span(1024, 2048),
    seconds=Span(2 * HOUR, 6 * HOUR),
    power_share=Span(0.60, 0.80),
    tokens_a_parameter=Span(20, 20),
    fallbacks=(
        "out of memory: halve the micro-batch and double the accumulation",
        "a loss that is no number: return to the last checkpoint with half the learning rate",
    ),
    monitoring=(
        "memory, temperature, power, tokens a second and gradient norm at each log line",
        "a forecast of memory that runs out: flyball diagnose HOST",
    ),
    warnings=(),
)
EXTREME = Bounds(
    name="extreme",
    purpose="all that the machine can do",
    memory_share=0.95,
    parameters=Span(200e6, UNBOUNDED),
    micro_batch=Span(1, UNBOUNDED),
    sequence=Span(2048, UNBOUNDED),
    seconds=Span(6 * HOUR, UNBOUNDED),
    power_share=Span(0.90, 1.00),
    tokens_a_parameter=Span(25, UNBOUNDED),
    fallbacks=("out of memory: halve the micro-batch and double the accumulation",),
    monitoring=(
        "memory, temperature, power, throttling and tokens a second at each step",
        "flyball events --follow beside the run",
    ),
    warnings=(
        "Nothing else fits beside this run: close what draws on the same device, also a desktop.",
        "Watch the first hundred steps: fragmentation and a longer sample can still exhaust the memory.",
        "The device draws nearly its full power for hours: see to cooling and to the supply's reserve.",
    ),
)
ALL = (CONSERVATIVE, BALANCED, EXTREME)
