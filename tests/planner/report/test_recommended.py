"""Tests of what is told of recommended hardware."""

from flyball_planner.models.transformer.named import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.recommend import Demand, recommend
from flyball_planner.report.recommended import DEVICES, charts, sections
from flyball_planner.training import Training


def test_a_learner_is_told_its_machines_and_those_of_its_database() -> None:
    """Each with place, date and cost; what the database needs is said once."""
    found = recommend(Demand(samples=1_000_000, hours=24))
    told = {section.title: section for section in sections(found)}
    assert {"", "Machines", "Machines for the database", "Database", "Storage", "Why"} <= set(told)
    (table,) = told["Machines for the database"].tables
    assert len(table.rows[0]) == len(table.heads)
    assert not set(told["Database"].points) & set(told["Why"].points)
    assert charts(found) == {}


def test_devices_are_compared_and_drawn() -> None:
    """Time, both prices, and a dot for each device that has one."""
    training = Training(sequence=1024, global_batch=64, optimizer=find_optimizer("adamw"))
    demand = Demand(samples=100_000, hours=2, tokens_a_sample=1024)
    found = recommend(demand, named_shape("gpt2"), training, ("A100_80GB_fp16", "H100 SXM", "RTX_4090_fp16"))
    told = {section.title: section for section in sections(found)}
    (table,) = told[DEVICES].tables
    assert len(table.rows) == 3
    assert all(len(row) == len(table.heads) for row in table.rows)
    assert charts(found)[DEVICES].svg.count("<circle") == 3
