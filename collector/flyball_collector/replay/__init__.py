"""Recorded series of any source, in the form that the diagnosis replays."""
