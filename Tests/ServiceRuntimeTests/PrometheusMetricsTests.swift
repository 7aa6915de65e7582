import CoreMetrics
import Testing

@testable import ServiceRuntime

@Suite("Prometheus metrics")
struct PrometheusMetricsTests {
    @Test("counters, whole and fractional, are one series by name and labels")
    func counters() {
        let metrics = PrometheusMetrics()
        metrics.makeCounter(label: "orders.granted", dimensions: [("b", "2"), ("a", "1")]).increment(by: Int64(3))
        metrics.makeCounter(label: "orders.granted", dimensions: [("a", "1"), ("b", "2")]).increment(by: Int64(4))
        metrics.makeFloatingPointCounter(label: "orders.granted_total", dimensions: [("a", "1"), ("b", "2")])
            .increment(by: 0.5)
        metrics.makeCounter(label: "orders.granted", dimensions: []).increment(by: Int64(1))
        let page = metrics.render()
        #expect(
            page.contains(
                """
                # TYPE orders_granted_total counter
                orders_granted_total 1
                orders_granted_total{a="1",b="2"} 7.5

                """))
        #expect(page.hasSuffix("\n") && !page.contains("\n\n"))
    }

    @Test("a counter never goes down")
    func counterOnlyGrows() {
        let counter = CounterSeries()
        counter.increment(by: Int64(5))
        counter.increment(by: Int64(-2))
        counter.increment(by: -2.0)
        counter.increment(by: Double.nan)
        counter.increment(by: Double.infinity)
        var text = PrometheusText()
        counter.append(to: &text, name: "n", labels: [])
        #expect(text.text == "n 5\n")
    }

    @Test("timers are histograms in seconds with rising buckets")
    func timers() {
        let metrics = PrometheusMetrics()
        let timer = metrics.makeTimer(label: "apple.request", dimensions: [("path", "tx")])
        timer.recordNanoseconds(1_000_000)
        timer.recordNanoseconds(40_000_000)
        timer.recordNanoseconds(120_000_000_000)
        let page = metrics.render()
        for line in [
            "# TYPE apple_request_seconds histogram",
            "apple_request_seconds_bucket{path=\"tx\",le=\"0.0005\"} 0",
            "apple_request_seconds_bucket{path=\"tx\",le=\"0.001\"} 1",
            "apple_request_seconds_bucket{path=\"tx\",le=\"0.05\"} 2",
            "apple_request_seconds_bucket{path=\"tx\",le=\"60\"} 2",
            "apple_request_seconds_bucket{path=\"tx\",le=\"+Inf\"} 3",
            "apple_request_seconds_sum{path=\"tx\"} 120.041",
            "apple_request_seconds_count{path=\"tx\"} 3",
        ] {
            #expect(page.contains(line + "\n"))
        }
        #expect(PrometheusMetrics.timerBuckets == PrometheusMetrics.timerBuckets.sorted())
        #expect(PrometheusMetrics.recorderBuckets == PrometheusMetrics.recorderBuckets.sorted())
    }

    @Test("recorders are histograms, or gauges when they do not aggregate; meters are gauges")
    func recordersAndMeters() {
        let metrics = PrometheusMetrics()
        metrics.makeRecorder(label: "batch.size", dimensions: [], aggregate: true).record(Int64(50))
        metrics.makeRecorder(label: "depth", dimensions: [], aggregate: false).record(2.25)
        let meter = metrics.makeMeter(label: "busy", dimensions: [])
        meter.set(Int64(3))
        meter.increment(by: 2)
        meter.decrement(by: 0.5)
        let page = metrics.render()
        #expect(page.contains("batch_size_bucket{le=\"20\"} 0\nbatch_size_bucket{le=\"50\"} 1\n"))
        #expect(page.contains("# TYPE depth gauge\ndepth 2.25\n"))
        #expect(page.contains("# TYPE busy gauge\nbusy 4.5\n"))
    }

    @Test("names and labels are made valid, values escaped")
    func escaping() {
        let metrics = PrometheusMetrics()
        metrics.makeMeter(label: "9 bad-name.ü", dimensions: [("le", "x"), ("a-b", "q\"\\\n"), ("__x", "y")]).set(
            Int64(1))
        #expect(
            metrics.render().contains(
                #"_9_bad_name___{a_b="q\"\\\n",exported___x="y",exported_le="x"} 1"# + "\n"))
        #expect(PrometheusText.number(.nan) == "NaN" && PrometheusText.number(-.infinity) == "-Inf")
        #expect(PrometheusText.number(1e18) == "1e+18" && PrometheusText.number(-2) == "-2")
    }

    @Test("a family that was described has its line of HELP above that of its type, before or after it was made")
    func help() {
        let metrics = PrometheusMetrics()
        metrics.makeCounter(label: "early", dimensions: []).increment(by: Int64(1))
        metrics.describe([
            .counter("early_total", help: "What \"it\" is: a\\b\nc."), .histogram("later_seconds", help: "A time."),
            .gauge("scraped", ["x"], help: "Read for each page."),
        ])
        metrics.makeTimer(label: "later", dimensions: []).recordNanoseconds(1)
        metrics.onScrape { [GaugeSample("scraped", labels: [("x", "1")], 2)] }
        let page = metrics.render()
        #expect(
            page.contains("# HELP early_total What \"it\" is: a\\\\b\\nc.\n# TYPE early_total counter\nearly_total 1\n")
        )
        #expect(page.contains("# HELP later_seconds A time.\n# TYPE later_seconds histogram\n"))
        #expect(page.contains("# HELP scraped Read for each page.\n# TYPE scraped gauge\nscraped{x=\"1\"} 2\n"))
        #expect(page.split(separator: "\n").count { $0.hasPrefix("# HELP later_seconds ") } == 1, "once for a family")
    }

    @Test("every family of every process has a line of HELP, of the type that was described")
    func runtimeFamilies() {
        let metrics = PrometheusMetrics()
        metrics.onScrape { ProcessMetrics.samples() }
        let lines = metrics.render().split(separator: "\n").map(String.init)
        let described = Dictionary(uniqueKeysWithValues: RuntimeMetrics.families.map { ($0.name, $0) })
        let types = lines.enumerated().filter { $1.hasPrefix("# TYPE ") }
        #expect(types.count >= 6)
        for (index, line) in types {
            let words = line.split(separator: " ").map(String.init)
            #expect(words[3] == described[words[2]]?.kind.rawValue, "\(line)")
            #expect(index > 0 && lines[index - 1].hasPrefix("# HELP \(words[2]) "), "\(line)")
        }
    }

    @Test("an unbounded label cannot fill the memory, and is seen")
    func seriesLimit() {
        let metrics = PrometheusMetrics(seriesMaximum: 10)
        for number in 0..<25 {
            metrics.makeCounter(label: "c", dimensions: [("id", "\(number)")]).increment(by: Int64(1))
        }
        let page = metrics.render()
        #expect(page.split(separator: "\n").filter { $0.hasPrefix("c_total{") }.count == 10)
        #expect(page.contains("countersign_metrics_refused_total 15\n"))
        #expect(page.contains("countersign_metrics_series 10\n"))
    }

    @Test("one name has one type: the second is refused, and the page stays readable")
    func typeConflict() {
        let metrics = PrometheusMetrics()
        metrics.makeMeter(label: "x", dimensions: []).set(Int64(1))
        metrics.makeRecorder(label: "x", dimensions: [("a", "b")], aggregate: true).record(Int64(1))
        metrics.onScrape { [.counter("y", 1), GaugeSample("y_total", 2)] }
        let page = metrics.render()
        #expect(page.contains("# TYPE x gauge\nx 1\n"))
        #expect(!page.contains("x_bucket"))
        #expect(page.contains("# TYPE y_total counter\ny_total 1\n"))
        #expect(page.contains("countersign_metrics_refused_total 1\n"))
    }

    @Test("numbers read at scrape time are read for each page, and grouped by name")
    func collectors() {
        let metrics = PrometheusMetrics()
        let calls = CounterSeries()
        metrics.onScrape {
            calls.increment(by: Int64(1))
            return [GaugeSample("pool.leased", labels: [("pool", "a")], 3)]
        }
        metrics.onScrape { [GaugeSample("pool.leased", labels: [("pool", "b")], 4)] }
        #expect(metrics.render() == metrics.render())
        #expect(
            metrics.render().contains(
                "# TYPE pool_leased gauge\npool_leased{pool=\"a\"} 3\npool_leased{pool=\"b\"} 4\n"))
        var text = PrometheusText()
        calls.append(to: &text, name: "calls", labels: [])
        #expect(text.text == "calls 3\n")
    }

    @Test("a destroyed series makes room")
    func destroy() {
        let metrics = PrometheusMetrics(seriesMaximum: 1)
        metrics.destroyCounter(metrics.makeCounter(label: "a", dimensions: []))
        metrics.makeCounter(label: "b", dimensions: []).increment(by: Int64(2))
        #expect(metrics.render().contains("b_total 2\n"))
        #expect(!metrics.render().contains("a_total"))
    }

    @Test("many writers lose nothing")
    func concurrentWriters() async {
        let metrics = PrometheusMetrics()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 {
                        metrics.makeCounter(label: "c", dimensions: []).increment(by: Int64(1))
                        metrics.makeFloatingPointCounter(label: "f", dimensions: []).increment(by: 0.5)
                        metrics.makeTimer(label: "t", dimensions: []).recordNanoseconds(1)
                    }
                }
            }
        }
        let page = metrics.render()
        #expect(page.contains("c_total 16000\n"))
        #expect(page.contains("f_total 8000\n"))
        #expect(page.contains("t_seconds_count 16000\n"))
    }

    @Test("the process's own numbers are there")
    func processNumbers() {
        let samples = ProcessMetrics.samples()
        for name in ["process_cpu_seconds", "process_resident_memory_bytes", "process_open_fds", "process_threads"] {
            #expect(samples.contains { $0.name == name && $0.value > 0 })
        }
    }
}
