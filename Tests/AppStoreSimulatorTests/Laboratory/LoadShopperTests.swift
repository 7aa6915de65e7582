import Foundation
import Testing

@testable import AppStoreSimulator

/// What a load buys, at a real simulator.
@Suite(.serialized)
struct LoadShopperTests {
    @Test(.enabled(if: RunningSimulator.isThere, RunningSimulator.missing), .timeLimit(.minutes(2)))
    func everyKindIsBoughtInItsPlaceAndEachReceiptHasAnAppleIdOfItsOwn() async throws {
        try await RunningSimulator.run { control in
            let shop = SimulatorClient(
                control: control, bundleId: "com.example.game", productId: "gems.100", type: "Consumable",
                environment: "Sandbox")
            let kinds = (0..<60).map { LoadProofKind.allCases[$0 % 3] }
            let proofs = try await LoadShopper(shop: shop, run: "one two&three").buy(kinds)
            #expect(proofs.map(\.kind) == kinds)
            #expect(Set(proofs.map(\.transactionId)).count == 60)
            for proof in proofs {
                switch proof.kind {
                case .signedTransaction: #expect(proof.content?.split(separator: ".").count == 3)
                case .transactionId: #expect(proof.content == nil)
                case .receipt:
                    let receipt = try #require(Data(base64Encoded: proof.content ?? ""))
                    #expect(receipt.first == 0x30)
                    let holds = proofs.filter { receipt.range(of: Data($0.transactionId.utf8)) != nil }
                    #expect(holds.map(\.transactionId) == [proof.transactionId])
                }
            }
        }
    }
}
