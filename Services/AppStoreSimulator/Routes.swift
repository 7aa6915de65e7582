import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The simulator's HTTP interface; what it does is in ``SalesDesk`` and ``ForgeryWorkshop``.
struct Routes: Sendable {
    let desk: SalesDesk
    let workshop: ForgeryWorkshop
    /// The root certificate in DER.
    let root: [UInt8]

    /// A router with every route.
    func makeRouter() -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        router.get("readyz") { _, _ in "ready\n" }
        router.get("simulator/v1/root") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/pkix-cert"],
                body: .init(byteBuffer: ByteBuffer(bytes: root)))
        }
        router.post("simulator/v1/sales") { request, _ in
            let sale = try Self.decode(SaleRequest.self, try await Self.body(of: request)).sale()
            let sold = try await desk.sell(sale, now: Date())
            var json = JSONText()
            json.add("transactions", json: "[\(sold.map(\.json).joined(separator: ","))]")
            return Self.answer(json)
        }
        router.get("simulator/v1/forgeries") { _, _ in
            var json = JSONText()
            json.add("kinds", json: "[\(ForgeryKind.allCases.map(Self.describe).joined(separator: ","))]")
            return Self.answer(json)
        }
        router.post("simulator/v1/forgeries") { request, _ in
            try await forge(try Self.decode(ForgeryRequest.self, try await Self.body(of: request)))
        }
        return router
    }

    private func forge(_ request: ForgeryRequest) async throws -> Response {
        guard let kind = ForgeryKind(rawValue: request.kind) else {
            let names = ForgeryKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.badRequest, "kind: one of \(names)")
        }
        let sale = try request.sale.sale()
        guard sale.count == 1 else { throw Problem(.badRequest, "count: forgeries are made one at a time") }
        let id = try await desk.identifiers.take(1).lowerBound
        let forged = try workshop.forge(kind, sale: sale, transactionId: id, now: Date())
        var json = JSONText()
        json.add("kind", kind.rawValue)
        json.add("expectedRejection", kind.expectedRejection)
        json.add("transactionId", String(id))
        json.add("signedTransaction", forged)
        return Self.answer(json)
    }

    private static func describe(_ kind: ForgeryKind) -> String {
        var json = JSONText()
        json.add("kind", kind.rawValue)
        json.add("expectedRejection", kind.expectedRejection)
        return json.object
    }

    private static func answer(_ json: JSONText) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(string: json.object)))
    }

    private static func body(of request: Request) async throws -> Data {
        var body = Data()
        for try await part in request.body {
            body.append(contentsOf: part.readableBytesView)
            guard body.count <= SaleRequest.Limit.bodyBytes else {
                throw Problem(.contentTooLarge, "a body has at most \(SaleRequest.Limit.bodyBytes) bytes")
            }
        }
        return body
    }

    private static func decode<Body: Decodable>(_ type: Body.Type, _ data: Data) throws(Problem) -> Body {
        do {
            return try JSONDecoder().decode(Body.self, from: data)
        } catch DecodingError.keyNotFound(let key, _) {
            throw Problem(.badRequest, "\(key.stringValue): missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw Problem(.badRequest, "\(context.codingPath.last?.stringValue ?? "the body"): of the wrong type")
        } catch {
            throw Problem(.badRequest, "the body is not a JSON object that can be read")
        }
    }
}
