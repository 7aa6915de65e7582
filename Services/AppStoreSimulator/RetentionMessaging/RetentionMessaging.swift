import Foundation
import HTTPTypes
import Hummingbird

/// Apple's Retention Messaging API in one environment: images, messages, defaults, and the real-time URL.
///
/// Which app calls is known already: the routes stand behind the check of the token. ``PerformanceTestRoutes`` has the rest.
struct RetentionMessaging: Sendable {
    let store: Store
    let environment: StoreEnvironment

    /// Adds `messaging/…` to the group at `/inApps/v1`.
    func addRoutes(to group: RouterGroup<ServerAPIContext>) {
        let routes = group.group("messaging")
        addImages(to: routes)
        addMessages(to: routes)
        addDefaults(to: routes)
        addRealtimeURL(to: routes)
    }

    private func addImages(to routes: RouterGroup<ServerAPIContext>) {
        routes.put("image/:identifier") { request, context in
            let app = try context.caller()
            let identifier = try RetentionIdentifier.uuid(context.parameters.get("identifier"))
            let size = try imageSize(request)
            let maximum = RetentionImageFile.Limit.bytes
            let bytes = [UInt8](try await APIBody.read(request, maximum: maximum, or: APIError.invalidImage))
            let file = try RetentionImageFile(bytes, size: size)
            try await store.change { state, now in
                let image = RetentionImage(
                    imageIdentifier: identifier, size: size, byteCount: bytes.count, digest: file.digest,
                    width: file.width, height: file.height, uploadedDate: now)
                try state.uploadImage(image, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
        }
        routes.delete("image/:identifier") { _, context in
            let identifier = try RetentionIdentifier.uuid(context.parameters.get("identifier"))
            return try await change(context) { try $0.deleteImage(identifier, of: $1, in: environment) }
        }
        routes.get("image/list") { _, context in
            let app = try context.caller()
            let now = store.clock.now
            let images = await store.read { state in
                state.retentionItems(RetentionImage.self, of: app.bundleId, in: environment)
            }
            let items = images.map { image in
                var json = JSONText()
                json.add("imageIdentifier", image.imageIdentifier)
                json.add("imageState", image.state(in: environment, now: now).rawValue)
                json.add("imageSize", image.size.rawValue)
                return json.object
            }
            return list("imageIdentifiers", items)
        }
    }

    private func addMessages(to routes: RouterGroup<ServerAPIContext>) {
        routes.put("message/:identifier") { request, context in
            let app = try context.caller()
            let identifier = try RetentionIdentifier.uuid(context.parameters.get("identifier"))
            let maximum = RetentionMessageContent.Limit.requestBytes
            let content = try RetentionMessageContent(json: try await APIBody.read(request, maximum: maximum))
            try await store.change { state, now in
                let message = RetentionMessage(messageIdentifier: identifier, content: content, uploadedDate: now)
                try state.uploadMessage(message, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
        }
        routes.delete("message/:identifier") { _, context in
            let identifier = try RetentionIdentifier.uuid(context.parameters.get("identifier"))
            return try await change(context) { try $0.deleteMessage(identifier, of: $1, in: environment) }
        }
        routes.get("message/list") { _, context in
            let app = try context.caller()
            let now = store.clock.now
            let messages = await store.read { state in
                state.retentionItems(RetentionMessage.self, of: app.bundleId, in: environment)
            }
            let items = messages.map { message in
                var json = JSONText()
                json.add("messageIdentifier", message.messageIdentifier)
                json.add("messageState", message.state(in: environment, now: now).rawValue)
                return json.object
            }
            return list("messageIdentifiers", items)
        }
    }

    private func addDefaults(to routes: RouterGroup<ServerAPIContext>) {
        routes.put("default/:product/:locale") { request, context in
            let app = try context.caller()
            let (productId, locale) = try names(context)
            let body = try await APIBody.decode(DefaultRequest.self, from: request)
            let row = RetentionDefault(
                productId: productId, locale: locale,
                messageIdentifier: try RetentionIdentifier.uuid(body.messageIdentifier))
            try await store.change { state, now in
                try state.configureDefault(row, of: app.bundleId, in: environment, now: now)
            }
            return APIAnswer.empty()
        }
        routes.delete("default/:product/:locale") { _, context in
            let (productId, locale) = try names(context)
            // Apple answers 200 where there was none, too (Delete Default Message).
            return try await change(context) { state, bundleId in
                try state.checkDefault(productId, locale, of: bundleId)
                state.removeRetention(
                    RetentionDefault.self, RetentionDefault.key(productId, locale), of: bundleId, in: environment)
            }
        }
        routes.get("default/:product/:locale") { _, context in
            let app = try context.caller()
            let (productId, locale) = try names(context)
            let row = try await store.read { state in
                try state.checkDefault(productId, locale, of: app.bundleId)
                return state.retentionItem(
                    RetentionDefault.self, RetentionDefault.key(productId, locale), of: app.bundleId, in: environment)
            }
            guard let row else { throw APIError.defaultMessageNotFound }
            var json = JSONText()
            json.add("messageIdentifier", row.messageIdentifier)
            return APIAnswer.json(json.object)
        }
    }

    private func addRealtimeURL(to routes: RouterGroup<ServerAPIContext>) {
        routes.put("realtime/url") { request, context in
            let url = try await APIBody.decode(URLRequest.self, from: request).realtimeURL
            guard RealtimeSender.isAddress(url) else { throw APIError.badRealtimeURL }
            return try await change(context) { try $0.configureRealtimeURL(url, of: $1, in: environment) }
        }
        routes.delete("realtime/url") { _, context in
            // Apple's page lists no error for an app that has none.
            try await change(context) { $0.removeRetention(RetentionURL.self, of: $1, in: environment) }
        }
        routes.get("realtime/url") { _, context in
            let app = try context.caller()
            let row = await store.read { state in
                state.retentionItem(RetentionURL.self, of: app.bundleId, in: environment)
            }
            guard let row else { throw APIError.realtimeURLNotFound }
            var json = JSONText()
            json.add("realtimeURL", row.realtimeURL)
            return APIAnswer.json(json.object)
        }
    }

    private struct DefaultRequest: Decodable {
        let messageIdentifier: String
    }

    private struct URLRequest: Decodable {
        let realtimeURL: String
    }

    /// Changes what the calling app has, and answers with an empty body.
    @inline(never)
    private func change(
        _ context: ServerAPIContext, _ body: @escaping @Sendable (inout StoreState, String) throws -> Void
    ) async throws -> Response {
        let app = try context.caller()
        try await store.change { state, _ in try body(&state, app.bundleId) }
        return APIAnswer.empty()
    }

    private func imageSize(_ request: Request) throws -> RetentionImage.Size {
        guard let name = request.uri.queryParameters["imageSize"] else { return .full }
        guard let size = RetentionImage.Size(rawValue: String(name)) else { throw APIError.badImageSize }
        return size
    }

    /// The product and locale in a path.
    private func names(_ context: ServerAPIContext) throws -> (productId: String, locale: String) {
        (try context.pathPart("product"), try context.pathPart("locale"))
    }

    private func list(_ name: String, _ items: [String]) -> Response {
        var json = JSONText()
        json.add(name, json: "[\(items.joined(separator: ","))]")
        return APIAnswer.json(json.object)
    }
}
