"""The uplink: one gRPC stream to a collector, live records first, the backlog as the collector grants it."""
