"""The files of `flyball analyze --generate-configs`: specifications, and configurations for frameworks."""

from flyball.host_review.host_devices import hardware_text
from flyball.host_review.host_review import HostReview
from flyball_planner.configurations.numbers import with_hardware_file
from flyball_planner.emit.frameworks import emit, texts
from flyball_planner.emit.run_sources import run_of_configuration
from flyball_planner.specification.reader import read_specification

HARDWARE_FILE = "hardware.yaml"


def configuration_files(review: HostReview) -> dict[str, str]:
    """Return each specification by name, a folder of files for frameworks beside it, and unlisted hardware."""
    files = {}
    if review.proposal.devices is not None and not review.proposal.devices.known:
        files[HARDWARE_FILE] = hardware_text(review.proposal.devices.device)
    for each in review.proposal.configurations:
        name = f"{each.name}.yaml"
        files[name] = with_hardware_file(each.specification, HARDWARE_FILE if HARDWARE_FILE in files else "")
        run = run_of_configuration(each, read_specification(files[name], name, files.__getitem__))
        files |= {f"{each.name}/{path}": text for path, text in texts(run, emit(run)).items()}
    return files
