import Messages
import Persistence
import Testing

@testable import ReceiptIntake

@Suite("The id of a submission")
struct SubmissionIdentifierTests {
    private func make(_ app: String, _ account: String, _ proof: String) -> String {
        SubmissionIdentifier.make(app: app, account: account, kind: .signedTransaction, proof: proof)
    }

    @Test("is the hash of its parts with their lengths, as computed by another program")
    func matchesAnIndependentComputation() {
        #expect(make("com.example.game", "player-1", "a.b.c") == "sub_1f91f15bd81dd81d2c9cb7f84a64c96f")
    }

    @Test(
        "hashes the named transaction of a receipt too, and nothing where there is none, so that old ids stay",
        arguments: [
            (ProofKind.receipt, "MIIB", nil, "sub_aa89d8b18d0941508f6f46bc48542461"),
            (.receipt, "MIIB", "2000000123456789", "sub_881cdcb4219bb37f0938ec9bca2bb7be"),
            (.transactionId, "2000000123456789", nil, "sub_ba6c5a00c3eed0df27fe5c7b21f26df6"),
        ] as [(ProofKind, String, String?, String)])
    func namesBelongToReceipts(kind: ProofKind, proof: String, named: String?, id: String) {
        #expect(
            SubmissionIdentifier.make(
                app: "com.example.game", account: "player-1", kind: kind, proof: proof, namedTransactionId: named) == id
        )
    }

    @Test(
        "of a player's number is another than the server's, so that neither swallows the other's post",
        arguments: [
            (ProofKind.transactionId, "2000000123456789", nil), (.orderId, "MV7KQ2XH0P", nil),
            (.receipt, "MIIB", "2000000123456789"),
        ] as [(ProofKind, String, String?)])
    func numbersBelongToWhoeverSaysThem(kind: ProofKind, proof: String, named: String?) {
        func make(_ isPlayersNumber: Bool) -> String {
            SubmissionIdentifier.make(
                app: "com.example.game", account: "player-1", kind: kind, proof: proof, namedTransactionId: named,
                isPlayersNumber: isPlayersNumber)
        }
        #expect(make(true) != make(false))
        #expect(make(true) == make(true))
        #expect(SubmissionIdentifier.isWellFormed(make(true)))
    }

    @Test("does not confuse one part's end with the next one's beginning")
    func separatesParts() {
        #expect(make("ab", "c", "x") != make("a", "bc", "x"))
        #expect(make("a", "bc", "x") != make("a", "b", "cx"))
    }

    @Test("differs for every app and account, so that nobody gets another's row")
    func belongsToAppAndAccount() {
        let ids = Set([make("a", "p", "x"), make("b", "p", "x"), make("a", "q", "x"), make("a", "p", "y")])
        #expect(ids.count == 4)
    }

    @Test(
        "is recognised by its form",
        arguments: [
            ("sub_00112233445566778899aabbccddeeff", true), ("sub_00112233445566778899AABBCCDDEEFF", false),
            ("sub_00112233445566778899aabbccddeef", false), ("sub_00112233445566778899aabbccddeeff0", false),
            ("evt_00112233445566778899aabbccddeeff", false), ("sub_", false), ("", false),
            ("sub_00112233445566778899aabbccddeef%00", false), ("sub_００112233445566778899aabbccddee", false),
        ])
    func isRecognised(text: String, isWellFormed: Bool) {
        #expect(SubmissionIdentifier.isWellFormed(text) == isWellFormed)
    }
}
