"""The GPU dashboard: heat, power, clocks, use, throttling, errors, links and processes."""

from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import Choice, Section, active_conditions, build, instances, job, link
from grafana.generator.panels import bars, column, graph, linked, listing, number, timeline
from grafana.generator.queries import INSTANCE, JOB, gpu, increase, now, over, rate, rows

GPU = gpu()
NAME = "{{instance}} GPU {{index}}"


def gpus() -> Dashboard:
    """Build the dashboard that the GPU table of a host links to."""
    sections = [
        Section("Now", now_panels()),
        Section("Heat, power and clocks", heat_panels()),
        Section("Utilisation and memory", use_panels()),
        Section("Throttling", throttle_panels()),
        Section("Health", health_panels()),
        Section("Problems and unavailable readings", diagnosis_panels()),
        Section("Links", link_panels()),
        Section("Energy and processes", process_panels()),
        Section("MIG instances", mig_panels(), collapsed=True),
    ]
    joined = f'label_join(flyball_gpu_info{{{JOB}, {INSTANCE}}}, "name", " GPU ", "instance", "index")'
    chosen = Choice(
        "gpu",
        "GPU",
        "The GPUs of the chosen hosts.",
        f"query_result({joined})",
        regex='/gpu="(?<value>[^"]+)".*name="(?<text>[^"]+)"/',
    )
    return build(
        "gpu",
        "GPU",
        "All readings of GPUs, shown with their limits.",
        sections,
        choices=[job("flyball_gpu_info"), instances("flyball_gpu_info"), chosen],
        annotations=[
            active_conditions("red", "Critical conditions", gpu(severity="critical")),
            active_conditions("orange", "Warnings", gpu(severity="warning")),
        ],
        links=[link("Fleet", "fleet"), link("Host", "host", "instance"), link("Collector", "collector")],
    )


def now_panels() -> list[Panel]:
    """Return the panels with large digits: means, sums and the worst of the chosen GPUs."""
    return [
        number("Utilisation", "Mean of the chosen GPUs: share of the time in which a kernel ran.", "percentunit",
               over(f"avg(flyball_gpu_utilization_ratio{GPU})", "mean"), trend=True, steps=style.BUSY, low=0, high=1),
        number("Tensor cores", "Mean share of the time in which tensor cores worked. It shows useful work better "
               "than utilisation does.", "percentunit",
               over(f"avg(flyball_gpu_tensor_active_ratio{GPU})", "mean"), trend=True, low=0, high=1),
        number("Fullest memory", "Used share of the memory of the fullest of the chosen GPUs.", "percentunit",
               over(f"max(flyball_gpu_memory_used_bytes{GPU} / flyball_gpu_memory_total_bytes{GPU})", "fullest"),
               trend=True, steps=style.USAGE, low=0, high=1),
        number("Smallest margin", "Degrees left before the hottest of the chosen GPUs slows down.", "celsius",
               over(f"min(flyball_gpu_temperature_margin_celsius{GPU})", "least"), trend=True, steps=style.MARGIN),
        number("Power", "Power of all chosen GPUs together.", "watt", over(f"sum(flyball_gpu_power_watts{GPU})", "sum"),
               trend=True),
        number("Throttled", "GPUs whose clocks are limited now, for any reason.", "none",
               now(f"sum(max by (instance, gpu) (flyball_gpu_throttle_active{GPU}))", "throttled"),
               steps=style.ANY_IS_WARNING),
        number("Lost", "GPUs that responded before and no longer do.", "none",
               now(f"sum(flyball_gpu_lost{GPU})", "lost"), steps=style.ANY_IS_CRITICAL),
        number("XIDs", "XIDs (errors that the driver reports) in the time range.", "none",
               now(f"sum({increase('flyball_gpu_xid_total', GPU, '$__range')})", "XIDs"),
               steps=style.ANY_IS_CRITICAL, decimals=0),
    ]  # fmt: skip


