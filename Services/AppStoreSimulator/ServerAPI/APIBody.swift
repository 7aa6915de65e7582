import Foundation
import Hummingbird
import NIOCore

/// Bodies of the API's requests.
enum APIBody {
    enum Limit {
        /// Bytes of a request's body.
        static let bytes = 65_536
    }

    /// The whole body; one that is longer than `maximum` bytes is refused as `error`.
    static func read(
        _ request: Request, maximum: Int = Limit.bytes, or error: any Error = APIError.generalBadRequest
    ) async throws -> Data {
        var body = Data()
        for try await part in request.body {
            body.append(contentsOf: part.readableBytesView)
            guard body.count <= maximum else { throw error }
        }
        return body
    }

    /// A JSON object as a type has it; everything else is refused as `error`.
    static func decode<Body: Decodable>(
        _ type: Body.Type, from request: Request, or error: APIError = .generalBadRequest
    ) async throws -> Body {
        let body = try await read(request, or: error)
        guard let value = try? JSONDecoder().decode(Body.self, from: body) else { throw error }
        return value
    }

    /// The fields of a JSON object.
    ///
    /// Fields are looked at one by one, since each has an error of its own.
    static func object(_ request: Request) async throws -> [String: JSONValue] {
        guard let fields = JSONValue(json: try await read(request))?.map else { throw APIError.generalBadRequest }
        return fields
    }
}
