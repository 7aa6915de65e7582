import Foundation
import Hummingbird
import NIOCore

/// Bodies of the API's requests.
enum APIBody {
    enum Limit {
        /// Bytes of a request's body; retention messaging's images have their own.
        static let bytes = 65_536
    }

    /// The whole body.
    ///
    /// - Throws: ``APIError`` when it is longer than `maximum` bytes.
    static func read(_ request: Request, maximum: Int = Limit.bytes) async throws -> Data {
        var body = Data()
        for try await part in request.body {
            body.append(contentsOf: part.readableBytesView)
            guard body.count <= maximum else { throw APIError.generalBadRequest }
        }
        return body
    }

    /// The fields of a JSON object.
    ///
    /// Fields are looked at one by one, since each has an error of its own.
    static func object(_ request: Request) async throws -> [String: JSONValue] {
        guard let fields = JSONValue(json: try await read(request))?.map else { throw APIError.generalBadRequest }
        return fields
    }
}
