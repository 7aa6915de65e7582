import HTTPTypes
import Hummingbird
import NIOCore

/// Answers of the API.
enum APIAnswer {
    /// An answer with JSON that is written already.
    static func json(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    /// An answer without a body.
    static func empty(_ status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status)
    }

    /// A JSON array of signed payloads: they need no escaping.
    static func list(_ signed: [String]) -> String {
        signed.isEmpty ? "[]" : "[\"\(signed.joined(separator: "\",\""))\"]"
    }
}
