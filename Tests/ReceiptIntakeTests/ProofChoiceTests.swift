import Foundation
import Messages
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("A body holds exactly one proof")
struct ProofChoiceTests {
    private static let jws = "e30.e30.c2ln"
    private static let receipt = "MIIB"

    private func request(_ fields: String) throws -> PurchaseRequest {
        let text = "{\"app\":\"a\"\(fields.isEmpty ? "" : ",")\(fields)}"
        return try JSONBody.decode(PurchaseRequest.self, from: Array(text.utf8))
    }

    private func problem(_ fields: String) -> ProblemDetails? {
        do {
            let request = try request(fields)
            _ = try request.proof()
            _ = try request.expectedEnvironment()
            return nil
        } catch {
            return error as? ProblemDetails
        }
    }

    @Test("each kind is taken alone, and a receipt with the id of a transaction")
    func kinds() throws {
        let signed = try request("\"signed_transaction\":\"\(Self.jws)\"").proof()
        #expect(signed.kind == .signedTransaction && signed.text == Self.jws && signed.namedTransactionId == nil)
        let bare = try request("\"transaction_id\":\"20A\"").proof()
        #expect(bare.kind == .transactionId && bare.text == "20A" && bare.namedTransactionId == nil)
        let receipt = try request("\"receipt\":\"MI\\r\\nIB\"").proof()
        #expect(receipt.kind == .receipt && receipt.text == "MIIB" && receipt.namedTransactionId == nil)
        let named = try request("\"receipt\":\"MIIB\",\"transaction_id\":\"20A\"").proof()
        #expect(named.kind == .receipt && named.text == "MIIB" && named.namedTransactionId == "20A")
    }

    @Test("a JWS is taken for what it is: in base64 of any spelling, and as a receipt; its text is always the same")
    func misplaced() throws {
        // Of such lengths that base64 has padding, and characters of which the alphabets differ.
        let jws = Proofs.jws(originalTransactionId: "2000000001", nonce: "~~~???")
        let wrapped = Data(jws.utf8).base64EncodedString()
        for text in [
            wrapped, wrapped.replacing("=", with: ""), Proofs.encode(Data(jws.utf8)),
            Proofs.broken(wrapped, every: 76, by: "\\r\\n"),
        ] {
            for field in ["signed_transaction", "receipt"] {
                let proof = try request("\"\(field)\":\"\(text)\"").proof()
                #expect(proof.kind == .signedTransaction && proof.text == jws, "\(field): \(text)")
            }
        }
        let named = try request("\"receipt\":\"\(jws)\",\"transaction_id\":\"20A\"").proof()
        #expect(named.kind == .signedTransaction && named.text == jws && named.namedTransactionId == nil)
        let twice = Data(wrapped.utf8).base64EncodedString()
        #expect(problem("\"signed_transaction\":\"\(twice)\"")?.code == "proof-malformed")
        let long = "ab.cd." + String(repeating: "A", count: PostedJWS.bytesMaximum)
        let tooLong = Data(long.utf8).base64EncodedString()
        #expect(problem("\"signed_transaction\":\"\(tooLong)\"")?.code == "proof-malformed")
        #expect(problem("\"receipt\":\"\(long)\"")?.code == "proof-malformed")
    }

    @Test("fields that are null are fields that are absent")
    func nulls() throws {
        let fields =
            "\"signed_transaction\":\"\(Self.jws)\",\"receipt\":null,\"transaction_id\":null,\"environment\":null"
        #expect(try request(fields).proof().kind == .signedTransaction)
        #expect(try request(fields).expectedEnvironment() == nil)
    }

