import AppStore
import Foundation
import Testing
import X509

@testable import AppStoreSimulator

@Suite("Certificates")
struct CertificateTests {
    private let now = Date()
    private let year: TimeInterval = 365 * 86_400

    @Test("they are valid wherever the store's clock may stand")
    func validity() throws {
        let authority = try CertificateAuthority(now: now)
        let lifetimes = [(authority.root, 25.0), (authority.intermediate, 15.0), (authority.leaf, 10.0)]
        for (certificate, years) in lifetimes {
            #expect(certificate.notValidBefore == Date(timeIntervalSince1970: 1_420_070_400))
            #expect(abs(certificate.notValidAfter.timeIntervalSince(now + years * year)) < 2)
        }
        let earliest = Date(timeIntervalSince1970: Double(VirtualClock.Limit.earliest) / 1_000)
        let latest = now + Double(VirtualClock.Limit.ahead) / 1_000
        let verifier = SignedDataVerifier(
            roots: try TrustedRoots(fingerprints: [try CertificateAuthority.fingerprint(of: authority.root)]))
        let signer = try PayloadSigner(chain: authority.chain)
        for date in [earliest, now, latest] {
            let jws = try signer.sign("{\"signedDate\":\(Int64(date.timeIntervalSince1970 * 1_000))}")
            #expect(throws: Never.self) { try verifier.payload(Array(jws.utf8)).get() }
        }
    }

    @Test("what was signed before a reissue verifies with what was signed after it")
    func reissued() throws {
        let first = try CertificateAuthority(now: now)
        let second = try first.reissued(now: now + year, ocspURL: "http://127.0.0.1:1/simulator/ocsp")
        let verifier = SignedDataVerifier(
            roots: try TrustedRoots(fingerprints: [try CertificateAuthority.fingerprint(of: first.root)]))
        for authority in [first, second, first] {
            let jws = try PayloadSigner(chain: authority.chain).sign("{\"signedDate\":1700000000000}")
            #expect(throws: Never.self) { try verifier.payload(Array(jws.utf8)).get() }
        }
    }

    @Test("leaf and intermediate name their responder, false ones too; the root names none")
    func responder() throws {
        let url = RevocationRoutes.address(port: 8099)
        let authority = try CertificateAuthority(now: now, ocspURL: url)
        #expect(authority.ocspURL == url)
        let chains = [
            authority.chain, try authority.chain(replacingLeaf: .leaf, now: now),
            try authority.chain(replacingIntermediate: .intermediate, now: now),
        ]
        for chain in chains {
            #expect(CertificateAuthority.ocspURL(of: chain.leaf) == url)
            #expect(CertificateAuthority.ocspURL(of: chain.intermediate) == url)
            #expect(CertificateAuthority.ocspURL(of: chain.root) == nil)
        }
    }

    @Test(
        "the responder's address can be called by whoever can call the simulator",
        arguments: [
            ("127.0.0.1", "http://127.0.0.1:8099"), ("0.0.0.0", "http://127.0.0.1:8099"), ("::1", "http://[::1]:8099"),
            ("::", "http://[::1]:8099"), ("fd00::5", "http://[fd00::5]:8099"),
        ])
    func responderAddress(_ host: String, _ address: String) {
        #expect(RevocationRoutes.address(host: host, port: 8099) == address + RevocationRoutes.path)
    }

    @Test("a lookalike has Apple's names and another fingerprint")
    func lookalike() throws {
        let authority = try CertificateAuthority(now: now, names: .lookalike)
        #expect("\(authority.root.subject)".contains("Apple Root CA - G3"))
        #expect(authority.leaf.issuer == authority.intermediate.subject)
        let jws = try PayloadSigner(chain: authority.chain).sign("{\"signedDate\":1700000000000}")
        let result = SignedDataVerifier(roots: .appleRootG3).payload(Array(jws.utf8))
        #expect(rejectionCode(result) == "root_not_trusted")
    }
}
