import ServiceRuntime

/// The API keys of an apps file, as `countersign key list` prints them.
struct KeyList {
    /// What stands for the apps where a key is good for every one.
    static let everyApp = "every app"

    struct Line: Encodable, Equatable {
        let name: String
        /// The first digits of its SHA-256.
        let fingerprint: String
        let scopes: [String]
        /// `sandbox` for a test key.
        let environment: String?
        /// Bundle ids.
        let apps: [String]
        /// Requests since the processes started that were asked; nil where none was.
        let uses: Int?
    }

    /// Sorted by name; the keys of one name as they are listed.
    let lines: [Line]
    private let appsCount: Int

    /// - Parameter pages: of the metrics of every receipt-intake; none where nobody asked for them.
    init(_ apps: AppsFile, pages: [MetricsPage]) {
        appsCount = apps.apps.count
        var order: [ServerKey] = []
        var owners: [ServerKey: [String]] = [:]
        for app in apps.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
            for key in app.authentication.serverKeys {
                if owners[key] == nil { order.append(key) }
                owners[key, default: []].append(app.bundleId)
            }
        }
        lines = order.enumerated().sorted { ($0.element.label, $0.offset) < ($1.element.label, $1.offset) }
            .map { _, key in
                let uses = pages.reduce(0.0) { sum, page in
                    sum
                        + page.samples("countersign_server_key_uses_total")
                        .filter { $0.labels["key"] == key.label && $0.labels["fingerprint"] == key.fingerprint }
                        .reduce(0) { $0 + $1.value }
                }
                return Line(
                    name: key.label, fingerprint: key.fingerprint,
                    scopes: ServerKey.Scope.allCases.filter(key.scopes.contains).map(\.rawValue),
                    environment: key.isTest ? "sandbox" : nil,
                    apps: owners[key] ?? [], uses: pages.isEmpty ? nil : Int(uses))
            }
    }

    /// A table, one line a key.
    var text: String {
        guard !lines.isEmpty else { return "there is no API key" }
        let hasUses = lines.contains { $0.uses != nil }
        let head = ["NAME", "KEY", "SCOPES", "APPS"] + (hasUses ? ["USES"] : [])
        let rows = lines.map { line in
            [
                line.name, line.fingerprint,
                line.scopes.joined(separator: ",") + (line.environment.map { " (\($0))" } ?? ""),
                line.apps.count == appsCount ? Self.everyApp : line.apps.joined(separator: ","),
            ] + (hasUses ? ["\(line.uses ?? 0)"] : [])
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        return ([head] + rows).map { row in
            let padded = zip(row, widths).dropLast().map { ToolOutput.padded($0, $1) }
            return (padded + row.suffix(1)).joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
