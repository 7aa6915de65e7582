import AppStore
import TrustedRootSettings

/// Looks whether anybody but Apple could sign what is believed.
enum RootCheck {
    static let subject = "trusted roots"

    /// The services that believe what is signed.
    private static let believers: Set = ["receipt-intake", "verification-worker"]
    private static let remedy =
        "fine with the simulator; in production leave COUNTERSIGN_TRUSTED_ROOTS and COUNTERSIGN_RECEIPT_ROOTS out, and "
        + "\(TrustedRootSettings.foreignVariable), too: intake and the workers refuse to start with such a root then"

    /// Judges the settings of the tool's own environment, which may be others than those of a service.
    static func judge(environment roots: [RootUse: TrustedRoots]) -> Finding {
        for (use, roots) in roots.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            if let root = roots.foreign.min() {
                return .warning(
                    subject,
                    "\(use.variable) of this environment has a root that is not Apple's, \(root.prefix(16))…: its owner "
                        + "can make purchases", remedy: remedy)
            }
        }
        return .good(subject, "Apple's alone in this environment; of what a service runs with, --service tells")
    }

    /// Judges what a service runs with, by its metrics; nothing of one that believes nobody.
    static func judge(_ page: MetricsPage, of base: String) -> [Finding] {
        let samples = page.samples(ForeignRootReport.gauge)
        guard !samples.isEmpty else {
            let name = page.samples("countersign_build_info").compactMap { $0.labels["service"] }.first
            guard let name, believers.contains(name) else { return [] }
            return [
                .warning(
                    subject, "\(base), a \(name), does not tell which roots it trusts",
                    remedy: "it is of a version that does not know of it: upgrade it")
            ]
        }
        let foreign = samples.filter { $0.value > 0 }
        guard !foreign.isEmpty else { return [.good(subject, "\(base) trusts Apple's alone")] }
        return foreign.map { sample in
            if sample.labels["use"] == ForeignRootReport.xcodeUse {
                return .wrong(
                    subject,
                    "\(base) is a development server: it takes purchases that Xcode signs, which nobody paid for",
                    remedy:
                        "right on a developer's machine; everywhere else take \(TrustedRootSettings.xcodeVariable) out")
            }
            let what = sample.labels["use"] == RootUse.receipts.rawValue ? "receipts" : "signed data"
            return .warning(
                subject,
                "\(base) trusts for \(what) what is not Apple's (\(Int(sample.value)) of its roots): who owns it can make "
                    + "purchases", remedy: remedy)
        }
    }
}
