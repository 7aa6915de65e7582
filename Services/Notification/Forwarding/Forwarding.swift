import ServiceLifecycle
import ServiceRuntime

/// Sends Apple's notifications on until graceful shutdown, then ends the connections.
struct Forwarding: Service {
    let task: PeriodicTask
    let clients: EndpointClients

    func run() async throws {
        try await task.run()
        await clients.close()
    }
}
