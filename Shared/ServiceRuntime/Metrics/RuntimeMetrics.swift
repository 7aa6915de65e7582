/// The metrics of every process, whatever it does.
enum RuntimeMetrics {
    static let families: [MetricFamily] = [
        .gauge(
            "countersign_build_info", ["service", "version"],
            help: "Always 1; the labels say which program of which version this is."),
        .gauge("countersign_metrics_series", help: "Metric series that this process keeps; at most 4,000."),
        .counter(
            "countersign_metrics_refused_total",
            help: "Metric series that were not kept: beyond the limit, or of another type than their name had before."),
        .counter(
            "periodic_task_runs_total", ["task", "outcome"],
            help: "Runs of the tasks that come again and again, by outcome: success or failure."),
        .histogram("periodic_task_duration_seconds", ["task"], help: "How long a run of such a task took."),
        .counter("process_cpu_seconds_total", help: "Processor time of this process, user and system."),
        .gauge("process_open_fds", help: "Open file descriptors."),
        .gauge("process_resident_memory_bytes", help: "Memory of this process that is in RAM."),
        .gauge("process_start_time_seconds", help: "When this process started, in Unix time."),
        .gauge("process_threads", help: "Threads of this process."),
    ]
}
