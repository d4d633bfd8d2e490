"""The metrics of trainings that the kernel counts. They are sums over the processes that are watched."""

from flyball_proto.metric import counter, gauge

PROCESSES = (
    gauge(
        "training_processes",
        "processes",
        "Main processes of trainings that are watched, at most four: those that hold a GPU, are connected to the agent "
        "or, on hosts without either, compute with libraries for arrays.",
    ),
    gauge("training_workers", "processes", "Processes that these started and that are watched, at most four."),
    counter("training_run_seconds_total", "seconds", "Time of the main threads on a CPU.", scale=1000),
    counter(
        "training_delay_seconds_total",
        "seconds",
        "Time in which the main threads were ready to run and waited for a CPU.",
        scale=1000,
    ),
    counter("training_cpu_seconds_total", "seconds", "CPU time of the main processes, all threads.", scale=1000),
    counter("training_worker_cpu_seconds_total", "seconds", "CPU time of the workers.", scale=1000),
    counter(
        "training_worker_delay_seconds_total",
        "seconds",
        "Time in which the main threads of workers were ready to run and waited for a CPU.",
        scale=1000,
    ),
    counter(
        "training_major_faults_total",
        "faults",
        "Page faults of main processes and workers that had to read from a disk or from swap.",
    ),
)
READS = (counter("training_read_bytes_total", "bytes", "Bytes that main processes and workers read from disks."),)
CALLS = (
    gauge("training_connections", "connections", "TCP connections that the main processes have opened, at most 16."),
    counter("training_sent_segments_total", "segments", "Segments with data sent over these connections."),
    counter("training_received_bytes_total", "bytes", "Bytes received over these connections."),
    counter("training_retransmitted_segments_total", "segments", "Segments sent again over these connections."),
    counter(
        "training_disordered_segments_total",
        "segments",
        "Segments that arrived over these connections before an earlier one, which was lost or late.",
    ),
)
TRIPS = (
    gauge(
        "training_round_trip_seconds",
        "seconds",
        "Longest round trip of the connections in use, as TCP measures it. It contains up to 40 ms of the time that "
        "the other side takes to answer.",
        scale=1_000_000,
    ),
    gauge(
        "training_least_round_trip_seconds",
        "seconds",
        "Shortest round trip of that connection in the last five minutes.",
        scale=1_000_000,
    ),
)
WAITS = (
    counter(
        "training_wait_seconds_total",
        "seconds",
        "Time in which the main threads waited: for a disk, for files of another machine, for memory, for a socket, in "
        "poll, for another thread or process, or for something else. The total is measured, and split by five samples "
        "a second.",
        ("what",),
        scale=1000,
    ),
    counter(
        "training_worker_wait_seconds_total",
        "seconds",
        "The same of the main threads of workers.",
        ("what",),
        scale=1000,
    ),
)
EVERY = (*PROCESSES, *READS, *CALLS, *TRIPS, *WAITS)
