"""Which hardware to take for a data set and a time: what is needed, what offers it, and what that costs."""

from flyball_planner.recommend.demand import Demand
from flyball_planner.recommend.recommendation import Recommendation, recommend

__all__ = ["Demand", "Recommendation", "recommend"]
