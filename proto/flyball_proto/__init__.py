"""The wire protocol between agents and collectors: messages, metrics and encodings."""

PROTOCOL_VERSION = 1
