import Testing

@testable import AppStoreServerAPI

/// Every status of Apple's, and every number that is none, means one of three things.
@Suite("verifyReceipt: what a status means")
struct VerifyReceiptFindingTests {
    private typealias Finding = VerifyReceiptAnswer.Finding

    private static func answer(
        _ status: Int64, in environment: AppStoreEnvironment = .production, isRetryable: Bool? = nil,
        hasSentSharedSecret: Bool = true
    ) -> VerifyReceiptAnswer {
        VerifyReceiptAnswer(
            environment: environment, status: VerifyReceiptStatus(rawValue: status), isRetryable: isRetryable,
            hasSentSharedSecret: hasSentSharedSecret)
    }

    @Test("each documented status has its meaning, on both hosts")
    func documented() {
        let expected: [(Int64, Finding)] = [
            (0, .valid), (21_006, .valid),
            (21_000, .unknown(.receiptStatusUnknown, needsAttention: true)),
            (21_001, .unknown(.receiptStatusUnknown, needsAttention: true)),
            (21_003, .rejected(.receiptNotAuthenticated)),
            (21_004, .unknown(.sharedSecretMismatch, needsAttention: true)),
            (21_005, .unknown(.appStoreUnavailable, needsAttention: false)),
            (21_007, .unknown(.receiptEnvironmentContradictory, needsAttention: false)),
            (21_008, .unknown(.receiptEnvironmentContradictory, needsAttention: false)),
            (21_009, .unknown(.appStoreUnavailable, needsAttention: false)),
            (21_010, .rejected(.receiptAccountUnknown)),
        ]
        for (status, finding) in expected {
            for environment in AppStoreEnvironment.allCases {
                for attempt in [1, 3, 4, 1_000] {
                    #expect(Self.answer(status, in: environment).finding(attempt: attempt) == finding, "\(status)")
                }
            }
        }
    }

    @Test("malformed is believed at the fourth time")
    func malformed() {
        for attempt in 1...3 {
            let finding = Self.answer(21_002).finding(attempt: attempt)
            #expect(finding == .unknown(.receiptMalformed, needsAttention: false), "\(attempt)")
        }
        #expect(Self.answer(21_002).finding(attempt: 4) == .rejected(.receiptMalformed))
        #expect(Self.answer(21_002).finding(attempt: .max) == .rejected(.receiptMalformed))
    }

    @Test("the sandbox without a shared secret may call a good receipt forged; production does not")
    func notAuthenticated() {
        func finding(_ environment: AppStoreEnvironment, _ hasSecret: Bool) -> VerifyReceiptAnswer.Finding {
            Self.answer(21_003, in: environment, hasSentSharedSecret: hasSecret).finding(attempt: 1)
        }
        #expect(finding(.sandbox, false) == .unknown(.sharedSecretMissing, needsAttention: true))
        #expect(finding(.sandbox, true) == .rejected(.receiptNotAuthenticated))
        #expect(finding(.production, false) == .rejected(.receiptNotAuthenticated))
    }

    @Test("21100 to 21199 go by is-retryable, and are retryable where it is missing")
    func dataAccess() {
        for status in Int64(21_100)...21_199 {
            let later = Finding.unknown(.appStoreUnavailable, needsAttention: false)
            #expect(Self.answer(status).finding(attempt: 9) == later)
            #expect(Self.answer(status, isRetryable: true).finding(attempt: 9) == later)
            let never = Self.answer(status, isRetryable: false).finding(attempt: 1)
            #expect(never == .rejected(.receiptNotReadableByApple))
        }
    }

    @Test(
        "a number that nobody knows refuses nothing",
        arguments: [-1, 1, 200, 20_999, 21_011, 21_099, 21_200, 99_999, .max, .min] as [Int64])
    func unknownNumbers(_ status: Int64) {
        for flag in [nil, true, false] {
            let finding = Self.answer(status, isRetryable: flag).finding(attempt: 50)
            #expect(finding == .unknown(.receiptStatusUnknown, needsAttention: true))
        }
    }

    @Test("a host that answers for the other environment is not believed")
    func otherEnvironment() {
        let contradictory = Finding.unknown(.receiptEnvironmentContradictory, needsAttention: true)
        let cases: [(AppStoreEnvironment, EnvironmentName?, String?, Finding)] = [
            (.production, EnvironmentName(rawValue: "Sandbox"), nil, contradictory),
            (.sandbox, EnvironmentName(rawValue: "Production"), nil, contradictory),
            (.production, EnvironmentName(rawValue: "Xcode"), nil, contradictory),
            (.production, nil, "ProductionSandbox", contradictory),
            (.production, EnvironmentName(rawValue: "Production"), "ProductionVPPSandbox", contradictory),
            (.sandbox, nil, "Production", contradictory),
            (.sandbox, EnvironmentName(rawValue: "Sandbox"), "ProductionVPP", contradictory),
            (.sandbox, EnvironmentName(rawValue: "Sandbox"), "ProductionSandbox", .valid),
            (.production, EnvironmentName(rawValue: "Production"), "ProductionVPP", .valid),
            (.production, nil, "Tomorrow", .valid), (.sandbox, nil, nil, .valid),
        ]
        for (environment, name, type, finding) in cases {
            var answer = Self.answer(0, in: environment)
            answer.receipt = .init(bundleId: "b", environment: name, type: type)
            #expect(answer.finding(attempt: 1) == finding, "\(environment) \(name?.rawValue ?? "") \(type ?? "")")
        }
    }

    @Test("every reason is a word in snake case")
    func reasons() {
        let reasons: [VerifyReceiptAnswer.Reason] = [
            .receiptMalformed, .receiptNotAuthenticated, .receiptAccountUnknown, .sharedSecretMismatch,
            .sharedSecretMissing, .appStoreUnavailable, .receiptNotReadableByApple, .receiptEnvironmentContradictory,
            .receiptStatusUnknown,
        ]
        #expect(Set(reasons).count == reasons.count)
        for reason in reasons {
            #expect(reason.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") })
        }
    }
}
