import Foundation

/// Turns the apps file as it is written into the apps that it means.
struct AppsReader {
    let path: String
    let secrets: AppsFile.Secrets
    let environment: [String: String]

    func read() throws(SettingsFileError) -> AppsFile {
        let loaded = try SettingsFile.load(StrictlyNamed<AppsDocument>.self, path: path)
        let document = loaded.value.value
        var apps: [String: AppsFile.App] = [:]
        for (number, entry) in document.apps.map(\.value).enumerated() {
            let place = Place(path: path, lines: loaded.lines, steps: ["apps", SettingsStep(intValue: number)])
            guard !entry.bundle_id.isEmpty else { throw place.mistake("an app's `bundle_id` is empty", "bundle_id") }
            let app = try app(entry, document, place)
            guard apps.updateValue(app, forKey: entry.bundle_id) == nil else {
                throw place.mistake("the app \(entry.bundle_id) is listed twice", "bundle_id")
            }
        }
        return AppsFile(apps: apps)
    }

    /// Where something stands in the file.
    struct Place {
        let path: String
        let lines: SettingsLines
        var steps: [SettingsStep]

        /// The part of it that a field is.
        func of(_ step: SettingsStep) -> Place {
            Place(path: path, lines: lines, steps: steps + [step])
        }

        func mistake(_ problem: String, _ step: SettingsStep? = nil) -> SettingsFileError {
            let steps = steps + (step.map { [$0] } ?? [])
            return SettingsFileError(path: path, problem: problem, line: lines.line(of: steps))
        }

        /// What reading a secret says, with the line.
        func secret<Value>(_ read: () throws(SettingsFileError) -> Value) throws(SettingsFileError) -> Value {
            do { return try read() } catch {
                throw SettingsFileError(path: path, problem: error.problem, line: lines.line(of: steps))
            }
        }
    }

    private func app(
        _ entry: AppsDocument.Entry, _ document: AppsDocument, _ place: Place
    ) throws(SettingsFileError) -> AppsFile.App {
        let id = entry.bundle_id
        let sharedSecret = SecretPlace(
            name: "shared_secret", owner: id, file: entry.shared_secret_file, variable: entry.shared_secret_env)
        let file = Place(path: path, lines: place.lines, steps: [])
        let key = entry.app_store_server_api ?? document.app_store_server_api
        let keyPlace = (entry.app_store_server_api == nil ? file : place).of("app_store_server_api")
        let offers = entry.subscription_offers ?? document.subscription_offers
        let offersPlace = (entry.subscription_offers == nil ? file : place).of("subscription_offers")
        let access = entry.authentication ?? document.authentication
        let accessPlace = (entry.authentication == nil ? file : place).of("authentication")
        let readsApple = secrets.contains(.apple)
        var app = AppsFile.App(
            bundleId: id, appAppleId: entry.app_apple_id, isReleased: entry.released ?? (entry.app_apple_id != nil),
            sandbox: try choice(entry.sandbox, or: .accept, "sandbox", of: id, place),
            receipts: try choice(entry.receipts, or: .offline, "receipts", of: id, place),
            possession: try choice(entry.possession, or: .proof, "possession", of: id, place),
            sharedSecret: readsApple ? try read(sharedSecret, place) : nil,
            serverAPI: readsApple ? try appStoreKey(key?.value, "app_store_server_api", of: id, keyPlace) : nil,
            subscriptionOffers: secrets.contains(.offers)
                ? try subscriptionOffers(offers?.value, of: id, offersPlace) : nil,
            authentication: try authentication(secrets.contains(.callers) ? access?.value : nil, accessPlace))
        app.canBeAsked = key != nil
        app.finish = try choice(entry.finish, or: .app, "finish", of: id, place)
        app.accountToken = try choice(entry.account_token, or: .leave, "account_token", of: id, place)
        app.backendPostsPerMinute = try backendPosts(entry.backend_posts_per_minute, of: id, place)
        app.forwarding = try forwarding(entry.forward_notifications?.value, of: id, place)
        return app
    }

    private func backendPosts(_ number: Int?, of app: String, _ place: Place) throws(SettingsFileError) -> Int? {
        guard let number, !(0...AppsFile.App.backendPostsMaximum).contains(number) else { return number }
        throw place.mistake(
            "`backend_posts_per_minute` of \(app) is \(number), not from 0 to \(AppsFile.App.backendPostsMaximum)",
            SettingsStep(stringValue: "backend_posts_per_minute"))
    }

    private func forwarding(
        _ entry: AppsDocument.Forwarding?, of app: String, _ place: Place
    ) throws(SettingsFileError) -> AppsFile.Forwarding? {
        guard let entry else { return nil }
        let allowsPrivate = entry.allow_private_addresses ?? false
        do {
            _ = try WebhookAddress(entry.url, allowsPrivateAddresses: allowsPrivate)
        } catch {
            throw place.mistake(
                "the address in `forward_notifications` of \(app) \(error)",
                SettingsStep(stringValue: "forward_notifications"))
        }
        return AppsFile.Forwarding(url: entry.url, allowsPrivateAddresses: allowsPrivate)
    }

    func read(_ secret: SecretPlace, _ place: Place) throws(SettingsFileError) -> Redacted<String>? {
        try place.of(SettingsStep(stringValue: secret.field)).secret { () throws(SettingsFileError) in
            try secret.read(namedIn: path, environment: environment)
        }
    }

    private func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String?, or standard: Choice, _ field: String, of app: String, _ place: Place
    ) throws(SettingsFileError) -> Choice {
        guard let text else { return standard }
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw place.mistake(
                "`\(field)` of \(app) is \"\(text)\", not one of \(known)", SettingsStep(stringValue: field))
        }
        return choice
    }

    private func authentication(
        _ entry: AppsDocument.Access?, _ place: Place
    ) throws(SettingsFileError) -> AppsFile.Authentication {
        let jwt = entry?.jwt?.value
        let jwtPlace = place.of("jwt")
        var secret = jwt?.hs256_secret
        if let file = jwt?.hs256_secret_file {
            secret = try jwtPlace.of("hs256_secret_file").secret { () throws(SettingsFileError) in
                try SettingsFile.secret(at: file, namedIn: path, environment: environment)
            }
        }
        if let name = jwt?.hs256_secret_env { secret = environment[name] }
        // RFC 7518, section 3.2: an HS256 key has at least as many bits as the hash.
        if let secret, secret.utf8.count < 32 { throw jwtPlace.mistake("the HS256 secret is shorter than 32 bytes") }
        // The keys at an address may be shared: those of Firebase sign for every project, and only these two tell them apart.
        if jwt?.jwks_url != nil {
            for (name, value) in [("issuer", jwt?.issuer), ("audience", jwt?.audience)] where value?.isEmpty ?? true {
                throw jwtPlace.mistake(
                    "`jwks_url` needs `\(name)`: whoever shares the key set could sign tokens of any player",
                    SettingsStep(stringValue: "jwks_url"))
            }
        }
        return AppsFile.Authentication(
            hs256Secret: secret.map { Redacted($0) }, jwksFile: jwt?.jwks_file, jwksURL: jwt?.jwks_url,
            issuer: jwt?.issuer, audience: jwt?.audience, serverKeys: try serverKeys(entry, place))
    }
}