def heat_panels() -> list[Panel]:
    """Return heat, power and clocks, each with its limit."""
    return [
        graph("Core temperature", "Temperature of the core, and the temperature at which the hardware slows down, if "
              "it is known.",
              "celsius", over(f"flyball_gpu_temperature_celsius{GPU}", NAME),
              over(f"min(flyball_gpu_slowdown_temperature_celsius{GPU})", "slowdown"),
              overrides={"slowdown": style.limit_line()}),
        graph("Margin to slowdown", "Degrees left before the GPU slows down, as the device reports them. Watch this "
              "value rather than the temperature.", "celsius",
              over(f"flyball_gpu_temperature_margin_celsius{GPU}", NAME)),
        graph("Memory temperature", "Hot HBM slows the GPU down even if the core is cool.", "celsius",
              over(f"flyball_gpu_memory_temperature_celsius{GPU}", NAME)),
        graph("Power", "Power drawn by each board, and the lowest power limit in force.", "watt",
              over(f"flyball_gpu_power_watts{GPU}", NAME),
              over(f"min(flyball_gpu_power_limit_watts{GPU})", "limit"), overrides={"limit": style.limit_line()}),
        graph("SM clock", "Clock of the compute units (SMs), and its maximum.", "hertz",
              over(f"flyball_gpu_sm_clock_hertz{GPU}", NAME),
              over(f"max(flyball_gpu_sm_clock_max_hertz{GPU})", "maximum"),
              overrides={"maximum": style.limit_line()}),
        graph("Fans", "Speed as a share of the maximum. Server cards have no fans.", "percentunit",
              over(f"flyball_gpu_fan_speed_ratio{GPU}", NAME), high=1),
    ]  # fmt: skip


def use_panels() -> list[Panel]:
    """Return utilisation and how useful it is."""
    return [
        graph("Utilisation", "Share of the time in which a kernel ran, even a small one.", "percentunit",
              over(f"flyball_gpu_utilization_ratio{GPU}", NAME), high=1),
        graph("Tensor cores", "Share of the time in which tensor cores worked.", "percentunit",
              over(f"flyball_gpu_tensor_active_ratio{GPU}", NAME), high=1),
        graph("Compute units", "Share of compute units (SMs) that were busy, and warps in flight as a share of the "
              "maximum.",
              "percentunit", over(f"flyball_gpu_sm_active_ratio{GPU}", f"{NAME} active"),
              over(f"flyball_gpu_sm_occupancy_ratio{GPU}", f"{NAME} occupancy"), high=1),
        graph("Memory", "Memory that processes hold, and the total.", "bytes",
              over(f"flyball_gpu_memory_used_bytes{GPU}", NAME),
              over(f"min(flyball_gpu_memory_total_bytes{GPU})", "total"), overrides={"total": style.limit_line()}),
        graph("Memory bandwidth", "Bandwidth used as a share of the maximum.", "percentunit",
              over(f"flyball_gpu_dram_active_ratio{GPU}", NAME), high=1),
        graph("Memory controller", "Share of the time in which memory was read or written: coarser than bandwidth, but "
              "available on every card.", "percentunit",
              over(f"flyball_gpu_memory_controller_utilization_ratio{GPU}", NAME), high=1),
    ]  # fmt: skip


def throttle_panels() -> list[Panel]:
    """Return the reasons for low clocks."""
    return [
        timeline("Throttle reasons", "Reasons that limit clocks at each instant. Power capping is common and "
                 "harmless; heat and the power brake are not. A reason without a row is not supported by the device.",
                 over(f"flyball_gpu_throttle_active{GPU}", f"{NAME} {{{{reason}}}}"), mappings=style.THROTTLED, span=12,
                 height=10, per_page=16),
        graph("Throttled time", "Share of the time in which clocks were limited, by reason. Includes throttling "
              "between two readings.", "percentunit",
              over(rate("flyball_gpu_throttle_seconds_total", GPU), f"{NAME} {{{{reason}}}}"),
              high=1, span=12, height=10),
    ]  # fmt: skip


