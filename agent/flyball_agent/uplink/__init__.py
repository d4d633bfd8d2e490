"""The uplink: one gRPC stream to a collector. Live records come first, the backlog as the collector grants it."""
