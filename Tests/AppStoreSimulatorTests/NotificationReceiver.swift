import Foundation
import ServerTesting

/// A developer's server that answers as it is told, byte for byte.
typealias NotificationReceiver = AnsweringServer

extension AnsweringServer.Request {
    var signedPayload: String? {
        struct Body: Decodable { let signedPayload: String }
        return try? JSONDecoder().decode(Body.self, from: Data(body)).signedPayload
    }
}
