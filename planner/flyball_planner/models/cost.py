"""What one training sample costs, independent of hardware: the common currency of all model families."""

from enum import StrEnum

from msgspec import Struct


class OperatorKind(StrEnum):
    """Operators whose speed follows the same law."""

    MATMUL = "matmul"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"  # scores, softmax and their product with the values
    ELEMENTWISE = "elementwise"  # bound by memory: activations, norms, dropout, additions
    GATHER = "gather"  # embeddings, tree traversal, sampling
    SEQUENTIAL = "sequential"  # cannot be spread: solvers' pivots, splits of one node


class Operator(Struct, frozen=True):
    """One operator of the forward pass, for one sample.

    A matrix product is `rows`×`inner` times `inner`×`columns`; only `rows` grows with the number of samples, so a
    whole micro-batch of b samples is one product of b·rows rows. What has no matrix shape leaves these at 0.
    """

    name: str
    kind: OperatorKind
    flops: float  # multiplications and additions counted apart
    moved_bytes: float  # read and written once, at two bytes a number for a network, eight for a classical model
    rows: float = 0.0
    inner: float = 0.0
    columns: float = 0.0
    times: float = 1.0  # such operators one after the other
    backward: float = 2.0  # FLOPs of the backward pass as a multiple of the forward's; 0 where none exists


class Block(Struct, frozen=True):
    """A stretch of the model that is repeated; blocks run one after the other."""

    name: str
    repeats: int
    parameters: int  # of one repetition
    operators: tuple[Operator, ...]
    kept_elements: float  # activations of one sample that one repetition keeps for its backward pass
    boundary_elements: float = 0.0  # what it hands on: kept alone under full checkpointing


class ModelCost(Struct, frozen=True):
    """Everything that memory and time models need to know of a model that is not told by a transformer's shape."""

    model: str  # as the user named it
    family: str
    implementation: str  # whose algorithm is meant, as in "scikit-learn, LIBSVM (SMO)"
    parameters: int
    samples: int  # in the data set; 0: as the training says
    passes: float  # over the data until done: epochs, iterations, Newton steps
    blocks: tuple[Block, ...]
    working_bytes: float = 0.0  # beside blocks: design matrices, kernel caches, histograms
    trained_by_gradient: bool = True  # has gradients and optimizer states
    assumptions: tuple[str, ...] = ()
    batch: int = 0  # samples an optimizer step, as the specification says; 0: as the training says
    precision: str = ""  # as the specification says; empty: as the training says

    @property
    def forward_flops(self) -> float:
        """FLOPs of one sample's forward pass."""
        return sum(
            block.repeats * operator.times * operator.flops for block in self.blocks for operator in block.operators
        )

    @property
    def training_flops(self) -> float:
        """FLOPs of one sample's forward and backward pass, without recomputation."""
        return sum(
            block.repeats * operator.times * operator.flops * (1 + operator.backward)
            for block in self.blocks
            for operator in block.operators
        )
