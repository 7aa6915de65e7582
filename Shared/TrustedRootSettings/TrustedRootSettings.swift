package import AppStore
package import ServiceRuntime

/// Reads whom a process believes.
package enum TrustedRootSettings {
    /// Whether a process starts with a root that is not Apple's.
    package enum ForeignRoots: String, Sendable, CaseIterable {
        case refused, allowed
    }

    /// The variable that allows foreign roots.
    package static let foreignVariable = "COUNTERSIGN_TRUSTED_FOREIGN_ROOTS"

    /// The roots that are set for a use, or Apple's.
    ///
    /// - Throws: `SettingError`; ``ForeignRootError`` for a root that is not Apple's, unless such are allowed.
    package static func trusted(_ settings: SettingReader, for use: RootUse) throws -> TrustedRoots {
        let roots = try configured(settings, for: use)
        // `allowed`: a root that is not Apple's may be trusted
        let foreignRoots: ForeignRoots = try settings.choice("trusted.foreign_roots", default: .refused)
        if foreignRoots == .refused, let root = roots.foreign.min() { throw ForeignRootError(use: use, root: root) }
        return roots
    }

    /// The variable with Xcode's certificates.
    package static let xcodeVariable = "COUNTERSIGN_XCODE_CERTIFICATES"

    /// The certificates of Xcode whose transactions a development server takes; nil where none is set.
    ///
    /// A server takes what Xcode signs or what Apple signs, and never both: nobody can switch it on where real purchases
    /// are taken.
    ///
    /// - Throws: `SettingError`; ``XcodeCertificateError`` where a root of Apple's is trusted, or foreign ones are refused.
    package static func xcode(_ settings: SettingReader) throws -> TrustedRoots? {
        guard let certificates = try configuredXcode(settings) else { return nil }
        let foreignRoots: ForeignRoots = try settings.choice("trusted.foreign_roots", default: .refused)
        guard foreignRoots == .allowed else { throw XcodeCertificateError(reason: .foreignRootsRefused) }
        for use in RootUse.allCases where try trustsApple(settings, for: use) {
            throw XcodeCertificateError(reason: .appleTrusted(use))
        }
        return certificates
    }

    /// The same, whatever else is set: to be looked at.
    ///
    /// - Throws: `SettingError`.
    package static func configuredXcode(_ settings: SettingReader) throws(SettingError) -> TrustedRoots? {
        // development servers: SHA-256 fingerprints of certificates of Xcode whose signed transactions are taken, as
        // the sandbox's; refuses the start where a root of Apple's is trusted
        let fingerprints = try settings.stringList("xcode.certificates")
        guard !fingerprints.isEmpty else { return nil }
        do {
            return try TrustedRoots(fingerprints: fingerprints)
        } catch {
            throw SettingError.invalid(
                "xcode.certificates", expected: "SHA-256 fingerprints of 64 hexadecimal digits", found: nil)
        }
    }

    private static func trustsApple(_ settings: SettingReader, for use: RootUse) throws(SettingError) -> Bool {
        let roots = try configured(settings, for: use)
        return roots.foreign != roots.fingerprints
    }

    /// The roots that are set for a use, or Apple's, whosesoever they are: to be looked at, not to be trusted.
    ///
    /// - Throws: `SettingError`.
    package static func configured(_ settings: SettingReader, for use: RootUse) throws(SettingError) -> TrustedRoots {
        let fingerprints = try settings.stringList(use.key)
        var roots = use.appleRoots
        do {
            if !fingerprints.isEmpty { roots = try TrustedRoots(fingerprints: fingerprints) }
        } catch {
            throw SettingError.invalid(use.key, expected: "SHA-256 fingerprints of 64 hexadecimal digits", found: nil)
        }
        // SHA-256 fingerprints of certificates that no chain may have
        let denied = try settings.stringList("trusted.denied_certificates")
        do {
            return try roots.denying(denied)
        } catch {
            throw SettingError.invalid(
                "trusted.denied_certificates", expected: "SHA-256 fingerprints: \(error)", found: nil)
        }
    }
}

/// A root that is not Apple's is among those to trust, and nobody has said that it may be.
package struct ForeignRootError: ConfigurationMistake {
    /// Where it stands.
    package let use: RootUse
    /// Its fingerprint.
    package let root: String

    /// One sentence.
    package var description: String {
        "\(use.variable) has a root that is not Apple's, \(root.prefix(16))…: whoever has its key can make purchases, "
            + "production's too. Take it out; or, for the simulator and tests, set "
            + "\(TrustedRootSettings.foreignVariable)=\(TrustedRootSettings.ForeignRoots.allowed.rawValue)."
    }
}

/// Certificates of Xcode are set on a server that is not for development alone.
package struct XcodeCertificateError: ConfigurationMistake {
    /// What speaks against it.
    package enum Reason: Sendable, Hashable {
        case foreignRootsRefused
        case appleTrusted(RootUse)
    }

    /// What speaks against it.
    package let reason: Reason

    /// One sentence.
    package var description: String {
        let cause =
            switch reason {
            case .foreignRootsRefused: "\(TrustedRootSettings.foreignVariable) is not allowed"
            case .appleTrusted(let use): "\(use.variable) has Apple's root, or is not set"
            }
        return
            "\(TrustedRootSettings.xcodeVariable) is for development servers alone, and here \(cause): whoever has one of those "
            + "machines makes purchases for nothing. Take it out; or use it on a server that trusts the simulator's roots."
    }
}
