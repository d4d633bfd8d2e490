"""Whether code runs on the host alone, where reading a value costs nothing."""

import ast
from typing import TYPE_CHECKING

from flyball_audit.doubts import Doubt
from flyball_audit.mentions import names_no_device
from flyball_audit.module import Module, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flyball_audit.project import Project
    from flyball_audit.regions import Region


def host_doubt(project: "Project", module: Module, regions: "Iterable[Region]") -> Doubt | None:
    """Why nothing that the regions of a turn read may lie on a device, if there is a reason."""
    if names_no_device(project, module):
        return Doubt.HOST
    return Doubt.ARRAY if any(_takes_arrays(project, each) for each in regions) else None


def _takes_arrays(project: "Project", region: "Region") -> bool:
    """Whether `.numpy()` is asked of what else would be taken for a tensor on the device: it refuses one."""
    calls = (call.func for call in region.all(ast.Call) if last_name(call) == "numpy" and not call.args)
    held = (each.value for each in calls if isinstance(each, ast.Attribute))
    return any(project.flow.value(region.module, each).is_seen_tensor for each in held)
