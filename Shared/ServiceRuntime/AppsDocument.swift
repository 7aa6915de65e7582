/// The apps file as it is written; `AppsFile` says what it means.
// The names are the file's own.
// swift-format-ignore: AlwaysUseLowerCamelCase
struct AppsDocument: NamedFields {
    let authentication: StrictlyNamed<Access>?
    let app_store_server_api: StrictlyNamed<Key>?
    let subscription_offers: StrictlyNamed<Offers>?
    let apps: [StrictlyNamed<Entry>]

    enum CodingKeys: String, CodingKey, CaseIterable {
        case authentication, app_store_server_api, subscription_offers, apps
    }

    struct Entry: NamedFields {
        let bundle_id: String
        let app_apple_id: Int64?
        let released: Bool?
        let sandbox: String?
        let receipts: String?
        let possession: String?
        let finish: String?
        let account_token: String?
        let backend_posts_per_minute: Int?
        let forward_notifications: StrictlyNamed<Forwarding>?
        let shared_secret_file: String?
        let shared_secret_env: String?
        let app_store_server_api: StrictlyNamed<Key>?
        let subscription_offers: StrictlyNamed<Offers>?
        let authentication: StrictlyNamed<Access>?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case bundle_id, app_apple_id, released, sandbox, receipts, possession, shared_secret_file
            case finish, account_token, backend_posts_per_minute, forward_notifications
            case shared_secret_env, app_store_server_api, subscription_offers, authentication
        }
    }

    struct Forwarding: NamedFields {
        let url: String
        let allow_private_addresses: Bool?

        enum CodingKeys: String, CodingKey, CaseIterable { case url, allow_private_addresses }
    }

    struct Key: NamedFields {
        let issuer_id: String
        let key_id: String
        let private_key_file: String?
        let private_key_env: String?

        enum CodingKeys: String, CodingKey, CaseIterable { case issuer_id, key_id, private_key_file, private_key_env }
    }

    struct Offers: NamedFields {
        let issuer_id: String
        let key_id: String
        let private_key_file: String?
        let private_key_env: String?
        let player_offers: [String]?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case issuer_id, key_id, private_key_file, private_key_env, player_offers
        }

        /// The key alone.
        var key: Key {
            Key(
                issuer_id: issuer_id, key_id: key_id, private_key_file: private_key_file,
                private_key_env: private_key_env)
        }
    }

    struct Access: NamedFields {
        let jwt: StrictlyNamed<Token>?
        let api_keys_sha256: [String]?
        let api_keys: [StrictlyNamed<NamedKey>]?

        enum CodingKeys: String, CodingKey, CaseIterable { case jwt, api_keys_sha256, api_keys }
    }

    struct NamedKey: NamedFields {
        let name: String
        let sha256: String
        let scopes: [String]
        let environment: String?

        enum CodingKeys: String, CodingKey, CaseIterable { case name, sha256, scopes, environment }
    }

    struct Token: NamedFields {
        let hs256_secret: String?
        let hs256_secret_file: String?
        let hs256_secret_env: String?
        let jwks_file: String?
        let jwks_url: String?
        let issuer: String?
        let audience: String?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case hs256_secret, hs256_secret_file, hs256_secret_env, jwks_file, jwks_url, issuer, audience
        }
    }
}
