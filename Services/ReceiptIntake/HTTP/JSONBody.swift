import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceRuntime

/// Reads the JSON body of a request, and says exactly what is wrong with a bad one.
struct JSONBody: Sendable {
    /// How deep a body may nest; ours are flat, and unknown fields are passed over.
    static let nestingMaximum = 16

    /// The most bytes of a body.
    let bytesMaximum: Int

    /// The value in a request's body; unknown fields are ignored.
    ///
    /// - Throws: `ProblemDetails`.
    func decode<Value: Decodable>(_ type: Value.Type, from request: Request) async throws -> Value {
        guard Self.isJSON(request.headers[.contentType]) else { throw ProblemDetails.contentTypeUnsupported }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bytesMaximum {
            throw ProblemDetails.bodyTooLarge(bytesMaximum: bytesMaximum)
        }
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: bytesMaximum)
        } catch is NIOTooManyBytesError {
            throw ProblemDetails.bodyTooLarge(bytesMaximum: bytesMaximum)
        }
        return try Self.decode(type, from: Array(buffer.readableBytesView))
    }

    /// The value that bytes mean.
    ///
    /// - Throws: `ProblemDetails`.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ProblemDetails.bodyMalformed("It is not UTF-8 text.")
        }
        guard isShallow(bytes) else {
            throw ProblemDetails.bodyMalformed("It nests deeper than \(nestingMaximum) levels.")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw problem(for: error)
        }
    }

    private static func problem(for error: DecodingError) -> ProblemDetails {
        switch error {
        case .keyNotFound(let key, _):
            return .fieldMissing(key.stringValue)
        case .valueNotFound(_, let context):
            return context.codingPath.last.map { .fieldMissing($0.stringValue) }
                ?? .bodyMalformed("It is no JSON object.")
        case .typeMismatch(_, let context):
            return context.codingPath.first.map { .fieldInvalid($0.stringValue, "a text") }
                ?? .bodyMalformed("It is no JSON object.")
        default:
            return .bodyMalformed("It is not JSON.")
        }
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        let essence = contentType?.prefix { $0 != ";" && $0 != "," } ?? ""
        return essence.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
    }

    /// Counts brackets outside of strings, so that no decoder has to go deep to find out.
    static func isShallow(_ bytes: [UInt8]) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                if byte == UInt8(ascii: "\\") { isEscaped = true }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
                if depth > nestingMaximum { return false }
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
            }
        }
        return true
    }
}
