import PurchaseModel
import ServiceRuntime
import Testing

@testable import VerificationWorker

@Suite("The environment firewall")
struct EnvironmentFirewallTests {
    private func pass(
        _ environment: StoreEnvironment?, _ policy: AppsFile.SandboxPolicy, _ expected: StoreEnvironment?,
        transactions: [Transaction]? = nil
    ) -> Finding {
        let transactions = transactions ?? [.fixture("1", environment: environment)]
        return Finding(
            EnvironmentFirewall.pass(transactions, proved: environment, policy: policy, expected: expected))
    }

    @Test("Production passes unmarked, whatever the policy and whatever the app was built for")
    func production() {
        for policy in AppsFile.SandboxPolicy.allCases {
            for expected in [nil, StoreEnvironment.production, .sandbox] {
                for proved in [StoreEnvironment.production, nil] {
                    let finding = pass(proved, policy, expected)
                    #expect(finding.name == "genuine")
                    #expect(finding.transactions.map(\.testPurchase) == [nil])
                    #expect(finding.transactions.map(\.environment) == [proved])
                }
            }
        }
    }

    @Test(
        "Sandbox is marked by policy and by what the app was built for",
        arguments: [
            (AppsFile.SandboxPolicy.accept, StoreEnvironment?.none, TestPurchase?.none),
            (.accept, .sandbox, nil), (.accept, .production, .appReview), (.test, nil, .sandbox),
            (.test, .sandbox, .sandbox), (.test, .production, .appReview),
        ])
    func sandbox(policy: AppsFile.SandboxPolicy, expected: StoreEnvironment?, mark: TestPurchase?) {
        #expect(pass(.sandbox, policy, expected).transactions.map(\.testPurchase) == [mark])
    }

    @Test("Refused is refused: App Review, and receipts without purchases, too")
    func refused() {
        for expected in [nil, StoreEnvironment.production, .sandbox] {
            #expect(pass(.sandbox, .refuse, expected).reason == "sandbox_refused")
            #expect(pass(.sandbox, .refuse, expected, transactions: []).reason == "sandbox_refused")
        }
    }

    @Test("One sandbox transaction makes a proof a sandbox proof, whatever it calls itself")
    func mixed() {
        let transactions = [Transaction.fixture("1"), .fixture("2", environment: .sandbox)]
        #expect(pass(.production, .refuse, nil, transactions: transactions).reason == "sandbox_refused")
        #expect(
            pass(.production, .test, nil, transactions: transactions).transactions.map(\.testPurchase)
                == [nil, .sandbox])
    }
}
