import Foundation
import Logging

extension LogLine {
    /// The line as bytes, with its line feed.
    func encoded(_ format: LogFormat) -> [UInt8] {
        switch format {
        case .json: encodedJSON()
        case .text: encodedText()
        }
    }

    private func encodedJSON() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        bytes += "{\"time\":\"".utf8
        bytes += Self.timestamp(time).utf8
        bytes += "\",\"level\":\"".utf8
        bytes += level.rawValue.utf8
        bytes += "\",\"service\":".utf8
        Self.appendQuoted(service, to: &bytes)
        if let logger {
            bytes += ",\"logger\":".utf8
            Self.appendQuoted(logger, to: &bytes)
        }
        bytes += ",\"message\":".utf8
        Self.appendQuoted(message, to: &bytes)
        for (name, value) in fields {
            bytes.append(UInt8(ascii: ","))
            Self.appendQuoted(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            switch value {
            case .text(let text): Self.appendQuoted(text, to: &bytes)
            case .literal(let text): bytes += text.utf8
            }
        }
        bytes += "}\n".utf8
        return bytes
    }

    private func encodedText() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes += Self.timestamp(time).utf8
        bytes.append(UInt8(ascii: " "))
        bytes += level.rawValue.uppercased().padding(toLength: 8, withPad: " ", startingAt: 0).utf8
        bytes.append(UInt8(ascii: " "))
        bytes += service.utf8
        if let logger { bytes += "/\(logger)".utf8 }
        bytes += ": ".utf8
        Self.appendEscaped(message, quotes: false, to: &bytes)
        for (name, value) in fields {
            bytes.append(UInt8(ascii: " "))
            Self.appendEscaped(name, quotes: false, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            switch value {
            case .literal(let text): bytes += text.utf8
            case .text(let text):
                let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x3D }
                if isPlain {
                    Self.appendEscaped(text, quotes: false, to: &bytes)
                } else {
                    Self.appendQuoted(text, to: &bytes)
                }
            }
        }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// RFC 3339 in UTC with milliseconds: `2026-11-21T03:34:37.123Z`.
    static func timestamp(_ time: timespec) -> String {
        var seconds = time.tv_sec
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))"
        let clock = "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
        return "\(date)-\(padded(Int(parts.tm_mday), 2))T\(clock).\(padded(Int(time.tv_nsec) / 1_000_000, 3))Z"
    }

    private static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        appendEscaped(text, quotes: true, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a text with control characters escaped, so that no value can forge a line; cut at the maximum.
    private static func appendEscaped(_ text: String, quotes: Bool, to bytes: inout [UInt8]) {
        var count = 0
        for scalar in text.unicodeScalars {
            let width = UTF8.width(scalar)
            count += width
            guard count <= textBytesMaximum else {
                bytes += "…".utf8
                return
            }
            switch scalar {
            case "\"" where quotes: bytes += "\\\"".utf8
            case "\\" where quotes: bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                bytes += "\\u".utf8
                let digits = String(scalar.value, radix: 16)
                bytes += (String(repeating: "0", count: 4 - digits.count) + digits).utf8
            default: bytes += String(scalar).utf8
            }
        }
    }
}
