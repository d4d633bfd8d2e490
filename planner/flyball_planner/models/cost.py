"""The cost of one training sample, independent of hardware: the common description of all model families."""

from enum import StrEnum

from msgspec import Struct

from flyball_planner.models.complexity import Complexity


class OperatorKind(StrEnum):
    """Kinds of operators whose speed follows the same law."""

    MATMUL = "matmul"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"  # scores, softmax and their product with the values
    ELEMENTWISE = "elementwise"  # memory-bound: activations, norms, dropout, additions
    GATHER = "gather"  # embeddings, tree traversal, sampling
    SEQUENTIAL = "sequential"  # not parallel: pivots of solvers, splits of one node


class Operator(Struct, frozen=True):
    """One operator of the forward pass, for one sample.

    A matrix product is `rows`×`inner` times `inner`×`columns`. Only `rows` grows with the number of samples, so a
    micro-batch of b samples is a single product with b·rows rows. Other operators leave these at 0.
    """

    name: str
    kind: OperatorKind
    flops: float  # multiplications and additions are counted separately
    # each number read and written once; two bytes per number for networks, eight for classical models
    moved_bytes: float
    rows: float = 0.0
    inner: float = 0.0
    columns: float = 0.0
    times: float = 1.0  # number of such operators in sequence
    backward: float = 2.0  # FLOPs of the backward pass as a multiple of the forward pass; 0 if there is none


class ModelBlock(Struct, frozen=True):
    """Repeated layers of a model. Blocks run one after the other."""

    name: str
    repeats: int
    parameters: int  # per repetition
    operators: tuple[Operator, ...]
    kept_elements: float  # activations per sample and repetition stored for the backward pass
    boundary_elements: float = 0.0  # output elements, which are all that full checkpointing stores


class Generation(Struct, frozen=True):
    """Generation of tokens by a model that is described by its operators."""

    token: tuple[ModelBlock, ...]  # the model's blocks for one token
    state_numbers: float  # that a sequence keeps at any length
    numbers_per_token: float = 0.0  # that it keeps in addition for each token of its context


class ModelCost(Struct, frozen=True):
    """Everything that the memory and time models need to know about a model that is not a transformer shape."""

    model: str  # as named by the user
    family: str
    implementation: str  # the algorithm, such as "scikit-learn, LIBSVM (SMO)"
    parameters: int
    samples: int  # in the data set; 0: as specified by the training
    passes: float  # over the data: epochs, iterations, Newton steps
    blocks: tuple[ModelBlock, ...]
    working_bytes: float = 0.0  # in addition to blocks: design matrices, kernel caches, histograms
    trained_by_gradient: bool = True  # with gradients and optimizer states
    assumptions: tuple[str, ...] = ()
    batch: int = 0  # samples per optimizer step of the specification; 0: as specified by the training
    precision: str = ""  # of the specification; empty: as specified by the training
    complexity: Complexity | None = None
    inference: tuple[Operator, ...] = ()  # of one prediction; empty: the forward pass
    inference_calls: int = 1  # of library functions for all samples that are predicted together
    tokens: int = 1  # of a sample; 1 if samples are not sequences
    generation: Generation | None = None  # None: the model generates nothing
    channels_first: bool = False  # the memory format of images in 16 bits, which convolutions convert

    @property
    def inference_flops(self) -> float:
        """Return the FLOPs, or elementary steps, of one prediction."""
        return sum(each.times * each.flops for each in self.inference) if self.inference else self.forward_flops

    @property
    def forward_flops(self) -> float:
        """Return the FLOPs of one sample's forward pass."""
        return sum(
            block.repeats * operator.times * operator.flops for block in self.blocks for operator in block.operators
        )

    @property
    def training_flops(self) -> float:
        """Return the FLOPs of one sample's forward and backward pass, without recomputation."""
        return sum(
            block.repeats * operator.times * operator.flops * (1 + operator.backward)
            for block in self.blocks
            for operator in block.operators
        )
