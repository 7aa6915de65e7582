import Foundation
import Hummingbird
import HummingbirdCore
import Persistence
import ServiceRuntime

/// `GET /v1/settings`.
extension ListRoutes {
    /// Tells which server keys an app has, when each was used last, and what `countersign doctor` found.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func settings(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let answer = try await turns.take(for: caller) {
            SettingsAnswer(
                app: caller.app, keys: authenticator.serverKeys(app: caller.app),
                uses: try await stores.keyUses.uses(app: caller.app), doctor: try await stores.doctor.last())
        }
        return try ReadingAnswer.response(answer)
    }
}

/// What is in use: `SettingsInUse` in the OpenAPI document.
struct SettingsAnswer: Encodable, Sendable {
    /// `ServerKeyInUse`.
    struct Key: Encodable, Sendable {
        let name: String
        let fingerprint: String
        let scopes: [String]
        let isTest: Bool
        let lastUsedAt: Date?

        enum CodingKeys: String, CodingKey {
            case name, fingerprint, scopes
            case isTest = "test"
            case lastUsedAt = "last_used_at"
        }
    }

    /// `DoctorFindings`.
    struct Doctor: Encodable, Sendable {
        let lookedAt: Date
        let findings: [DoctorRemark]

        enum CodingKeys: String, CodingKey {
            case findings
            case lookedAt = "looked_at"
        }
    }

    let app: String
    let keys: [Key]
    let doctor: Doctor?

    init(app: String, keys: [ServerKey], uses: [String: Date], doctor: (remarks: [DoctorRemark], lookedAt: Date)?) {
        self.app = app
        self.keys = keys.map { key in
            Key(
                name: key.label, fingerprint: key.fingerprint, scopes: key.scopes.map(\.rawValue).sorted(),
                isTest: key.isTest, lastUsedAt: uses[key.fingerprint])
        }
        self.doctor = doctor.map { Doctor(lookedAt: $0.lookedAt, findings: $0.remarks) }
    }
}
