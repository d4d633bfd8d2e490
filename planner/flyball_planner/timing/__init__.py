"""The time model: operators, links, pipelines, complete runs, energy and cost."""
