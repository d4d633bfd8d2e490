"""The example specifications that come with the planner."""

from importlib.resources import files


def example_names() -> tuple[str, ...]:
    """Return the names of the examples, from the simplest to the largest."""
    return ("linear_regression", "deep_learning", "transformer")


def example_text(name: str) -> str:
    """Return the text of an example."""
    return (files("flyball_planner") / "specification" / "examples" / f"{name}.yaml").read_text(encoding="utf-8")
