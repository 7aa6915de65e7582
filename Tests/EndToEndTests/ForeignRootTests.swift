import ProcessTesting
import Testing

extension EndToEnd {
    /// Roots that are not Apple's: a stack trusts the simulator's on purpose, and says so in its settings.
    @Suite("Foreign roots")
    struct ForeignRootTests {
        private static let believers = ["receipt-intake", "verification-worker"]

        @Test("a process does not start with such a root, unless that is allowed", arguments: believers)
        func refused(process: String) async throws {
            try await withStack { stack, _, _ in
                let settings = [
                    "COUNTERSIGN_TRUSTED_FOREIGN_ROOTS": "", "COUNTERSIGN_ADMIN_PORT": "0",
                    "COUNTERSIGN_HTTP_PORT": "0",
                ]
                let result = try await stack.built(process, [], settings).run()
                #expect(result.status == 64, "\(result.output)")
                #expect(result.output.contains("COUNTERSIGN_TRUSTED_ROOTS has a root that is not Apple's"))
            }
        }

        @Test("one among the roots of receipts is refused, too")
        func ofReceipts() async throws {
            try await withStack { stack, _, _ in
                let settings = [
                    "COUNTERSIGN_TRUSTED_FOREIGN_ROOTS": "", "COUNTERSIGN_TRUSTED_ROOTS": "",
                    "COUNTERSIGN_ADMIN_PORT": "0",
                ]
                let result = try await stack.built("verification-worker", [], settings).run()
                #expect(result.status == 64, "\(result.output)")
                #expect(result.output.contains("COUNTERSIGN_RECEIPT_ROOTS has a root that is not Apple's"))
            }
        }

        @Test("doctor says what a process runs with, and not what it would run with itself")
        func doctor() async throws {
            try await withStack { stack, client, _ in
                let worker = try stack.setting("COUNTERSIGN_VERIFICATION_WORKER_1_ADMIN_URL")
                let intake = try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_ADMIN_URL")
                let fulfillment = try stack.setting("COUNTERSIGN_FULFILLMENT_ADMIN_URL")
                let own = ["COUNTERSIGN_TRUSTED_ROOTS": "", "COUNTERSIGN_RECEIPT_ROOTS": ""]
                let services = [worker, intake, fulfillment].flatMap { ["--service", $0] }
                let doctor = try await stack.built("countersign", ["doctor", "--no-consistency"] + services, own).run()
                #expect(doctor.output.contains("Apple's alone in this environment"), "\(doctor.output)")
                #expect(doctor.output.contains("\(worker) trusts for signed data what is not Apple's (1 of its roots)"))
                #expect(doctor.output.contains("\(worker) trusts for receipts what is not Apple's (1 of its roots)"))
                #expect(doctor.output.contains("\(intake) trusts for signed data what is not Apple's (1 of its roots)"))
                #expect(!doctor.output.contains("\(fulfillment) trusts"))
                #expect(try await AdminPort(client, worker).metric("countersign_foreign_roots") == 2)
            }
        }
    }
}
