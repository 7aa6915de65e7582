import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// What everybody may read without credentials: made once, and handed out as it is.
struct PublicDocument: Sendable {
    /// For how many seconds a cache may keep it.
    static let cacheSeconds = 300

    private let bytes: ByteBuffer
    private let contentType: String

    init(_ bytes: [UInt8], contentType: String) {
        self.bytes = ByteBuffer(bytes: bytes)
        self.contentType = contentType
    }

    /// Its answer; the bytes are shared by all.
    var response: Response {
        Response(
            status: .ok, headers: [.contentType: contentType, .cacheControl: "public, max-age=\(Self.cacheSeconds)"],
            body: ResponseBody(byteBuffer: bytes))
    }
}
