"""The bounds of conservative, balanced and extreme configurations. Missed bounds are reported."""

from msgspec import Struct

MINUTE, HOUR = 60.0, 3600.0
UNBOUNDED = float("inf")


class ValueRange(Struct, frozen=True):
    """A range with both ends included."""

    low: float
    high: float = UNBOUNDED

    def holds(self, value: float) -> bool:
        """Return True if a value is in the range."""
        return self.low <= value <= self.high


class Bounds(Struct, frozen=True):
    """The bounds of one kind of configuration. The memory has a ceiling that is always met; the rest are ranges."""

    name: str
    purpose: str
    memory_share: float
    least_memory_share: float  # below it, the kind does not use what its name promises
    parameters: ValueRange
    micro_batch: ValueRange
    sequence: ValueRange
    seconds: ValueRange
    power_share: ValueRange  # of the device's nominal power
    tokens_per_parameter: ValueRange
    fallbacks: tuple[str, ...]
    monitoring: tuple[str, ...]
    warnings: tuple[str, ...]


CONSERVATIVE = Bounds(
    name="conservative",
    purpose="a first run that leaves the machine usable",
    memory_share=0.50,
    least_memory_share=0.0,
    parameters=ValueRange(23e6, 70e6),
    micro_batch=ValueRange(2, 8),
    sequence=ValueRange(512, 1024),
    seconds=ValueRange(30 * MINUTE, 2 * HOUR),
    power_share=ValueRange(0.0, 0.40),
    tokens_per_parameter=ValueRange(10, 15),
    fallbacks=(
        "out of memory: halve the micro-batch and double the accumulation, down to 1; then checkpoint activations",
        "loss is NaN: return to the last checkpoint with half the learning rate; then train in fp32",
        "a device within 5 °C of its slowdown temperature: pause until it is 10 °C cooler",
        "no device available: continue on the CPU from the last checkpoint",
    ),
    monitoring=("log memory, temperature and loss in each line",),
    warnings=(),
)
BALANCED = Bounds(
    name="balanced",
    purpose="the usual choice: good use of the machine, with a reserve for peaks",
    memory_share=0.75,
    least_memory_share=0.50,  # the ceiling of a conservative one
    parameters=ValueRange(70e6, 200e6),
    micro_batch=ValueRange(8, 32),
    sequence=ValueRange(1024, 2048),
    seconds=ValueRange(2 * HOUR, 6 * HOUR),
    power_share=ValueRange(0.60, 0.80),
    tokens_per_parameter=ValueRange(20, 20),
    fallbacks=(
        "out of memory: halve the micro-batch and double the accumulation",
        "loss is NaN: return to the last checkpoint with half the learning rate",
    ),
    monitoring=(
        "log memory, temperature, power, tokens per second and gradient norm in each line",
        "`flyball diagnose HOST` warns before memory runs out",
    ),
    warnings=(),
)
EXTREME = Bounds(
    name="extreme",
    purpose="the most that the machine can do",
    memory_share=0.95,
    least_memory_share=0.90,
    parameters=ValueRange(200e6, UNBOUNDED),
    micro_batch=ValueRange(1, UNBOUNDED),
    sequence=ValueRange(2048, UNBOUNDED),
    seconds=ValueRange(6 * HOUR, UNBOUNDED),
    power_share=ValueRange(0.90, 1.00),
    tokens_per_parameter=ValueRange(25, UNBOUNDED),
    fallbacks=("out of memory: halve the micro-batch and double the accumulation",),
    monitoring=(
        "log memory, temperature, power, throttling and tokens per second at each step",
        "watch `flyball events --follow` during the run",
    ),
    warnings=(
        "There is no room for other programs on the device: close them, including a desktop.",
        "Watch the first hundred steps: fragmentation or a longer sample can still exhaust the memory.",
        "The device draws nearly its full power for hours: check the cooling and the power supply.",
    ),
)
ALL = (CONSERVATIVE, BALANCED, EXTREME)
