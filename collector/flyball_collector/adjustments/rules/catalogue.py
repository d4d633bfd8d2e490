"""All rules of adjustments by group."""

from types import ModuleType

from flyball_collector.adjustments.rules import checkpoints, hardware, memory, restart, service
from flyball_collector.adjustments.rules import input as input_rules
from flyball_collector.adjustments.rules.rule import AdjustmentRule

GROUPS: tuple[ModuleType, ...] = (memory, hardware, checkpoints, input_rules, service, restart)

RULES: tuple[AdjustmentRule, ...] = (
    *memory.RULES,
    *hardware.RULES,
    *checkpoints.RULES,
    *input_rules.RULES,
    *service.RULES,
    *restart.RULES,
)
