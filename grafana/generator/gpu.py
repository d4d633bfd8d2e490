"""GPUs: heat, power, clocks, use, what holds them back, errors, links, and who uses them."""

from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from grafana.generator import diagnosis, style
from grafana.generator.board import Choice, Section, build, instances, job, link, standing
from grafana.generator.panels import bars, column, graph, linked, listing, number, timeline
from grafana.generator.queries import INSTANCE, JOB, gpu, increase, now, over, rate, rows

GPU = gpu()
NAME = "{{instance}} GPU {{index}}"


def gpus() -> Dashboard:
    """What a host's table of GPUs leads to."""
    sections = [
        Section("Now", now_panels()),
        Section("Heat, power and clocks", heat_panels()),
        Section("Use", use_panels()),
        Section("What holds clocks down", throttle_panels()),
        Section("Health", health_panels()),
        Section("What diagnosis says", diagnosis_panels()),
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
        "Everything that GPUs tell, beside the limits that they have.",
        sections,
        choices=[job("flyball_gpu_info"), instances("flyball_gpu_info"), chosen],
        annotations=[
            standing("red", "Critical conditions", gpu(severity="critical")),
            standing("orange", "Warnings", gpu(severity="warning")),
        ],
        links=[link("Fleet", "fleet"), link("Host", "host", "instance"), link("Collector", "collector")],
    )


def now_panels() -> list[Panel]:
    """Large digits: the worst of the chosen GPUs."""
    return [
        number("Utilization", "Mean of the chosen GPUs: share of the time in which a kernel ran.", "percentunit",
               over(f"avg(flyball_gpu_utilization_ratio{GPU})", "mean"), trend=True, steps=style.BUSY, low=0, high=1),
        number("Tensor cores", "Mean share of the time in which tensor cores worked: closer to useful work than "
               "utilization.", "percentunit", over(f"avg(flyball_gpu_tensor_active_ratio{GPU})", "mean"), trend=True,
               low=0, high=1),
        number("Fullest memory", "The fullest of the chosen GPUs.", "percentunit",
               over(f"max(flyball_gpu_memory_used_bytes{GPU} / flyball_gpu_memory_total_bytes{GPU})", "fullest"),
               trend=True, steps=style.USAGE, low=0, high=1),
        number("Least margin", "Degrees left before the hottest of them slows down.", "celsius",
               over(f"min(flyball_gpu_temperature_margin_celsius{GPU})", "least"), trend=True, steps=style.MARGIN),
        number("Power", "Drawn by the chosen GPUs together.", "watt", over(f"sum(flyball_gpu_power_watts{GPU})", "sum"),
               trend=True),
        number("Held back", "GPUs whose clocks are held down now, for whatever reason.", "none",
               now(f"sum(max by (instance, gpu) (flyball_gpu_throttle_active{GPU}))", "held back"),
               steps=style.ANY_IS_ODD),
        number("Lost", "GPUs that do not answer although they did before.", "none",
               now(f"sum(flyball_gpu_lost{GPU})", "lost"), steps=style.ANY_IS_BAD),
        number("XIDs", "Errors that the driver reported over the time range.", "none",
               now(f"sum({increase('flyball_gpu_xid_total', GPU, '$__range')})", "XIDs"),
               steps=style.ANY_IS_BAD, decimals=0),
    ]  # fmt: skip


def heat_panels() -> list[Panel]:
    """Each beside its limit."""
    return [
        graph("Core temperature", "Beside the temperature at which the hardware slows down, where the device tells it.",
              "celsius", over(f"flyball_gpu_temperature_celsius{GPU}", NAME),
              over(f"min(flyball_gpu_slowdown_temperature_celsius{GPU})", "slowdown"),
              overrides={"slowdown": style.limit_line()}),
        graph("Margin to slowdown", "Degrees left, as the device itself reckons: the figure to watch.", "celsius",
              over(f"flyball_gpu_temperature_margin_celsius{GPU}", NAME)),
        graph("Memory temperature", "HBM slows down on its own account.", "celsius",
              over(f"flyball_gpu_memory_temperature_celsius{GPU}", NAME)),
        graph("Power", "Beside the power limit in force.", "watt", over(f"flyball_gpu_power_watts{GPU}", NAME),
              over(f"min(flyball_gpu_power_limit_watts{GPU})", "limit"), overrides={"limit": style.limit_line()}),
        graph("SM clock", "Clock of the compute units, beside the highest they have.", "hertz",
              over(f"flyball_gpu_sm_clock_hertz{GPU}", NAME),
              over(f"max(flyball_gpu_sm_clock_max_hertz{GPU})", "highest"),
              overrides={"highest": style.limit_line()}),
        graph("Fans", "Speed as a share of the highest. Server cards have none of their own: N/A.", "percentunit",
              over(f"flyball_gpu_fan_speed_ratio{GPU}", NAME), high=1),
    ]  # fmt: skip


