import AppStore
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Messages
import Metrics
import NIOCore
import PurchaseModel
import ServiceRuntime

/// `POST /v1/notifications`: what Apple's servers tell, to whoever is at the address in App Store Connect.
///
/// There are no credentials: the signature inside is the only one. It is checked before anything is written down, and the
/// verification workers check all that the notification says.
struct NotificationRoutes: Sendable {
    let authenticator: Authenticator
    let signatures: NotificationSignatures
    let submissions: NotificationSubmissions
    let body: JSONBody
    /// From the head of a request to the end of its body.
    let bodyTime: Duration
    /// The notifications of one network that are being read.
    let networks: NetworkPlaces

    /// What Apple is answered; it reads the status only.
    struct NotificationAnswer: Encodable {
        let id: String
    }

    /// Takes a notification; 200 once it is on disk, and each time that the same one comes again.
    ///
    /// - Throws: `ProblemDetails` of a status after which Apple comes again, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        do {
            return try await take(request, context)
        } catch let problem as ProblemDetails {
            throw problem.forApple
        } catch is IntakeOverloadedError {
            // Whoever floods this route fills queues that are its own; no purchase is turned away.
            throw ProblemDetails.notificationsPutOff
        }
    }

    @inline(never)
    private func take(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let posted = try await self.posted(in: request, context)
        guard case .signed(let signedPayload) = posted else {
            note(refused: "version_1", context)
            throw ProblemDetails.notificationVersion1(posted)
        }
        let notification: ServerNotification
        switch await signatures.read(signedPayload) {
        case .success(let read): notification = read
        case .failure(.malformed): throw ProblemDetails.notificationMalformed
        case .failure(.nameless):
            note(refused: RejectionCode.bundleIdMissing.rawValue, context)
            throw ProblemDetails.notificationMalformed
        case .failure(.busy): throw IntakeOverloadedError()
        case .failure(.notGenuine(let rejection)):
            note(refused: rejection.code.rawValue, context)
            throw ProblemDetails.notificationNotGenuine(rejection)
        }
        guard authenticator.knows(app: notification.app) else { throw ProblemDetails.notificationAppUnknown }
        let accepted = try await submissions.accept(notification, correlationId: context.correlationId)
        Counter(
            label: "countersign_notifications_total", dimensions: [("result", accepted.isNew ? "new" : "repeated")]
        ).increment()
        context.logger.debug("took a notification", metadata: .fields([.submission: "\(accepted.id)"]))
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(
                byteBuffer: ByteBuffer(bytes: try MessageCoding.encode(NotificationAnswer(id: accepted.id)))))
    }
}

extension NotificationRoutes {
    /// Counts what is refused; a line of the log for each would be a flood of anybody's.
    private func note(refused reason: String, _ context: IntakeContext) {
        Counter(label: "countersign_notifications_refused_total", dimensions: [("reason", reason)]).increment()
        context.logger.debug("a notification was refused", metadata: .fields([.reason: "\(reason)"]))
    }

    /// What is posted, if it comes in time.
    ///
    /// Anybody may post, so that who drips bodies gets little: a time that is far shorter than that of other requests, and few
    /// bodies at a time.
    @inline(never)
    private func posted(in request: Request, _ context: IntakeContext) async throws -> NotificationRequest {
        guard let place = networks.enter(context.client) else {
            RequestsLimited.count("address_notifications", .refused)
            throw IntakeOverloadedError()
        }
        defer { place.leave() }
        return try await withThrowingTaskGroup(of: NotificationRequest?.self) { group in
            // Apple does not document its content type, and a wrong one is no reason to lose what it tells.
            group.addTask {
                try await body.decode(NotificationRequest.self, from: request, requiresContentType: false)
            }
            group.addTask {
                try await Task.sleep(for: bodyTime)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let posted = first else {
                RequestsLimited.count("notification_time", .refused)
                throw ProblemDetails.bodyTooSlow(bodyTime)
            }
            return posted
        }
    }
}

extension ProblemDetails {
    /// 408, after which Apple comes again; what is left of the body is not read.
    static func bodyTooSlow(_ time: Duration) -> ProblemDetails {
        ProblemDetails(.bodyTooSlow, "The body of a notification may take \(time).").with(header: .connection, "close")
    }

    /// 503, after which Apple comes again; not `overloaded`, which operators are called for at night.
    static let notificationsPutOff = ProblemDetails(
        .notificationsPutOff, "Nothing is lost: post the same notification again.",
        retryAfterSeconds: overloadRetryAfterSeconds)

    static let notificationMalformed = ProblemDetails(
        .proofMalformed,
        "`signedPayload` must be a notification of version 2: three parts of base64url, whose payload names a bundleId.",
        field: "signedPayload"
    ).forApple

    /// 400, after which Apple comes again, as version 1 or, once somebody has chosen that, as version 2.
    static func notificationVersion1(_ posted: NotificationRequest) -> ProblemDetails {
        var extensions: [String: String] = [:]
        if case .version1(let environment?) = posted { extensions["environment"] = environment.rawValue }
        return ProblemDetails(
            .notificationVersionOne,
            "It is not signed, so nothing of it is kept. In App Store Connect, at App Information, App Store "
                + "Server Notifications, choose Version 2 for this address: production and sandbox have one setting each.",
            extensions: extensions)
    }

    /// 400, after which Apple comes again: if it was Apple's, somebody has forgotten its root in the settings.
    static func notificationNotGenuine(_ rejection: SignedDataRejection) -> ProblemDetails {
        ProblemDetails(
            .notificationNotGenuine, "Its signature or its certificates were refused.",
            extensions: ["reason": rejection.code.rawValue])
    }

    /// The same with a status after which Apple comes again: it says so of 40x and 50x alone, and of 413 and 422 only that
    /// they are no success.
    ///
    /// Source: developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications.
    fileprivate var forApple: ProblemDetails {
        guard ![40, 50].contains(status.code / 10) else { return self }
        var problem = self
        problem.status = .badRequest
        return problem
    }

    /// 404, after which Apple comes again for six days: time to list an app that was forgotten.
    static let notificationAppUnknown = ProblemDetails(
        .notificationAppUnknown, "No app with the notification's bundle id is configured here.")
}
