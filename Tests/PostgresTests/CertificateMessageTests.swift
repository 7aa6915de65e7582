import Testing

@testable import Postgres

@Suite("What is said of a failed attempt to connect")
struct CertificateMessageTests {
    @Test("names what may be wrong with a certificate where libpq does not")
    func explainsCertificates() {
        let failed = "connection to server at \"db\", port 5432 failed: SSL error: certificate verify failed"
        let explained = NativeConnection.explained(failed)
        #expect(explained.hasPrefix(failed))
        #expect(explained.contains("expired") && explained.contains("sslrootcert"))
    }

    @Test("leaves everything else as libpq said it")
    func leavesTheRest() {
        let name = "server certificate for \"db.example.com\" does not match host name \"db\""
        #expect(NativeConnection.explained(name) == name)
        #expect(NativeConnection.explained("").isEmpty)
    }
}
