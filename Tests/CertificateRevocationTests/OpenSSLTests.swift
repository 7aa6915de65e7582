import AsyncHTTPClient
import CertificateRevocation
import Foundation
import ProcessTesting
import ServerTesting
import Testing
import X509

/// Authorities that openssl makes, and its responder.
@Suite("With openssl", .timeLimit(.minutes(2)))
struct OpenSSLTests {
    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        /// What the authority's and the responder's keys are made with.
        let key: String
        /// The extensions of the responder's certificate; nil lets the authority sign its answers itself.
        var responder: String?
        var arguments = ""
        var reason: String?
    }

    private static let proper = "extendedKeyUsage=critical,OCSPSigning\nnoCheck=ignored\nkeyUsage=digitalSignature\n"
    private static let rsa = "-newkey rsa:2048"
    private static let p256 = "-newkey ec -pkeyopt ec_paramgen_curve:P-256"
    private static let p384 = "-newkey ec -pkeyopt ec_paramgen_curve:P-384"

    private static let cases = [
        Case(testDescription: "RSA itself", key: rsa),
        Case(testDescription: "RSA itself, named by key", key: rsa, arguments: "-resp_key_id"),
        Case(testDescription: "RSA delegated, SHA-384", key: rsa, responder: proper, arguments: "-rmd sha384"),
        Case(testDescription: "RSA delegated, SHA-512", key: rsa, responder: proper, arguments: "-rmd sha512"),
        Case(testDescription: "P-256 itself", key: p256, arguments: "-rmd sha256"),
        Case(testDescription: "P-256 delegated, named by key", key: p256, responder: proper, arguments: "-resp_key_id"),
        Case(testDescription: "P-384 itself", key: p384, arguments: "-rmd sha384"),
        Case(testDescription: "P-384 delegated", key: p384, responder: proper),
        Case(
            testDescription: "not for answers", key: p256, responder: "extendedKeyUsage=serverAuth\n",
            reason: "the responder's certificate is not for signing answers"),
        Case(
            testDescription: "without its certificate", key: p256, responder: proper, arguments: "-resp_no_certs",
            reason: "the answer's signer is not known"),
        Case(
            testDescription: "SHA-1", key: rsa, arguments: "-rmd sha1",
            reason: "the answer is signed in a way that is not supported"),
    ]

    /// Serial numbers in hexadecimal, as openssl's index has them: three that it knows of.
    private static let index = """
        V\t491231235959Z\t\t1000\tunknown\t/CN=good
        R\t491231235959Z\t200102030405Z,keyCompromise\t1001\tunknown\t/CN=revoked
        R\t491231235959Z\t200102030405Z\tF002\tunknown\t/CN=high

        """

    /// An authority, leaves with good and bad serial numbers, and perhaps a responder.
    private func makeAuthority(_ command: Command, _ example: Case) async throws {
        let request = "req \(example.key) -nodes -days 10"
        try await command.openssl("\(request) -x509 -keyout ca.key -out ca.pem -subj /CN=Authority/O=Test")
        try await command.openssl("x509 -in ca.pem -outform DER -out ca.der")
        try await command.openssl("req \(example.key) -nodes -keyout leaf.key -out leaf.csr -subj /CN=leaf")
        let sign = "x509 -req -CA ca.pem -CAkey ca.key -days 5 -outform DER"
        for (name, number) in [("good", 0x1000), ("revoked", 0x1001), ("high", 0xF002), ("strange", 0x1003)] {
            try await command.openssl("\(sign) -in leaf.csr -set_serial \(number) -out \(name).der")
        }
        try command.write(Self.index, to: "index.txt")
        guard let extensions = example.responder else { return }
        try command.write(extensions, to: "responder.txt")
        try await command.openssl("req \(example.key) -nodes -keyout responder.key -out responder.csr -subj /CN=R")
        try await command.openssl(
            "x509 -req -CA ca.pem -CAkey ca.key -days 5 -in responder.csr -set_serial 7 -out responder.pem "
                + "-extfile responder.txt")
    }

    @Test(
        "its responder is believed when it may answer, and only then",
        .enabled(if: Command.hasOpenSSL, Command.noOpenSSL),
        arguments: cases)
    private func responder(_ example: Case) async throws {
        try await Command.run { command in
            try await makeAuthority(command, example)
            let signer = example.responder == nil ? "ca" : "responder"
            let arguments =
                "ocsp -index index.txt -port 0 -CA ca.pem -rsigner \(signer).pem -rkey \(signer).key -ndays 1"
            try await command.openssl(serving: "\(arguments) \(example.arguments)").serving(
                ready: { try port(command) },
                { port in
                    let checker = RevocationChecker(
                        http: .shared, settings: .init(responder: "http://127.0.0.1:\(port)/"))
                    func status(_ name: String) async throws -> RevocationStatus {
                        await checker.status(of: try command.bytes("\(name).der"), issuer: try command.bytes("ca.der"))
                    }
                    if let reason = example.reason {
                        #expect(try await status("good") == .unknown(reason))
                        return
                    }
                    let date = Date(timeIntervalSince1970: 1_577_934_245)
                    #expect(try await status("good") == .good)
                    #expect(try await status("revoked") == .revoked(at: date))
                    #expect(try await status("high") == .revoked(at: date))
                    let strange = try await status("strange")
                    #expect(strange == .unknown("the responder does not know the certificate"))
                })
        }
    }

    /// The port of `ACCEPT [::]:38763 PID=2863`.
    private func port(_ command: Command) throws -> Int? {
        let output = try String(contentsOf: command.file("output"), encoding: .utf8)
        guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT ") && $0.contains("PID=") })
        else { return nil }
        return line.split(separator: " ")[1].split(separator: ":").last.flatMap { Int($0) }
    }

    @Test(
        "a question is byte for byte openssl's own", .enabled(if: Command.hasOpenSSL, Command.noOpenSSL))
    func question() async throws {
        try await Command.run { command in
            try await makeAuthority(command, Case(testDescription: "", key: Self.p256))
            try await Responder.with { responder, url, http in
                responder.answer = .status(503)
                let checker = RevocationChecker(http: http, settings: .init(responder: url))
                let names = ["good", "high"]
                for name in names {
                    _ = await checker.status(
                        of: try command.bytes("\(name).der"), issuer: try command.bytes("ca.der"))
                    try await command.openssl(
                        "ocsp -issuer ca.pem -cert \(name).der -no_nonce -reqout \(name).request")
                }
                let requests = responder.requests.map(\.body)
                #expect(requests == (try names.map { try command.bytes("\($0).request") }))
            }
        }
    }
}
