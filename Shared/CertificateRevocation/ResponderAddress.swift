import Foundation
import X509

/// Where the responder of a certificate is.
enum ResponderAddress {
    enum Limit {
        /// Characters of a URL.
        static let characters = 2_048
    }

    /// The URL that is given instead, or else the first http or https one that the certificate names as its OCSP
    /// responder (RFC 5280, section 4.2.2.1); nil when it names none at all.
    static func url(of certificate: Certificate, instead: String?) throws(RevocationFailure) -> String? {
        if let instead {
            guard isUsable(instead) else { throw RevocationFailure("the responder of the settings is no http URL") }
            return instead
        }
        let access: AuthorityInformationAccess?
        do {
            access = try certificate.extensions.authorityInformationAccess
        } catch {
            throw RevocationFailure("the responder that the certificate names cannot be read")
        }
        guard let access, access.contains(where: { $0.method == .ocspServer }) else { return nil }
        for description in access where description.method == .ocspServer {
            if case .uniformResourceIdentifier(let url) = description.location, isUsable(url) { return url }
        }
        throw RevocationFailure("the certificate names no responder with an http URL")
    }

    private static func isUsable(_ url: String) -> Bool {
        guard url.utf8.count <= Limit.characters, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.host
        else { return false }
        return (scheme == "http" || scheme == "https") && !host.isEmpty
    }
}
