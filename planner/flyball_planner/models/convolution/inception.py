"""Networks with parallel kernels of several sizes: GoogLeNet and Inception v3.

Their auxiliary classifiers only run in training. Published counts include those of Inception but not those of
GoogLeNet.
"""

from flyball_planner.models.convolution.composites import Branches, Chain, classifier, convolved
from flyball_planner.models.convolution.layers import Convolution, FeatureMap, Layer, Pool
from flyball_planner.models.convolution.network import Network

GOOGLENET = ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None,
             (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
             (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), None,
             (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))  # fmt: skip
"""Channels of each module's branches (Szegedy et al., arXiv 1409.4842, table 1); None is a pool."""


def _google_module(one: int, reduced3: int, three: int, reduced5: int, five: int, pooled: int) -> Branches:
    return Branches(
        (
            convolved(one, 1),
            Chain((convolved(reduced3, 1), convolved(three))),
            Chain((convolved(reduced5, 1), convolved(five))),  # torchvision has 3×3 instead of the paper's 5×5
            Chain((Pool(3, 1, 1, ceiling=True), convolved(pooled, 1))),
        )
    )


def _googlenet(classes: int) -> tuple[Layer, ...]:
    pool = Pool(3, 2, ceiling=True)
    pools = iter((pool, Pool(2, 2, ceiling=True)))
    modules = (_google_module(*widths) if widths else next(pools) for widths in GOOGLENET)
    return (convolved(64, 7, 2), pool, convolved(64, 1), convolved(192), pool, *modules, classifier(classes))


MEAN = Pool(3, 1, 1)
SHRINK = Pool(3, 2)


def _module_a(pooled: int) -> Branches:
    return Branches(
        (
            convolved(64, 1),
            Chain((convolved(48, 1), convolved(64, 5))),
            Chain((convolved(64, 1), convolved(96), convolved(96))),
            Chain((MEAN, convolved(pooled, 1))),
        )
    )


def _module_b() -> Branches:
    doubled = Chain((convolved(64, 1), convolved(96), convolved(96, 3, 2, padding=0)))
    return Branches((convolved(384, 3, 2, padding=0), doubled, SHRINK))


def _module_c(width: int) -> Branches:
    wide, tall = (1, 7), (7, 1)
    return Branches(
        (
            convolved(192, 1),
            Chain((convolved(width, 1), convolved(width, wide), convolved(192, tall))),
            Chain(
                (
                    convolved(width, 1),
                    *(convolved(width, kernel) for kernel in (tall, wide, tall)),
                    convolved(192, wide),
                )
            ),
            Chain((MEAN, convolved(192, 1))),
        )
    )


def _module_d() -> Branches:
    return Branches(
        (
            Chain((convolved(192, 1), convolved(320, 3, 2, padding=0))),
            Chain((convolved(192, 1), convolved(192, (1, 7)), convolved(192, (7, 1)), convolved(192, 3, 2, padding=0))),
            SHRINK,
        )
    )


def _module_e() -> Branches:
    split = Branches((convolved(384, (1, 3)), convolved(384, (3, 1))))
    return Branches(
        (
            convolved(320, 1),
            Chain((convolved(384, 1), split)),
            Chain((convolved(448, 1), convolved(384), split)),
            Chain((MEAN, convolved(192, 1))),
        )
    )


def _inception(classes: int) -> tuple[Layer, ...]:
    return (
        convolved(32, 3, 2, padding=0), convolved(32, padding=0), convolved(64), SHRINK,
        convolved(80, 1), convolved(192, padding=0), SHRINK,
        _module_a(32), _module_a(64), _module_a(64), _module_b(),
        _module_c(128), _module_c(160), _module_c(160), _module_c(192), _module_d(),
        _module_e(), _module_e(), classifier(classes),
    )  # fmt: skip


def _auxiliary(classes: int) -> int:
    """Return the parameters of the classifier over the 17×17 features with 768 channels."""
    tower = Chain((Pool(5, 3), convolved(128, 1), Convolution(768, 5, padding=0)))
    return (
        tower.cost(FeatureMap(768, 17, 17)).parameters
        + 2 * 768
        + classifier(classes).cost(FeatureMap(768, 1, 1)).parameters
    )


NETWORKS = (
    Network("googlenet", "Szegedy et al., arXiv 1409.4842; as in torchvision", 224, _googlenet),
    Network("inception_v3", "Szegedy et al., arXiv 1512.00567; as in torchvision", 299, _inception, _auxiliary),
)
