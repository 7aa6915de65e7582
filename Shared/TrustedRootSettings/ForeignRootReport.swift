package import AppStore
package import Logging
package import ServiceRuntime

/// Tells of roots that are not Apple's, where they are allowed: a line at the start, and a gauge from then on.
package enum ForeignRootReport {
    /// The gauge's name.
    package static let gauge = "countersign_foreign_roots"
    /// The label of Xcode's certificates, which is there only where they are taken.
    package static let xcodeUse = "xcode"

    /// To be given to `PrometheusMetrics.describe(_:)`.
    package static let families: [MetricFamily] = [
        .gauge(
            "countersign_foreign_roots", ["use"],
            help: "Trusted roots that are not Apple's, by what they may sign: signed_data, receipts or xcode.")
    ]

    /// Tells what a process trusts.
    ///
    /// - Parameters:
    ///   - roots: all lists that it has.
    ///   - xcode: Xcode's certificates that it takes.
    package static func tell(
        _ roots: [RootUse: TrustedRoots], xcode: TrustedRoots? = nil, metrics: PrometheusMetrics, logger: Logger
    ) {
        for (use, roots) in roots.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for root in roots.foreign.sorted() {
                logger.warning(
                    "a root that is not Apple's is trusted: whoever has its key can make purchases",
                    metadata: .fields([.root: "\(root)", .reason: "\(use.variable)"]))
            }
        }
        for certificate in (xcode?.fingerprints ?? []).sorted() {
            logger.warning(
                "DEVELOPMENT SERVER: purchases that Xcode signs are taken, and nobody paid for them",
                metadata: .fields([.root: "\(certificate)", .reason: "\(TrustedRootSettings.xcodeVariable)"]))
        }
        var samples = roots.map { use, roots in
            GaugeSample("countersign_foreign_roots", labels: [("use", use.rawValue)], Double(roots.foreign.count))
        }
        if let xcode {
            samples.append(
                GaugeSample(
                    "countersign_foreign_roots", labels: [("use", xcodeUse)], Double(xcode.fingerprints.count)))
        }
        let told = samples
        metrics.onScrape { told }
    }
}
