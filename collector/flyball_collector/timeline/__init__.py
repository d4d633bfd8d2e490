"""The timeline: what diagnosis raised, changed and cleared, and what happened on hosts; remembered, stored, read."""