def use_panels() -> list[Panel]:
    """Busy, and usefully so."""
    return [
        graph("Utilization", "Share of the time in which a kernel ran, however small.", "percentunit",
              over(f"flyball_gpu_utilization_ratio{GPU}", NAME), high=1),
        graph("Tensor cores", "Share of the time in which tensor cores worked.", "percentunit",
              over(f"flyball_gpu_tensor_active_ratio{GPU}", NAME), high=1),
        graph("Compute units", "Share of compute units that were busy, and warps in flight as a share of the highest.",
              "percentunit", over(f"flyball_gpu_sm_active_ratio{GPU}", f"{NAME} active"),
              over(f"flyball_gpu_sm_occupancy_ratio{GPU}", f"{NAME} occupancy"), high=1),
        graph("Memory", "Memory that processes hold, beside all there is.", "bytes",
              over(f"flyball_gpu_memory_used_bytes{GPU}", NAME),
              over(f"min(flyball_gpu_memory_total_bytes{GPU})", "total"), overrides={"total": style.limit_line()}),
        graph("Memory bandwidth", "Bandwidth used as a share of the highest.", "percentunit",
              over(f"flyball_gpu_dram_active_ratio{GPU}", NAME), high=1),
        graph("Memory controller", "Share of the last moment in which memory moved: coarser than bandwidth, but every "
              "card tells it.", "percentunit",
              over(f"flyball_gpu_memory_controller_utilization_ratio{GPU}", NAME), high=1),
    ]  # fmt: skip


def throttle_panels() -> list[Panel]:
    """Why clocks are low."""
    return [
        timeline("Reasons", "What holds clocks down at each instant. Power capping is common and mild; heat and the "
                 "power brake are not. A missing row: the device does not tell that reason.",
                 over(f"flyball_gpu_throttle_active{GPU}", f"{NAME} {{{{reason}}}}"), mappings=style.HELD, span=12,
                 height=10, per_page=16),
        graph("Time held back", "Share of the time in which clocks were held down, by reason: exact also between two "
              "readings.", "percentunit",
              over(rate("flyball_gpu_throttle_seconds_total", GPU), f"{NAME} {{{{reason}}}}"),
              high=1, span=12, height=10),
    ]  # fmt: skip


def health_panels() -> list[Panel]:
    """Errors by the driver's word."""
    last = f"flyball_gpu_xid_last_timestamp_seconds{GPU}"
    text = style.option("custom.cellOptions", {"type": "color-text"})
    return [
        listing("XIDs by code", "The last time that the driver reported each error code since the collector heard of "
                "the GPU, what it means, and what to do. No row: none was reported.", {
                    "instance": "Host", "gpu": "GPU", "code": "XID", "meaning": "Meaning", "action": "What to do",
                    "Value": "Last"},
                rows(_copied(_copied(f"{last} * 1000", "meaning"), "action")),
                sort="Last", overrides={
                    "Last": column("dateTimeAsIso"), "Meaning": [style.option("mappings", style.MEANINGS), text],
                    "What to do": [style.option("mappings", style.ACTIONS)],
                    "GPU": linked("GPU", diagnosis.TO_GPU)},
                span=16),
        graph("XIDs", "Errors that the driver reported, as they came.", "none",
              over(increase("flyball_gpu_xid_total", GPU), NAME), span=8),
        number("Recovery", "What the driver says must be done to recover the device.", "none",
               now(f"max by (instance, index) (flyball_gpu_recovery_action{GPU})", NAME), mappings=style.RECOVERY,
               steps=((None, style.GOOD), (1, style.CRITICAL)), span=6, height=8),
        graph("ECC errors", "Memory errors as they came: corrected ones are wear, uncorrected ones end runs.",
              "none", over(increase("flyball_gpu_ecc_corrected_errors_total", GPU),
                           f"{NAME} corrected"),
              over(increase("flyball_gpu_ecc_uncorrected_errors_total", GPU),
                   f"{NAME} uncorrected"), span=9),
        graph("Rows and pages out of use", "Memory rows replaced by spare ones, and pages retired, by kind of error.",
              "none", over(f"flyball_gpu_remapped_rows{GPU}", f"{NAME} rows {{{{cause}}}}"),
              over(f"flyball_gpu_retired_pages{GPU}", f"{NAME} pages {{{{cause}}}}"), span=9),
        listing("Errors in a device's life", "Never forgotten by the device; pending rows want a reset, failed ones a "
                "replacement.", {
                    "instance": "Host", "index": "Index", "Value #A": "Corrected", "Value #B": "Uncorrected",
                    "Value #C": "Row pending", "Value #D": "Row failed"},
                rows(f"max by (instance, index) (last_over_time(flyball_gpu_ecc_corrected_errors_lifetime_total{GPU}"
                     "[$__range]))"),
                rows(f"max by (instance, index) (last_over_time(flyball_gpu_ecc_uncorrected_errors_lifetime_total{GPU}"
                     "[$__range]))"),
                rows(f"max by (instance, index) (flyball_gpu_row_remap_pending{GPU})"),
                rows(f"max by (instance, index) (flyball_gpu_row_remap_failed{GPU})"),
                overrides={"Uncorrected": column("none", style.ANY_IS_BAD),
                           "Row .*": [style.option("mappings", style.YES_NO), text]}, span=24, height=6),
    ]  # fmt: skip


