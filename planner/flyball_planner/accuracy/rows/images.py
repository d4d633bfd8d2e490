"""Rows whose samples are images."""

import re

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.vocabulary import words
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import model_cost
from flyball_reports.errors import UnknownName


def is_image_model(configuration: RowConfiguration) -> bool:
    """Return True if a row's samples are images."""
    return image_size(configuration) is not None


def image_size(configuration: RowConfiguration) -> int | None:
    """Return the pixels per side of an input such as 3x224x224."""
    found = re.match(r"\d+x(\d+)x\d+", configuration["seq_len_or_input"])
    return int(found[1]) if found else None


def planar(configuration: RowConfiguration) -> bool:
    """Return True if a row's images are stored with channels first. NVIDIA's own trainings store channels last."""
    return "nchw" in words(configuration, "precision", "framework")


def image_model(configuration: RowConfiguration) -> ModelCost:
    """Return a published network by its name."""
    name = re.sub(r" v1\.5$", "", configuration["model"])  # the position of the stride: same parameters and maps
    try:
        return model_cost(name, {"image": image_size(configuration), "channels_last": not planar(configuration)})
    except UnknownName as unknown:
        raise Unsuited(f"{configuration['model']} is not a known network") from unknown
