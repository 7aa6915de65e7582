import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The control API's first routes: whether it is ready, what to trust, and where Apple's hosts are.
struct Routes: Sendable {
    /// The root certificate of signed payloads, DER.
    let root: [UInt8]
    /// The root certificate of receipts, DER.
    let receiptRoot: [UInt8]
    /// Nil when nothing listens, as in tests of the routers.
    let addresses: ListenerAddresses?

    /// A router with these routes, and the group that the others add theirs to.
    func makeRouter() -> (Router<BasicRequestContext>, RouterGroup<BasicRequestContext>) {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        router.get("readyz") { _, _ in "ready\n" }
        let group = router.group("simulator/v1")
        group.get("root") { _, _ in Self.certificate(root) }
        group.get("receipt-root") { _, _ in Self.certificate(receiptRoot) }
        group.get("addresses") { _, _ in
            guard let addresses else { throw Problem(.notFound, "nothing listens") }
            return try ControlAnswer.encoded(addresses)
        }
        return (router, group)
    }

    private static func certificate(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/pkix-cert"],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
