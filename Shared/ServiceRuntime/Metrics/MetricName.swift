/// Names and labels as the Prometheus text format wants them.
enum MetricName {
    /// A metric's name from a swift-metrics label: what is not `[a-zA-Z0-9_:]` becomes `_`, and the kind's ending is
    /// appended unless it is there.
    static func metric(_ label: String, ending: String = "") -> String {
        let name = sanitized(label, allowsColon: true)
        return name.hasSuffix(ending) ? name : name + ending
    }

    /// Labels from swift-metrics dimensions, sorted by name; a later duplicate wins.
    static func labels(_ dimensions: [(String, String)]) -> [MetricLabel] {
        guard !dimensions.isEmpty else { return [] }
        var labels: [MetricLabel] = []
        labels.reserveCapacity(dimensions.count)
        for (name, value) in dimensions {
            var name = sanitized(name, allowsColon: false)
            // `le` names a histogram's buckets.
            if name == "le" || name.hasPrefix("__") { name = "exported_\(name)" }
            if let index = labels.firstIndex(where: { $0.name == name }) {
                labels[index].value = value
            } else {
                labels.append(MetricLabel(name: name, value: value))
            }
        }
        labels.sort { $0.name < $1.name }
        return labels
    }

    private static func sanitized(_ text: String, allowsColon: Bool) -> String {
        func isAllowed(_ byte: UInt8, first: Bool) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): !first
            case UInt8(ascii: ":"): allowsColon
            default: false
            }
        }
        let bytes = text.utf8
        guard let first = bytes.first else { return "_" }
        if isAllowed(first, first: true), bytes.allSatisfy({ isAllowed($0, first: false) }) { return text }
        var name = String(decoding: bytes.map { isAllowed($0, first: false) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        if !isAllowed(name.utf8[name.utf8.startIndex], first: true) { name = "_" + name }
        return name
    }
}

/// One label of a series.
struct MetricLabel: Hashable, Sendable {
    var name: String
    var value: String
}