def health_panels() -> list[Panel]:
    """Return errors that the driver reports."""
    last = f"flyball_gpu_xid_last_timestamp_seconds{GPU}"
    text = style.option("custom.cellOptions", {"type": "color-text"})
    return [
        listing("XIDs by code", "When the driver last reported each error code since the collector has known the GPU, "
                "what the code means, and what to do.", {
                    "instance": "Host", "gpu": "GPU", "code": "XID", "meaning": "Meaning", "action": "What to do",
                    "Value": "Last reported"},
                rows(_copied(_copied(f"{last} * 1000", "meaning"), "action")),
                sort="Last reported", overrides={
                    "Last reported": column("dateTimeAsIso"),
                    "Meaning": [style.option("mappings", style.MEANINGS), text],
                    "What to do": [style.option("mappings", style.ACTIONS)],
                    "GPU": linked("GPU", diagnosis.TO_GPU)},
                empty="No XID was reported", span=16),
        graph("XIDs", "XIDs (errors that the driver reports) over time.", "none",
              over(increase("flyball_gpu_xid_total", GPU), NAME), span=8),
        number("Recovery action", "Action that the driver requires to recover the device.", "none",
               now(f"max by (instance, index) (flyball_gpu_recovery_action{GPU})", NAME), mappings=style.RECOVERY,
               steps=((None, style.GOOD), (1, style.CRITICAL)), span=6, height=8),
        graph("ECC errors", "Memory errors over time. Corrected errors are a sign of wear; uncorrected errors end "
              "runs.",
              "none", over(increase("flyball_gpu_ecc_corrected_errors_total", GPU),
                           f"{NAME} corrected"),
              over(increase("flyball_gpu_ecc_uncorrected_errors_total", GPU),
                   f"{NAME} uncorrected"), span=9),
        graph("Remapped rows and retired pages", "Memory rows remapped to spare ones, and retired pages, by kind of "
              "error.",
              "none", over(f"flyball_gpu_remapped_rows{GPU}", f"{NAME} rows {{{{cause}}}}"),
              over(f"flyball_gpu_retired_pages{GPU}", f"{NAME} pages {{{{cause}}}}"), span=9),
        listing("Lifetime errors", "Memory errors over the whole life of the device. A row that waits to be "
                "remapped (pending) needs a reset; a row that could not be remapped (failed) needs a new GPU.", {
                    "instance": "Host", "index": "Index", "Value #A": "Corrected", "Value #B": "Uncorrected",
                    "Value #C": "Row pending", "Value #D": "Row failed"},
                rows(f"max by (instance, index) (last_over_time(flyball_gpu_ecc_corrected_errors_lifetime_total{GPU}"
                     "[$__range]))"),
                rows(f"max by (instance, index) (last_over_time(flyball_gpu_ecc_uncorrected_errors_lifetime_total{GPU}"
                     "[$__range]))"),
                rows(f"max by (instance, index) (flyball_gpu_row_remap_pending{GPU})"),
                rows(f"max by (instance, index) (flyball_gpu_row_remap_failed{GPU})"),
                overrides={"Uncorrected": column("none", style.ANY_IS_CRITICAL),
                           "Row .*": [style.option("mappings", style.YES_NO), text]}, span=24, height=6),
    ]  # fmt: skip


def diagnosis_panels() -> list[Panel]:
    """Return the problems of the chosen GPUs and their unavailable readings."""
    hosts_gpus = f'{{{JOB}, {INSTANCE}, probe=~"nvidia|amd|intel"}}'
    return [
        diagnosis.conditions({GPU: ""}, span=12, height=8),
        diagnosis.risks(GPU, span=12, height=8),
        diagnosis.unavailable_readings(hosts_gpus, span=12, height=7),
        diagnosis.unavailable_over_time(hosts_gpus, "Unavailable GPU readings over time",
                                        "When some or all readings of a driver were unavailable.", span=12, height=7),
    ]  # fmt: skip


