"""The contract between agents and collectors: what is said, in which words, and in which bytes."""

PROTOCOL_VERSION = 1
