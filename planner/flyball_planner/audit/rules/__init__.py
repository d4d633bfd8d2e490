"""The list of rules."""

from flyball_planner.audit.rule import Rule

RULES: tuple[Rule, ...] = ()
