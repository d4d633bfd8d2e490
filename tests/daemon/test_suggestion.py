"""Suggestions for misspelt names."""

from flyball_daemon.suggestion import did_you_mean, suggestion

KNOWN = ("hosts", "host", "events")


def test_the_most_similar_names_are_suggested() -> None:
    """As many as wanted, the most similar first; nothing if none is similar enough."""
    assert did_you_mean("hostz", KNOWN) == "did you mean 'host'?"
    assert did_you_mean("hostz", KNOWN, most=2) == "did you mean 'host' or 'hosts'?"
    assert did_you_mean("zebra", KNOWN) == ""
    assert did_you_mean("hxxts", KNOWN, cutoff=0.9) == ""


def test_a_suggestion_ends_a_message() -> None:
    """It begins with a semicolon, or is empty."""
    assert suggestion("event", KNOWN) == "; did you mean 'events'?"
    assert suggestion("zebra", KNOWN) == ""
