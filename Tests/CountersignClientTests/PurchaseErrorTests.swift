import CountersignClient
import Testing

@Suite("Errors of the client")
struct PurchaseErrorTests {
    @Test(
        "every error has a sentence for people, which says when nothing was charged",
        arguments: PurchaseError.Code.allCases)
    func sentences(code: PurchaseError.Code) throws {
        let error = PurchaseError(code, "why")
        let sentence = try #require(error.errorDescription)
        #expect(sentence.hasSuffix("."))
        #expect(sentence.contains("You have not been charged.") == error.isNothingPaid)
        #expect(error.description == "\(code.rawValue): why")
    }
}
