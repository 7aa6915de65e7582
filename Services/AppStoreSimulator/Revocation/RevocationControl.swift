import Foundation
import Synchronization

/// What the responder says of certificates.
enum RevocationStatus: String, Codable, Sendable, CaseIterable {
    case good
    case revoked
    case unknown
}

/// How the responder behaves.
enum ResponderBehavior: String, Codable, Sendable, CaseIterable {
    /// Answers at once.
    case up
    /// Answers after ``RevocationSetting/Limit/delay``.
    case slow
    /// Breaks the connection off instead of answering.
    case unreachable
    /// Answers HTTP 503.
    case error
    /// Answers OCSP's `tryLater`.
    case tryLater
}

/// What the responder says, and how it behaves.
struct RevocationSetting: Sendable {
    enum Limit {
        /// How long a slow responder takes: longer than what clients wait for a good one, shorter than Apple's 30 s.
        static let delay = Duration.seconds(10)
    }

    var leaf = RevocationStatus.good
    var intermediate = RevocationStatus.good
    var responder = ResponderBehavior.up
    /// Since when something is revoked, in our own time.
    var revocationDate: Date?

    /// As the control API answers it.
    var json: String {
        var json = JSONText()
        json.add("leaf", leaf.rawValue)
        json.add("intermediate", intermediate.rawValue)
        json.add("responder", responder.rawValue)
        return json.object
    }
}

/// The setting, for everybody at once.
///
/// It is not kept over a restart: then all is good again.
final class RevocationControl: Sendable {
    /// Some of the settings: the body of `PUT /simulator/v1/revocation`.
    struct Change: Decodable, Sendable {
        let leaf: RevocationStatus?
        let intermediate: RevocationStatus?
        let responder: ResponderBehavior?
    }

    private let state = Mutex(RevocationSetting())

    var setting: RevocationSetting { state.withLock { $0 } }

    /// Changes what is given and returns all.
    func apply(_ change: Change, now: Date) -> RevocationSetting {
        state.withLock { setting in
            setting.leaf = change.leaf ?? setting.leaf
            setting.intermediate = change.intermediate ?? setting.intermediate
            setting.responder = change.responder ?? setting.responder
            let isRevoked = setting.leaf == .revoked || setting.intermediate == .revoked
            setting.revocationDate = isRevoked ? setting.revocationDate ?? now : nil
            return setting
        }
    }
}
