import Foundation
import NIOHTTP1

/// Makes what a story begins with: the clock, the app with its products and its key, people and devices.
struct StoryStageSetting: Sendable {
    let story: Story
    let control: ControlClient
    let scope: StoryScope

    /// - Parameter url: where the app's server notifications go.
    /// - Throws: `ToolFailure`.
    func build(_ url: String?) async throws -> AppleClient {
        if let clock = story.clock {
            _ = try await control.value(.PUT, "clock", body: .map(["now": .whole(clock), "speed": .whole(0)]))
        }
        let path = "apps/\(ControlClient.escaped(scope.bundleId))"
        var app = try scope.resolve(.map(story.app)).map ?? [:]
        if let url { app["notificationURLs"] = .map(["Production": .text(url), "Sandbox": .text(url)]) }
        _ = try await control.value(.PUT, path, body: .map(app))
        for product in story.products {
            let fields = try scope.resolve(.map(product.fields))
            _ = try await control.value(
                .PUT, "\(path)/products/\(ControlClient.escaped(product.name))", body: fields)
        }
        for account in story.accounts {
            var fields = try scope.resolve(.map(account.fields)).map ?? [:]
            // Families of two runs are two families.
            if let family = fields["family"]?.text { fields["family"] = .text(scope.unique(family)) }
            _ = try await control.value(
                .PUT, "accounts/\(ControlClient.escaped(scope.unique(account.name)))", body: .map(fields))
        }
        for device in story.devices {
            var fields = try scope.resolve(.map(device.fields)).map ?? [:]
            if let account = fields["account"]?.text { fields["account"] = .text(scope.unique(account)) }
            _ = try await control.value(
                .PUT, "devices/\(ControlClient.escaped(scope.unique(device.name)))", body: .map(fields))
        }
        let addresses = try await control.value(.GET, "addresses")
        let key = story.usesAPI ? try await control.value(.POST, "\(path)/keys") : .null
        guard let production = addresses["production"]?.text, let sandbox = addresses["sandbox"]?.text else {
            throw ToolFailure("the simulator at \(control.base) does not say where its two hosts are")
        }
        return AppleClient(
            http: control.http, hosts: ["Production": production, "Sandbox": sandbox], bundleId: scope.bundleId,
            key: key)
    }
}
