import Foundation

/// What every Prometheus dashboard expects of a process, by the names of Prometheus' own client libraries.
enum ProcessMetrics {
    /// `RUSAGE_SELF` of getrusage(2), which Swift imports as an enumeration that the function does not take.
    private static let rusageSelf: Int32 = 0

    /// The present numbers, out of `/proc/self`; what cannot be read is left out.
    static func samples() -> [GaugeSample] {
        var samples: [GaugeSample] = []
        var usage = rusage()
        if getrusage(rusageSelf, &usage) == 0 {
            let seconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
            samples.append(.counter("process_cpu_seconds", seconds))
        }
        if let pages = residentPages() {
            samples.append(
                GaugeSample("process_resident_memory_bytes", Double(pages) * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            samples.append(GaugeSample("process_open_fds", Double(descriptors.count)))
        }
        if let threads = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
            samples.append(GaugeSample("process_threads", Double(threads.count)))
        }
        return samples
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    /// The second number of `/proc/self/statm` (proc_pid_statm(5)).
    private static func residentPages() -> Int? {
        guard let data = FileManager.default.contents(atPath: "/proc/self/statm") else { return nil }
        let numbers = String(decoding: data, as: UTF8.self).split(separator: " ")
        return numbers.count > 1 ? Int(numbers[1]) : nil
    }
}
