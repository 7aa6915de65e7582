import Foundation
import Hummingbird
import HummingbirdCore

/// `faults` of the control API: what misbehaves, how often it did, and an end to it.
struct FaultRoutes: Sendable {
    let book: FaultBook

    /// The body of PUT and POST.
    private struct Body: Decodable {
        var rules: [FaultRule]?
        var notifications: NotificationFaults?
    }

    func addRoutes(to router: RouterGroup<BasicRequestContext>) {
        router.get("faults") { _, _ in try answer() }
        router.put("faults") { request, _ in
            let body = try Self.decode(try await ControlBody.bytes(of: request))
            try book.replace(rules: body.rules ?? [], notifications: body.notifications ?? NotificationFaults())
            return try answer()
        }
        router.post("faults") { request, _ in
            let body = try Self.decode(try await ControlBody.bytes(of: request))
            guard body.rules != nil || body.notifications != nil else {
                throw Problem(.badRequest, "rules: missing; or else notifications")
            }
            try book.add(rules: body.rules ?? [], notifications: body.notifications)
            return try answer()
        }
        router.delete("faults") { _, _ in
            book.clear()
            return try answer()
        }
    }

    private func answer() throws -> Response {
        try ControlAnswer.encoded(book.report)
    }

    /// Reads a body; every error names the place, such as `rules[2].fault.ms`.
    private static func decode(_ data: Data) throws -> Body {
        let data = data.isEmpty ? Data("{}".utf8) : data
        do {
            _ = try JSONDecoder().decode(FaultFields.self, from: data)
            return try JSONDecoder().decode(Body.self, from: data)
        } catch let problem as Problem {
            throw problem
        } catch DecodingError.keyNotFound(let key, let context) {
            throw Problem(.badRequest, "\((context.codingPath + [key]).fieldName): missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw Problem(.badRequest, "\(context.codingPath.fieldName): of the wrong type")
        } catch DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty {
            throw Problem(.badRequest, "\(context.codingPath.fieldName): not a value it may have")
        } catch {
            throw Problem(.badRequest, "the body is not a JSON object that can be read")
        }
    }
}