def diagnosis_panels() -> list[Panel]:
    """What is said of these GPUs, and what cannot be said."""
    hosts_gpus = f'{{{JOB}, {INSTANCE}, probe=~"nvidia|amd|intel"}}'
    return [
        diagnosis.conditions({GPU: ""}, span=12, height=8),
        diagnosis.risks(GPU, span=12, height=8),
        diagnosis.unavailable(hosts_gpus, span=12, height=7),
        diagnosis.reason_codes(hosts_gpus, "GPU probes over time", "When a driver gave nothing, or not all.", span=12,
                                height=7),
    ]  # fmt: skip


def link_panels() -> list[Panel]:
    """NVLink and PCIe."""
    return [
        graph("NVLink traffic", "Payload over all links of a GPU.", "Bps",
              over(rate("flyball_gpu_nvlink_receive_bytes_total", GPU), f"{NAME} received"),
              over(rate("flyball_gpu_nvlink_transmit_bytes_total", GPU), f"{NAME} sent")),
        graph("NVLinks down", "Links that the device has and that are not up.", "none",
              over(f"flyball_gpu_nvlink_links{GPU} - flyball_gpu_nvlink_active_links{GPU}", NAME)),
        graph("NVLink errors", "By kind, over all links.", "none",
              over(increase("flyball_gpu_nvlink_errors_total", GPU), f"{NAME} {{{{kind}}}}")),
        graph("PCIe traffic", "Bytes between host and GPU.", "Bps",
              over(rate("flyball_gpu_pcie_receive_bytes_total", GPU), f"{NAME} received"),
              over(rate("flyball_gpu_pcie_transmit_bytes_total", GPU), f"{NAME} sent")),
        graph("PCIe link", "Generation and lanes as shares of what GPU and slot have. The generation falls when the "
              "GPU idles; under load it should be 1.", "percentunit",
              over(f"flyball_gpu_pcie_generation{GPU} / flyball_gpu_pcie_generation_max{GPU}", f"{NAME} generation"),
              over(f"flyball_gpu_pcie_width_lanes{GPU} / flyball_gpu_pcie_width_max_lanes{GPU}", f"{NAME} lanes"),
              high=1),
        graph("PCIe replays", "Packets that had to be sent again.", "none",
              over(increase("flyball_gpu_pcie_replays_total", GPU), NAME)),
    ]  # fmt: skip


def process_panels() -> list[Panel]:
    """Who holds them, and what they drew."""
    by = "by (instance, gpu, pid, user, run, rank)"
    return [
        bars("Energy", "Drawn over the time range.", "joule",
             now(f"{increase('flyball_gpu_energy_joules_total', GPU, '$__range')}", NAME), span=6),
        graph("Power by energy counter", "Mean power between readings, from the energy counter: smoother and truer "
              "than single readings of power.", "watt",
              over(rate("flyball_gpu_energy_joules_total", GPU), NAME), span=6),
        listing("Processes", "What runs on these GPUs, and for whom. Without a run: it does not report to Flyball.",
                {"instance": "Host", "gpu": "GPU", "pid": "Process", "user": "User", "run": "Run", "rank": "Rank",
                 "Value #A": "Memory", "Value #B": "Busy"},
                rows(f"max {by} (flyball_gpu_process_memory_used_bytes{GPU})"),
                rows(f"max {by} (flyball_gpu_process_busy_ratio{GPU})"), sort="Memory",
                overrides={"Memory": column("bytes"), "Busy": column("percentunit"),
                           "Run": linked("Run", diagnosis.TO_RUN)},
                span=12),
    ]  # fmt: skip


def mig_panels() -> list[Panel]:
    """Parts of a GPU."""
    return [
        graph("Memory of instances", "Memory that processes of each MIG instance hold, as a share of the instance's.",
              "percentunit",
              over(f"flyball_gpu_mig_memory_used_bytes{GPU} / flyball_gpu_mig_memory_total_bytes{GPU}",
                   f"{NAME} {{{{exported_instance}}}}"), high=1, span=24),
    ]  # fmt: skip


def _copied(expression: str, label: str) -> str:
    """The code once more, under a label whose values the table puts into words."""
    return f'label_replace({expression}, "{label}", "$1", "code", "(.*)")'