def link_panels() -> list[Panel]:
    """Return NVLink and PCIe."""
    return [
        graph("NVLink traffic", "Payload over all NVLinks of a GPU.", "Bps",
              over(rate("flyball_gpu_nvlink_receive_bytes_total", GPU), f"{NAME} received"),
              over(rate("flyball_gpu_nvlink_transmit_bytes_total", GPU), f"{NAME} sent")),
        graph("NVLinks down", "Links of the device that are not up.", "none",
              over(f"flyball_gpu_nvlink_links{GPU} - flyball_gpu_nvlink_active_links{GPU}", NAME)),
        graph("NVLink errors", "Errors by kind, over all links.", "none",
              over(increase("flyball_gpu_nvlink_errors_total", GPU), f"{NAME} {{{{kind}}}}")),
        graph("PCIe traffic", "Bytes between host and GPU.", "Bps",
              over(rate("flyball_gpu_pcie_receive_bytes_total", GPU), f"{NAME} received"),
              over(rate("flyball_gpu_pcie_transmit_bytes_total", GPU), f"{NAME} sent")),
        graph("PCIe link", "Generation and lanes as shares of what GPU and slot support. The generation falls when "
              "the GPU is idle; under load it should be 1.", "percentunit",
              over(f"flyball_gpu_pcie_generation{GPU} / flyball_gpu_pcie_generation_max{GPU}", f"{NAME} generation"),
              over(f"flyball_gpu_pcie_width_lanes{GPU} / flyball_gpu_pcie_width_max_lanes{GPU}", f"{NAME} lanes"),
              high=1),
        graph("PCIe replays", "Packets that had to be sent again.", "none",
              over(increase("flyball_gpu_pcie_replays_total", GPU), NAME)),
    ]  # fmt: skip


def process_panels() -> list[Panel]:
    """Return energy and processes."""
    by = "by (instance, gpu, pid, user, run, rank)"
    return [
        bars("Energy", "Energy used over the time range.", "joule",
             now(f"{increase('flyball_gpu_energy_joules_total', GPU, '$__range')}", NAME), span=6),
        graph("Power by energy counter", "Mean power between readings, from the energy counter. More accurate than "
              "single readings of power.", "watt",
              over(rate("flyball_gpu_energy_joules_total", GPU), NAME), span=6),
        listing("Processes", "Processes on these GPUs with their users. A process without a run does not report to "
                "Flyball.",
                {"instance": "Host", "gpu": "GPU", "pid": "Process", "user": "User", "run": "Run", "rank": "Rank",
                 "Value #A": "Memory", "Value #B": "Busy"},
                rows(f"max {by} (flyball_gpu_process_memory_used_bytes{GPU})"),
                rows(f"max {by} (flyball_gpu_process_busy_ratio{GPU})"), sort="Memory",
                overrides={"Memory": column("bytes"), "Busy": column("percentunit"),
                           "Run": linked("Run", diagnosis.TO_RUN)},
                empty="No process uses these GPUs", span=12),
    ]  # fmt: skip


def mig_panels() -> list[Panel]:
    """Return the MIG instances of GPUs."""
    return [
        graph("Memory of instances", "Memory that processes hold in each MIG instance, as a share of the memory of "
              "the instance.",
              "percentunit",
              over(f"flyball_gpu_mig_memory_used_bytes{GPU} / flyball_gpu_mig_memory_total_bytes{GPU}",
                   f"{NAME} {{{{exported_instance}}}}"), high=1, span=24),
    ]  # fmt: skip


def _copied(expression: str, label: str) -> str:
    """Copy the XID code to another label, which the table maps to a text."""
    return f'label_replace({expression}, "{label}", "$1", "code", "(.*)")'
