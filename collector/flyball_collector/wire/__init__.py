"""gRPC served without gRPC: HTTP/2 read and written by hand, over sockets that the event loop looks at in one go."""
