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
    static func object(_ request: Request) async throws -> [String: AnyJSON] {
        guard let fields = try? JSONDecoder().decode([String: AnyJSON].self, from: try await read(request)) else {
            throw APIError.generalBadRequest
        }
        return fields
    }
}

extension AnyJSON {
    var text: String? {
        if case .text(let value) = self { return value }
        return nil
    }

    var integer: Int64? {
        if case .integer(let value) = self { return value }
        return nil
    }

    var bool: Bool? {
        if case .bool(let value) = self { return value }
        return nil
    }

    var list: [AnyJSON]? {
        if case .list(let value) = self { return value }
        return nil
    }

    var isNull: Bool { self == .null }
}
