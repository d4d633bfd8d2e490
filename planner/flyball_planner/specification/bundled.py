"""The example specifications that come with the planner."""

from importlib.resources import files


def example_names() -> tuple[str, ...]:
    """From the simplest to the largest."""
    return ("linear_regression", "deep_learning", "transformer")


def example_text(name: str) -> str:
    """The text of one."""
    return (files("flyball_planner") / "specification" / "examples" / f"{name}.yaml").read_text(encoding="utf-8")
