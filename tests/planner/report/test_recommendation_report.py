"""Tests of the report of recommended hardware."""

from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.recommend.demand import Demand
from flyball_planner.recommend.recommendation import recommend
from flyball_planner.report.recommendation_report import DEVICES, charts, sections
from flyball_planner.training import Training


def test_the_report_lists_machines_for_learner_and_database() -> None:
    """Both have a table of machines, and the database's needs are listed once."""
    found = recommend(Demand(samples=1_000_000, hours=24))
    by_title = {section.title: section for section in sections(found)}
    assert {"", "Machines", "Machines for the database", "Database", "Storage", "Why"} <= set(by_title)
    (table,) = by_title["Machines for the database"].tables
    assert len(table.rows[0]) == len(table.heads)
    assert not set(by_title["Database"].points) & set(by_title["Why"].points)
    assert charts(found) == {}


def test_devices_are_compared_and_drawn() -> None:
    """The table has a row per device, and the chart a dot for each device with a price."""
    training = Training(sequence=1024, global_batch=64, optimizer=find_optimizer("adamw"))
    demand = Demand(samples=100_000, hours=2, tokens_per_sample=1024)
    found = recommend(demand, named_shape("gpt2"), training, ("A100_80GB_fp16", "H100 SXM", "RTX_4090_fp16"))
    by_title = {section.title: section for section in sections(found)}
    (table,) = by_title[DEVICES].tables
    assert len(table.rows) == 3
    assert all(len(row) == len(table.heads) for row in table.rows)
    assert charts(found)[DEVICES].svg.count("<circle") == 3
