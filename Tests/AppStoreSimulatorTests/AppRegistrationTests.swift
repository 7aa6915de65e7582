import HTTPTypes
import Testing

@testable import AppStoreSimulator

@Suite("The registration of an app")
struct AppRegistrationTests {
    private let path = "apps/com.example.game"

    private func keepsNotifications(_ simulator: borrowing Simulator) async -> Bool? {
        await simulator.assembly.store.read { $0.apps["com.example.game"]?.keepsNotifications }
    }

    @Test("an app that is registered keeps its notifications, unless it says that it does not want them")
    func notificationsAreWanted() async throws {
        let simulator = try Simulator()
        try await simulator.control(.put, path, #"{"keepsNotifications":false,"sharedSecret":"s"}"#)
        #expect(await keepsNotifications(simulator) == false)
        try await simulator.control(.post, "\(path)/keys")
        #expect(await keepsNotifications(simulator) == false)
        try await simulator.control(.put, path, "{}")
        #expect(await keepsNotifications(simulator) == true)
    }
}
