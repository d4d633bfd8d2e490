"""The governor, on the event loop: streams, store, people and rules around the core."""
