"""The sections, charts and document of a review: any value of a profile may be unknown."""

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from flyball.command.analyze_charts import review_charts
from flyball.command.analyze_document import review_document
from flyball.command.analyze_sections import bar, review_sections
from flyball.command.sections_text import sections_text
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_review import review_host
from tests.client.host_review.recorded_hosts import OTHERS, PEERS, proposed, recorded


def _with_gaps(part: Any) -> Iterator[Any]:  # any part of a profile
    """Yield the part once for each of its values, without that value."""
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            yield from (replace(part, **{field.name: each}) for each in _with_gaps(value))
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            yield replace(part, **{field.name: ()})
            yield from (replace(part, **{field.name: (each, *value[1:])}) for each in _with_gaps(value[0]))
        elif value is not None and field.default is None:
            yield replace(part, **{field.name: None})


def _shown(profile: HardwareProfile) -> str:
    review = review_host(profile)
    json.dumps(review_document(review), allow_nan=False)
    charts = "".join(each.svg for each in review_charts(review).values())
    return sections_text("Host analysis", review_sections(review, verbose=True)) + charts


@pytest.mark.parametrize("name", [*PEERS, *OTHERS])
def test_any_value_may_be_unknown(name: str) -> None:
    """Without any one of its values, a host is still reviewed, and no text shows None or an impossible number."""
    profiles = list(_with_gaps(recorded(name)))
    assert len(profiles) > 20
    for profile in profiles:
        text = _shown(profile)
        assert "Score" in text
        assert not {"None", "nan", "inf"} & set(text.replace("(", " ").replace(",", " ").split())


def test_the_limits_that_configurations_miss_have_their_reasons() -> None:
    """Each missed limit has its reason."""
    review = review_host(recorded("container"), None, proposed("container"))
    missed = [each for configuration in review.proposal.configurations for each in configuration.missed]
    (section,) = (each for each in review_sections(review) if each.title == "Missed limits")
    assert len(section.points) == len(missed) > 0
    assert all(each.because in text for each, text in zip(missed, section.points, strict=True))


def test_a_bar_has_ten_characters() -> None:
    """An unknown score is an empty bar."""
    assert [bar(each) for each in (None, 0.4, 5.6, 10.0)] == ["░" * 10, "░" * 10, "██████░░░░", "█" * 10]
