import Foundation
package import HTTPTypes
package import Hummingbird
package import HummingbirdCore
import NIOCore

/// An error as HTTP answers it: a problem document by RFC 9457, `application/problem+json`.
///
/// Throw one from a request handler to answer with it; everything in it is shown to the caller.
package struct ProblemDetails: Codable, Sendable, Equatable, HTTPResponseError {
    /// What the type of every problem begins with; the code follows, and intake serves a page there.
    ///
    /// The reference is relative to the address that was asked, as RFC 9457, 3.1.1 allows.
    package static let typePrefix = "/problems/"
    /// The content type of a problem document.
    package static let contentType = "application/problem+json"
    /// The members that every document may have, which no extension may be named like.
    static let definedMembers: Set<String> = ["type", "code", "title", "status", "detail", "instance"]

    /// The stable name of the kind of problem: lower case with hyphens.
    package var code: String
    /// A URI that names the kind of problem and never changes.
    package var type: String { Self.typePrefix + code }
    /// A short sentence, the same for every problem of the type.
    package var title: String
    /// The HTTP status.
    package var status: HTTPResponse.Status
    /// What happened this time.
    package var detail: String?
    /// A URI reference that names this occurrence.
    package var instance: String?
    /// Further members of the document.
    ///
    /// Those named like a defined member are left out.
    package var extensions: [String: String]
    /// Further headers of the answer, such as `Retry-After`; not part of the document.
    package var headers: HTTPFields = [:]

    /// Makes a problem.
    ///
    /// - Parameters:
    ///   - code: The last part of the type, lower case with hyphens: `unknown-app`.
    ///   - title: A short sentence, the same for every problem of this code.
    ///   - status: The HTTP status.
    ///   - detail: What happened this time.
    ///   - instance: A URI reference that names this occurrence.
    ///   - extensions: Further members of the document.
    package init(
        _ code: String, title: String, status: HTTPResponse.Status, detail: String? = nil, instance: String? = nil,
        extensions: [String: String] = [:]
    ) {
        self.code = code
        self.title = title
        self.status = status
        self.detail = detail
        self.instance = instance
        self.extensions = extensions
    }

    /// The problem that says no more than an HTTP status: 404 is `not-found`, "Not Found".
    package init(status: HTTPResponse.Status, detail: String? = nil) {
        let title = status.reasonPhrase.isEmpty ? "Status \(status.code)" : status.reasonPhrase
        let code = title.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" }
        self.init(String(code), title: title, status: status, detail: detail)
    }

    /// The same problem with one more header in its answer.
    package func with(header name: HTTPField.Name, _ value: String) -> ProblemDetails {
        var copy = self
        copy.headers[name] = value
        return copy
    }

    /// The document as an answer.
    package func response(from request: Request, context: some RequestContext) throws -> Response {
        try response()
    }

    /// The same without a request.
    ///
    /// - Throws: `EncodingError`.
    package func response() throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var fields = headers
        fields[.contentType] = Self.contentType
        return Response(
            status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: try encoder.encode(self)))
        )
    }
}

extension ProblemDetails {
    private struct Member: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads a document; extension members that are no text are left out.
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        code = try members.decodeIfPresent(String.self, forKey: Member(stringValue: "code")) ?? ""
        title = try members.decodeIfPresent(String.self, forKey: Member(stringValue: "title")) ?? ""
        // Only three digits make a status; Status(code:) traps on anything else.
        let number = try members.decodeIfPresent(Int.self, forKey: Member(stringValue: "status")) ?? 0
        status = (100...999).contains(number) ? HTTPResponse.Status(code: number) : .internalServerError
        detail = try members.decodeIfPresent(String.self, forKey: Member(stringValue: "detail"))
        instance = try members.decodeIfPresent(String.self, forKey: Member(stringValue: "instance"))
        extensions = [:]
        for member in members.allKeys where !Self.definedMembers.contains(member.stringValue) {
            guard let text = try? members.decode(String.self, forKey: member) else { continue }
            extensions[member.stringValue] = text
        }
    }

    /// Writes the document.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(type, forKey: Member(stringValue: "type"))
        try members.encode(code, forKey: Member(stringValue: "code"))
        try members.encode(title, forKey: Member(stringValue: "title"))
        try members.encode(status.code, forKey: Member(stringValue: "status"))
        try members.encodeIfPresent(detail, forKey: Member(stringValue: "detail"))
        try members.encodeIfPresent(instance, forKey: Member(stringValue: "instance"))
        for (name, value) in extensions where !Self.definedMembers.contains(name) {
            try members.encode(value, forKey: Member(stringValue: name))
        }
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// Status, title and detail, for logs.
    package var description: String {
        "\(status.code) \(title)\(detail.map { ": \($0)" } ?? "")"
    }
}
