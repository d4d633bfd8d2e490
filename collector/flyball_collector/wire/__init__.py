"""A gRPC server on a hand-written HTTP/2 implementation. One epoll call serves all sockets that are ready."""
