"""Growth of the work of a model with its data and size, in the model's own variables."""

from msgspec import Struct


class Complexity(Struct, frozen=True):
    """The growth of training and of one prediction, with a sentence that explains it."""

    training: str  # such as O(n·p²)
    inference: str  # of one sample; empty if unknown
    because: str


NORMAL_EQUATIONS = Complexity(
    "O(n·p² + p³)",
    "O(p·d_out)",
    "The Gram matrix of p features takes n·p² steps, its Cholesky factorisation p³.",
)
QR = Complexity("O(n·p²)", "O(p·d_out)", "Each of p reflections passes over the n rows of all remaining columns.")
NEWTON = Complexity(
    "O(iterations·(n·p² + p³))", "O(p)", "Each Newton step builds the Hessian of p features and solves it."
)
STOCHASTIC = Complexity("O(epochs·n·p)", "O(p)", "Each sample is read once per epoch, and all p features are updated.")
LINEAR_SVM = Complexity(
    "O(iterations·n·p)", "O(p)", "Each Newton step passes over the data a few times for its conjugate gradients."
)
RADIAL_SVM = Complexity(
    "O(n²·p)",
    "O(support·n·p)",
    "The number of optimised pairs grows with n, and each needs kernel rows of n samples and p features; noisy "
    "classes bring it near n³.",
)
DECISION_TREE = Complexity(
    "O(p·n·log²(n))",
    "O(depth)",
    "On each of about log(n) levels, each feature sorts its n samples; a limited depth replaces one logarithm.",
)
RANDOM_FOREST = Complexity(
    "O(trees·features·n·log²(n))",
    "O(trees·depth)",
    "Each tree sorts the features that it tries (√p by default) on about log(n) levels.",
)
HISTOGRAM_BOOSTING = Complexity(
    "O(trees·depth·n·p)",
    "O(trees·depth)",
    "Each tree adds every sample of each level to the histograms of p features; finding splits takes bins·p per leaf.",
)
EXACT_BOOSTING = Complexity(
    "O(n·p·log(n) + trees·depth·n·p)",
    "O(trees·depth)",
    "All features are sorted once; each level of each tree then reads all sorted values.",
)
KMEANS = Complexity(
    "O(restarts·iterations·n·k·p)", "O(k·p)", "Each iteration measures the distance of n samples to k centres."
)
FULL_PCA = Complexity(
    "O(n·p·min(n, p))", "O(k·p)", "A full decomposition rotates all n rows by all directions of the smaller side."
)
COVARIANCE_PCA = Complexity(
    "O(n·p² + p³)", "O(k·p)", "The covariance of p features takes n·p² steps, its eigenvectors p³."
)
RANDOMIZED_PCA = Complexity(
    "O(n·p·k)", "O(k·p)", "A few products of the data with k random directions replace the decomposition."
)
PERCEPTRON = Complexity(
    "O(epochs·n·Σ dᵢ·dᵢ₊₁)",
    "O(Σ dᵢ·dᵢ₊₁)",
    "Each sample multiplies the weights between layers of widths dᵢ and dᵢ₊₁ once forward and twice backward.",
)
CONVOLUTIONS = Complexity(
    "O(epochs·n·Σ h·w·k²·c_in·c_out)",
    "O(Σ h·w·k²·c_in·c_out)",
    "Each layer applies its k×k filters from c_in to c_out channels at each of its h×w positions.",
)
STATE_SPACE = Complexity(
    "O(n·L·(s·d² + s·d·N))",
    "O(L·(s·d² + s·d·N))",
    "Each of L layers multiplies s tokens by matrices of width d and updates N numbers of state per channel, so no "
    "work grows with s², and a generated token takes the same at any context.",
)
STATE_SPACE_WITH_ATTENTION = Complexity(
    "O(n·(L·(s·d² + s·d·N) + A·s²·d))",
    "O(L·(s·d² + s·d·N) + A·s²·d)",
    "Each of L layers multiplies s tokens by matrices of width d; most update N numbers of state per channel, and A "
    "layers compare the s tokens with each other by attention.",
)
TRANSFORMER = Complexity(
    "O(n·L·(s·d² + s²·d))",
    "O(L·(s·d² + s²·d))",
    "Each of L layers multiplies s tokens by matrices of width d, and attention compares the s tokens with each other.",
)
"""For n sequences. With n·s tokens in total, training grows with the tokens, and with s only through attention."""
