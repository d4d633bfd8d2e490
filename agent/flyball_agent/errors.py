"""Errors of the agent. Each message states what is wrong, where, and what to do."""


class AgentError(Exception):
    """The agent cannot start or continue with its settings."""


class StateDirectoryInUse(AgentError):
    """Another agent uses the same state directory."""


class SpoolDamaged(AgentError):
    """A spool file is damaged. The readable records around the damage are kept."""


class NoSpool(AgentError):
    """A folder that should be inspected contains no spool."""


class SocketRefused(AgentError):
    """The socket for training processes cannot be opened."""
