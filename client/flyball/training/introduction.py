"""The first message of a run: its name, the place of this process in it, and its length."""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.identity import Identity


class Introduction:
    """The facts about a run that the agent receives first. Some change: a resumed run begins a new attempt."""

    __slots__ = ("client", "identity", "labels", "name", "policy", "total_samples", "total_steps")

    def __init__(
        self,
        name: str,
        identity: Identity,
        *,
        total_steps: int | None = None,
        total_samples: int | None = None,
        labels: dict[str, str],
        policy: str = "",
        client: str = "flyball",
    ) -> None:
        self.name = name
        self.identity = identity
        self.total_steps = total_steps
        self.total_samples = total_samples
        self.labels = labels
        self.policy = policy
        self.client = client

    def line(self) -> bytes:
        """Return the message."""
        identity = self.identity
        parts = [
            f'"kind":"hello","run":{quoted(self.name)},"rank":{identity.rank},"world_size":{identity.world_size}',
            f'"attempt":{identity.attempt},"client":{quoted(self.client)}',
        ]
        if identity.group:
            parts.append(f'"group":{quoted(identity.group)}')
        if self.total_steps is not None:
            parts.append(f'"total_steps":{self.total_steps}')
        if self.total_samples is not None:
            parts.append(f'"total_samples":{self.total_samples}')
        if self.policy:
            parts.append(f'"policy":{quoted(self.policy)}')
        if self.labels:
            pairs = ",".join([f"{quoted(key)}:{quoted(value)}" for key, value in self.labels.items()])
            parts.append(f'"labels":{{{pairs}}}')
        return ("{" + ",".join(parts) + "}\n").encode("ascii")
