import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The OCSP responder over HTTP (RFC 6960, appendix A), and what the control API does to it.
struct RevocationRoutes: Sendable {
    enum Limit {
        /// Bytes of a request to the responder; one about a single certificate has 80 to 150.
        static let requestBytes = 4_096
    }

    /// The responder's path; ``address(host:port:)`` is what certificates name.
    static let path = "/simulator/ocsp"

    private static let contentType = "application/ocsp-response"

    private let responder: OCSPResponder
    private let control: RevocationControl
    private let clock: VirtualClock

    init(authority: CertificateAuthority, clock: VirtualClock, control: RevocationControl = RevocationControl()) {
        responder = OCSPResponder(authority: authority)
        self.control = control
        self.clock = clock
    }

    /// What certificates name as their responder, when the control API listens on a port of this machine.
    ///
    /// - Parameter host: where it listens. An IPv6 address is named as it is, `::` as `::1`; all else is 127.0.0.1.
    static func address(host: String = "127.0.0.1", port: Int) -> String {
        let name = host == "::" ? "[::1]" : host.contains(":") ? "[\(host)]" : "127.0.0.1"
        return "http://\(name):\(port)\(path)"
    }

    /// `revocation` under `/simulator/v1`.
    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("revocation") { _, _ in ControlAnswer.json(control.setting.json) }
        group.put("revocation") { request, _ in
            let change: RevocationControl.Change
            do {
                change = try await ControlBody.decode(RevocationControl.Change.self, from: request)
            } catch let problem as Problem where problem.status == .badRequest {
                let statuses = RevocationStatus.allCases.map(\.rawValue).joined(separator: ", ")
                let behaviors = ResponderBehavior.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(
                    .badRequest, "\(problem.detail) (leaf, intermediate: \(statuses); responder: \(behaviors))")
            }
            return ControlAnswer.json(control.apply(change, now: now).json)
        }
    }

    /// The responder itself, beside the control API.
    func addResponder(to router: Router<BasicRequestContext>) {
        router.post(RouterPath(Self.path)) { request, _ in
            try await respond(to: [UInt8](try await ControlBody.bytes(of: request, maximum: Limit.requestBytes)))
        }
    }

    private var now: Date { Date(timeIntervalSince1970: Double(clock.realNow) / 1_000) }

    private func respond(to request: [UInt8]) async throws -> Response {
        let setting = control.setting
        switch setting.responder {
        case .unreachable:
            await RequestConnection.current?.reset()
            throw Problem(.serviceUnavailable, "the responder is told to break off")
        case .error:
            throw Problem(.serviceUnavailable, "the responder is told to fail")
        case .slow:
            try await Task.sleep(for: RevocationSetting.Limit.delay)
        case .up, .tryLater: break
        }
        return answer(responder.answer(request, setting: setting, now: now))
    }

    private func answer(_ bytes: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: Self.contentType], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
