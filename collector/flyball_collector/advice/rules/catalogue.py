"""All rules by group."""

from types import ModuleType

from flyball_collector.advice.rule import Rule
from flyball_collector.advice.rules import communication, compute, hardware, memory, runs, service
from flyball_collector.advice.rules import input as input_rules

GROUPS: tuple[ModuleType, ...] = (input_rules, service, compute, communication, memory, hardware, runs)

RULES: tuple[Rule, ...] = (
    *input_rules.RULES,
    *service.RULES,
    *compute.RULES,
    *communication.RULES,
    *memory.RULES,
    *hardware.RULES,
    *runs.RULES,
)

BY_NAME = {rule.name: rule for rule in RULES}
