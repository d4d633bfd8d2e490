"""What can be wrong with the agent itself; each message says what, where, and what to do."""


class AgentError(Exception):
    """The agent cannot go on as it was told to."""


class StateDirectoryInUse(AgentError):
    """Another agent keeps its spool in the same directory."""


class SpoolDamaged(AgentError):
    """A spool file does not hold what it should; what is readable around the damage is still kept."""


class SocketRefused(AgentError):
    """The socket for training processes cannot be opened."""