    @Test(
        "none, two, or something that is not what its field says, is a problem that names the field",
        arguments: [
            ("", "field-missing", "signed_transaction"),
            ("\"signed_transaction\":null", "field-missing", "signed_transaction"),
            ("\"signed_transaction\":\"\(jws)\",\"receipt\":\"\(receipt)\"", "proof-ambiguous", "receipt"),
            (
                "\"signed_transaction\":\"\(jws)\",\"receipt\":\"\(receipt)\",\"transaction_id\":\"1\"",
                "proof-ambiguous", "receipt"
            ),
            ("\"signed_transaction\":\"\(jws)\",\"transaction_id\":\"1\"", "proof-ambiguous", "transaction_id"),
            ("\"signed_transaction\":\"\",\"receipt\":\"\"", "proof-ambiguous", "receipt"),
            ("\"signed_transaction\":\"\"", "proof-malformed", "signed_transaction"),
            ("\"signed_transaction\":\"\(receipt)\"", "proof-malformed", "signed_transaction"),
            ("\"receipt\":\"\"", "proof-malformed", "receipt"),
            ("\"receipt\":\"MI-B\"", "proof-malformed", "receipt"),
            ("\"receipt\":\"\(receipt)\",\"transaction_id\":\"\"", "field-invalid", "transaction_id"),
            ("\"receipt\":\"\(receipt)\",\"transaction_id\":\"1 2\"", "field-invalid", "transaction_id"),
            ("\"receipt\":7", "field-invalid", "receipt"), ("\"receipt\":[\"MIIB\"]", "field-invalid", "receipt"),
            ("\"transaction_id\":\"\"", "field-invalid", "transaction_id"),
            ("\"transaction_id\":7", "field-invalid", "transaction_id"),
            ("\"transaction_id\":\"1-2\"", "field-invalid", "transaction_id"),
            ("\"transaction_id\":\"１\"", "field-invalid", "transaction_id"),
            ("\"transaction_id\":\"1\\u00002\"", "field-invalid", "transaction_id"),
            ("\"transaction_id\":\"1/../2\"", "field-invalid", "transaction_id"),
            (
                "\"transaction_id\":\"\(String(repeating: "1", count: 65))\"", "field-invalid", "transaction_id"
            ),
            ("\"transaction_id\":\"1\",\"environment\":\"Production\"", "field-invalid", "environment"),
            ("\"transaction_id\":\"1\",\"environment\":\"\"", "field-invalid", "environment"),
            ("\"transaction_id\":\"1\",\"environment\":\"xcode\"", "field-invalid", "environment"),
            ("\"transaction_id\":\"1\",\"environment\":7", "field-invalid", "environment"),
        ])
    func problems(fields: String, slug: String, field: String) throws {
        let found = try #require(problem(fields), "\(fields) was taken")
        #expect(found.code == slug, "\(fields): \(found.detail ?? "")")
        #expect(found.extensions["field"] == field, "\(fields)")
    }

    @Test("the environment that the app was built for is a hint", arguments: StoreEnvironment.allCases)
    func environments(environment: StoreEnvironment) throws {
        let request = try request("\"transaction_id\":\"1\",\"environment\":\"\(environment.rawValue)\"")
        #expect(try request.expectedEnvironment() == environment)
    }

    @Test("an id may have 64 letters and digits")
    func longestId() throws {
        let id = String(repeating: "aZ09", count: 16)
        #expect(try request("\"transaction_id\":\"\(id)\"").proof().text == id)
    }

    @Test("a receipt keeps the order of the transaction that it names, else of the account; an id its own")
    func partitionKeys() throws {
        func key(_ fields: String) throws -> String {
            PartitionKey.make(try request(fields).proof(), account: "player")
        }
        #expect(try key("\"receipt\":\"MIIB\"") == "player")
        #expect(try key("\"receipt\":\"MIIB\",\"transaction_id\":\"20A\"") == "20A")
        #expect(try key("\"transaction_id\":\"20A\"") == "20A")
    }

    @Test("what only Apple can settle goes to a topic of its own")
    func topics() {
        #expect(ProofKind.signedTransaction.topic == "countersign.submissions")
        #expect(ProofKind.receipt.topic == "countersign.submissions")
        #expect(ProofKind.transactionId.topic == "countersign.lookups")
    }
}
