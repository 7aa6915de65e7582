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
            let bytes = [UInt8](try await RetentionBody.bytes(of: request, maximum, or: .invalidImage))
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
            let app = try context.caller()
            let identifier = try RetentionIdentifier.uuid(context.parameters.get("identifier"))
            try await store.change { state, _ in
                try state.deleteImage(identifier, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
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
            let content = try RetentionMessageContent(json: try await RetentionBody.bytes(of: request, maximum))
            try await store.change { state, now in
                let message = RetentionMessage(messageIdentifier: identifier, content: content, uploadedDate: now)
                try state.uploadMessage(message, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
        }
        routes.delete("message/:identifier") { _, context in
            let app = try context.caller()
            let identifier = try RetentionIdentifier.uuid(context.parameters.get("identifier"))
            try await store.change { state, _ in
                try state.deleteMessage(identifier, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
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
            let body = try await RetentionBody.decode(DefaultRequest.self, from: request)
            let row = RetentionDefault(
                productId: productId, locale: locale,
                messageIdentifier: try RetentionIdentifier.uuid(body.messageIdentifier))
            try await store.change { state, now in
                try state.configureDefault(row, of: app.bundleId, in: environment, now: now)
            }
            return APIAnswer.empty()
        }
        routes.delete("default/:product/:locale") { _, context in
            let app = try context.caller()
            let (productId, locale) = try names(context)
            // Apple answers 200 where there was none, too (Delete Default Message).
            try await store.change { state, _ in
                try state.checkDefault(productId, locale, of: app.bundleId)
                state.removeRetention(
                    RetentionDefault.self, RetentionDefault.key(productId, locale), of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
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
            let app = try context.caller()
            let url = try await RetentionBody.decode(URLRequest.self, from: request).realtimeURL
            guard RealtimeSender.isAddress(url) else { throw APIError.badRealtimeURL }
            try await store.change { state, _ in
                try state.configureRealtimeURL(url, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
        }
        routes.delete("realtime/url") { _, context in
            let app = try context.caller()
            // Apple's page lists no error for an app that has none.
            try await store.change { state, _ in
                state.removeRetention(RetentionURL.self, of: app.bundleId, in: environment)
            }
            return APIAnswer.empty()
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

/// Bodies of the Retention Messaging API.
enum RetentionBody {
    /// The whole body; one that is longer is refused as `error`.
    static func bytes(
        of request: Request, _ maximum: Int, or error: APIError = .generalBadRequest
    ) async throws -> Data {
        var body = Data()
        for try await part in request.body {
            body.append(contentsOf: part.readableBytesView)
            guard body.count <= maximum else { throw error }
        }
        return body
    }

    static func decode<Body: Decodable>(
        _ type: Body.Type, from request: Request, or error: APIError = .generalBadRequest
    ) async throws -> Body {
        let body = try await bytes(of: request, ControlBody.Limit.bytes, or: error)
        guard let value = try? JSONDecoder().decode(Body.self, from: body) else { throw error }
        return value
    }
}
