import AppStore
import Foundation

/// A reason for which Apple's library and our verifier judge a mutant differently.
///
/// `Tests/AppleLibrary/README.md` says of each, by its name, why it is so and stays so.
struct MutationDifference: Sendable {
    /// A mutant and what both said of it.
    struct Finding {
        let mutant: Mutant
        let ours: MutationVerdict
        let theirs: MutationVerdict

        /// Our code; nil when we accepted.
        var code: RejectionCode? { ours.refusal.map { RejectionCode(rawValue: $0) } }

        /// What our refusal says besides its code.
        var detail: String? {
            if case .refused(_, let detail) = ours { detail } else { nil }
        }

        func isOf(_ families: Mutant.Family...) -> Bool { families.contains(mutant.family) }
        /// Whether the library refused for a reason that begins or goes on like this.
        func theySay(_ parts: String...) -> Bool {
            guard let refusal = theirs.refusal else { return false }
            return parts.contains { refusal.contains($0) }
        }
        func says(_ parts: String...) -> Bool { parts.contains { mutant.what.contains($0) } }
    }

    let name: String
    let explains: @Sendable (Finding) -> Bool

    init(_ name: String, _ explains: @escaping @Sendable (Finding) -> Bool) {
        self.name = name
        self.explains = explains
    }

    /// What we accept and Apple's library refuses: as few as can be.
    static let accepted = [
        MutationDifference("no-environment") {
            guard case .accepted(let reading) = $0.ours, $0.theySay("INVALID_ENVIRONMENT") else { return false }
            return reading.values["rawEnvironment"] == nil
                && [.transaction, .renewalInfo].contains($0.mutant.kind)
        },
        MutationDifference("app-inside") {
            $0.ours.isAccepted && $0.mutant.kind == .notification && $0.says("data.bundleId")
                && $0.theySay("INVALID_APP_IDENTIFIER")
        },
        MutationDifference("unreadable-detail") {
            guard case .accepted(let reading) = $0.ours else { return false }
            return !reading.unreadable.isEmpty && $0.theySay("ClassValidationError")
        },
        MutationDifference("deep-nesting") {
            $0.isOf(.json) && $0.ours.isAccepted && $0.says("lists deep") && $0.theySay("recursion depth")
        },
        MutationDifference("jwt-claims") {
            $0.isOf(.json) && $0.says("claim ") && $0.theySay("VERIFICATION_FAILURE")
        },
        MutationDifference("strict-authority") {
            $0.isOf(.chain)
                && $0.theySay("Key Identifier", "local issuer certificate", "without key usage keyCertSign")
        },
        MutationDifference("critical-marker") {
            $0.isOf(.chain) && $0.says("the leaf's marker critical") && $0.theySay("unhandled critical extension")
        },
    ]

    /// What we refuse and Apple's library accepts; the first that fits counts.
    static let refused =
        [
            MutationDifference("base64-padding") {
                $0.isOf(.spelling) && $0.code == .notAJWS && $0.says("padded", "\"==\" at the end")
            },
            MutationDifference("root-in-x5c") {
                $0.isOf(.certificateByte, .certificateList, .header) && $0.mutant.hasGoodLeafAndIntermediate
                    && [.rootNotTrusted, .certificateInvalid, .chainInvalid].contains($0.code)
            },
            MutationDifference("certificate-spelling") { $0.isOf(.certificateList) && $0.code == .certificateInvalid },
            MutationDifference("critical-extension") {
                $0.isOf(.chain) && $0.code == .chainInvalid && $0.says(", critical")
            },
            MutationDifference("leaf-authority") {
                $0.isOf(.chain) && $0.code == .chainInvalid
                    && $0.says("leaf: the other authority", "leaf: an authority")
            },
            MutationDifference("header-crit") { $0.isOf(.header) && $0.code == .headerInvalid && $0.says("\"crit\"") },
            MutationDifference("json-text") {
                ($0.isOf(.header) && $0.code == .headerInvalid
                    || $0.isOf(.json, .field) && $0.code == .payloadUnreadable
                    || $0.isOf(.field) && $0.code == .fieldInvalid && $0.says("twice"))
                    && $0.mutant.isStrangeJSON
            },
            MutationDifference("signed-date") {
                $0.isOf(.field, .jsonByte) && $0.code == .payloadUnreadable && $0.detail?.contains("Date") ?? false
            },
        ] + contents

    private static let contents = [
        MutationDifference("nested") {
            $0.mutant.kind == .notification
                && ($0.isOf(.nested) || $0.says("data.signed", "appData.signed")
                    || $0.code == .nestedEnvironmentMismatch)
        },
        MutationDifference("two-contents") { $0.isOf(.json) && $0.code == .notificationContent },
        MutationDifference("needed-field") {
            $0.isOf(.field, .jsonByte)
                && [.fieldMissing, .bundleIdMissing, .notATransaction, .notANotification].contains($0.code)
        },
        MutationDifference("field-type") { $0.isOf(.field, .jsonByte) && $0.code == .fieldInvalid },
        MutationDifference("other-subscription") {
            $0.isOf(.field, .jsonByte) && $0.mutant.kind == .renewalInfo && $0.code == .renewalInfoMismatch
        },
        MutationDifference("other-kind") { $0.isOf(.otherKind) && $0.code == .notRenewalInfo },
    ]
}

extension Mutant {
    /// Whether the first two of `x5c` are as they were, so that only the root's place differs.
    fileprivate var hasGoodLeafAndIntermediate: Bool {
        let parts = [base.jws, jws].map { $0.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)[0] }
        let texts = parts.map { String(decoding: MutationText.decoded($0) ?? [], as: UTF8.self) }
        let certificates = texts[0].split(separator: "\"").filter { $0.utf8.count > 100 }
        guard certificates.count == 3 else { return false }
        return certificates[..<2].allSatisfy { texts[1].contains($0) }
    }

    /// Whether it was made to be JSON that Python reads and RFC 8259, or a limit of ours, does not allow.
    fileprivate var isStrangeJSON: Bool {
        [
            "twice", "NaN", "infinity", "beyond doubles", "1e999", "huge number", "long number", "NUL", "u0000",
            "surrogate", "ud800", "UTF-16", "UTF-32", "byte order mark", "50 lists deep", "\"alg\":\"ES256\"",
        ].contains { what.contains($0) }
    }
}
