"""The timeline: events of the diagnosis and notes of hosts; remembered, stored and read."""
