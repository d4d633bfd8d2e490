"""How much a hierarchical learner stores, level by level."""

from flyball_planner.storage.estimator import LevelEstimate, StorageEstimate, StorageEstimator
from flyball_planner.storage.learnt import LevelCount

__all__ = ["LevelCount", "LevelEstimate", "StorageEstimate", "StorageEstimator"]
