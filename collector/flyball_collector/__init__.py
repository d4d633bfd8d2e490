"""The centre: takes what agents send, keeps it, judges it and shows it."""
