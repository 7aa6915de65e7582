import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// What a service says of itself at its admin port, `GET /metrics`.
///
/// Source: the text exposition format 0.0.4 of Prometheus.
struct MetricsPage: Sendable {
    private enum Limit {
        static let timeout = TimeAmount.seconds(5)
        /// 4,000 series of 250 bytes have a quarter of it.
        static let bytes = 4 << 20
    }

    struct Sample: Sendable, Equatable {
        let labels: [String: String]
        let value: Double
    }

    private let lines: [Substring]

    init(_ text: String) {
        lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    }

    /// Asks a service.
    ///
    /// - Parameter base: the address of its admin port.
    /// - Throws: `ToolFailure`.
    static func fetch(_ base: String) async throws(ToolFailure) -> MetricsPage {
        do {
            let answer = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: "\(base)/metrics"), timeout: Limit.timeout)
            let body = try await answer.body.collect(upTo: Limit.bytes)
            guard answer.status == .ok else { throw ToolFailure("it answers with \(answer.status.code)") }
            return MetricsPage(String(decoding: body.readableBytesView, as: UTF8.self))
        } catch {
            throw ToolFailure("\(base) does not tell its metrics: \(error)")
        }
    }

    /// The series of a name.
    func samples(_ name: String) -> [Sample] {
        lines.compactMap { line in
            let rest = line.dropFirst(name.count)
            guard line.hasPrefix(name), rest.first == " " || rest.first == "{",
                let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...])
            else { return nil }
            return Sample(labels: rest.first == "{" ? Self.labels(rest.dropFirst()) : [:], value: value)
        }
    }

    /// Reads `a="b",c="d"} …`.
    private static func labels(_ text: Substring) -> [String: String] {
        var labels: [String: String] = [:]
        var rest = text
        while let equals = rest.firstIndex(of: "="), rest.first != "}" {
            let name = String(rest[..<equals])
            rest = rest[equals...].dropFirst(2)
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\", let escaped = rest.popFirst() else {
                    value.append(character)
                    continue
                }
                value.append(escaped == "n" ? "\n" : escaped)
            }
            labels[name] = value
            if rest.first == "," { rest = rest.dropFirst() }
        }
        return labels
    }
}
