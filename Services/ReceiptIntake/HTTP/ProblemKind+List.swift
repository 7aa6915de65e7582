import HTTPTypes

extension ProblemKind {
    /// Every kind, by code; a test makes sure that none is left out.
    static let all = [
        accountForbidden, accountTokenTaken, appUnknown, authenticationFailed, authenticationRequired,
        authenticationUnavailable, balanceBeyondLimit, balanceInsufficient, bodyIncomplete, bodyMalformed, bodyTooLarge,
        bodyTooSlow, contentTypeUnsupported, cursorExpired, databaseUnavailable, entitlementNotByHand, fieldInvalid,
        fieldMissing,
        idempotencyKeyRequired, idempotencyKeyReused, intentsExhausted, internalServerError, liveKeyRequired,
        methodNotAllowed, notFound, notificationAppUnknown, notificationNotGenuine, notificationVersionOne,
        notificationsPutOff, offerForbidden, offerKeyMissing, orderNotAssignable, overloaded, proofAmbiguous,
        proofMalformed, putOff, rateLimited, requestUnderWay, rightsMissing, scopeMissing, secretRotating,
        serverKeyRequired, streamsFull, streamsOfAccount, streamsOfAddress, sweepUnknown, sweepsExhausted,
        tooManyEndpoints, versionNotReached, versionUnknown, webhookKeyMissing,
    ]

    // What is wrong with a request: sent again as it is, it is refused again.
    static let bodyIncomplete = ProblemKind(
        "body-incomplete", .badRequest, "The body is not complete",
        meaning:
            "The connection ended before the body did, or the chunks of the body are malformed. Nothing was stored.",
        remedy: "Send the same again on a new connection.")
    static let bodyMalformed = ProblemKind(
        "body-malformed", .badRequest, "The body is not readable",
        meaning: "The body is no JSON object, no UTF-8 text, or nests too deep.",
        remedy: "Send one JSON object. `detail` says what was found.")
    static let bodyTooLarge = ProblemKind(
        "body-too-large", .contentTooLarge, also: .badRequest, "The body is too large",
        meaning: "The body is larger than the route accepts.",
        remedy: "Send less. `detail` has the limit. To Apple's notifications the status is 400.")
    static let bodyTooSlow = ProblemKind(
        "body-too-slow", .requestTimeout, "The body came too slowly",
        meaning: "The body of a notification did not come in time, and its connection was closed.",
        remedy: "None: Apple sends it again. `detail` has the limit.")
    static let contentTypeUnsupported = ProblemKind(
        "content-type-unsupported", .unsupportedMediaType, "The content type is not supported",
        meaning: "The request does not say that its body is JSON.",
        remedy: "Send the header `Content-Type: application/json`.")
    static let fieldMissing = ProblemKind(
        "field-missing", .unprocessableContent, also: .badRequest, "A field is missing",
        meaning: "A member of the body, or a parameter, is required and is not there.",
        remedy: "Send it. `field` names it.")
    static let fieldInvalid = ProblemKind(
        "field-invalid", .unprocessableContent, also: .badRequest, "A field is not valid",
        meaning: "A member of the body, or a parameter, has an invalid value.",
        remedy: "Send another value. `field` names it, and `detail` says what it must be.")
    static let proofMalformed = ProblemKind(
        "proof-malformed", .unprocessableContent, also: .badRequest, "The proof is not well formed",
        meaning: "The posted data does not have the form of a signed transaction, a receipt or a server notification.",
        remedy:
            "Post what StoreKit gave, unchanged: `jwsRepresentation`, or the receipt's bytes in base64. `field` says "
            + "which proof is meant.")
    static let proofAmbiguous = ProblemKind(
        "proof-ambiguous", .unprocessableContent, "There is more than one proof",
        meaning: "The body has more than one proof.",
        remedy:
            "Send one of `signed_transaction`, `receipt`, `transaction_id` and `order_id`; `transaction_id` may stand "
            + "beside `receipt`.")
    static let appUnknown = ProblemKind(
        "app-unknown", .unprocessableContent, "The app is not known",
        meaning: "No app with this bundle id is in the apps file.",
        remedy:
            "Compare `app` with the bundle id in App Store Connect; the operator adds an app with `countersign app "
            + "add`.")
    static let offerKeyMissing = ProblemKind(
        "offer-key-missing", .unprocessableContent, "The app has no key for subscription offers",
        meaning: "The app has no key that signs subscription offers.",
        remedy: "The operator gives the app `subscription_offers` in the apps file.")
    static let webhookKeyMissing = ProblemKind(
        "webhook-key-missing", .unprocessableContent, "Secrets of endpoints cannot be kept here",
        meaning: "Secrets of webhook endpoints cannot be stored: there is no key that seals them.",
        remedy: "The operator sets COUNTERSIGN_WEBHOOKS_KEY for receipt-intake and notification.")
    static let sweepUnknown = ProblemKind(
        "sweep-unknown", .unprocessableContent, "Nothing is known that Apple could be asked by",
        meaning: "Apple is asked by a transaction of the customer's, and none is known here.",
        remedy: "Post a transaction id to `/v1/purchases`, or ask by the order id of Apple's e-mail.")
    static let idempotencyKeyRequired = ProblemKind(
        "idempotency-key-required", .badRequest, "The request needs a key",
        meaning:
            "The header `Idempotency-Key` is missing, comes twice, or is no printable ASCII of 1 to 255 characters.",
        remedy: "Name each request, and give each repetition of it the same name.")
    static let idempotencyKeyReused = ProblemKind(
        "idempotency-key-reused", .unprocessableContent, "Another request has used the key",
        meaning: "Another request was sent under this `Idempotency-Key`. Nothing was done now.",
        remedy: "Give each other request another key.")
    static let requestUnderWay = ProblemKind(
        "request-under-way", .conflict, "The request is under way",
        meaning: "A request with this `Idempotency-Key` is not answered yet. It is done once.",
        remedy: "Send it again after `Retry-After` seconds; the answer is the first one's.")
    static let rightsMissing = ProblemKind(
        "rights-missing", .unprocessableContent, "The database's role may not do this",
        meaning: "The database's role of receipt-intake may not do this. Nothing was done.",
        remedy:
            "The operator grants it `countersign_desk` for acts, `countersign_wallet` for spending, or leaves that to "
            + "`countersign`.")
    static let orderNotAssignable = ProblemKind(
        "order-not-assignable", .conflict, "The order cannot be assigned",
        meaning:
            "Only an order that is parked without an account can be assigned. `reason` says what it is: "
            + "`order_not_parked`, `order_has_account` or `order_assigned_already`.",
        remedy: "Read the order and its story.")
    static let balanceBeyondLimit = ProblemKind(
        "balance-beyond-limit", .conflict, "The balance would be beyond its limit",
        meaning: "The account would hold, or owe, more of an item than it can. Nothing was changed.",
        remedy: "Give or take less.")
    static let entitlementNotByHand = ProblemKind(
        "entitlement-not-by-hand", .conflict, "The entitlement was not given by hand",
        meaning: "An entitlement that is to be taken away is not in force by a person's word. Nothing was changed.",
        remedy: "Read the account. What an order gives is taken away by a refund.")
    static let notFound = ProblemKind(
        "not-found", .notFound, "Not found",
        meaning: "It does not exist, or it belongs to another account or app; the answer is the same.",
        remedy: "Compare the path, the app and the environment.")
    static let methodNotAllowed = ProblemKind(
        "method-not-allowed", .methodNotAllowed, "The method is not allowed here",
        meaning: "The path exists, but does not accept this method.",
        remedy: "Use a method of the header `Allow`.")
    static let versionUnknown = ProblemKind(
        "version-unknown", .badRequest, "The version of the API is not known",
        meaning: "The header `Countersign-Version` names a version that this installation does not have.",
        remedy: "Name a version of `detail`, or leave the header out.")
    static let notificationNotGenuine = ProblemKind(
        "notification-not-genuine", .badRequest, "The notification is not signed by the App Store",
        meaning:
            "The App Store did not sign this notification. `reason` names the check that refused it, and has a page "
            + "of its own at `/reasons/{code}`.",
        remedy: "If Apple sent it, the operator compares COUNTERSIGN_TRUSTED_ROOTS.")
    static let notificationVersionOne = ProblemKind(
        "notification-version-one", .badRequest, "The notification is of version 1",
        meaning: "It is a notification of version 1, which Apple does not sign. Nothing of it is kept.",
        remedy:
            "In App Store Connect, at App Information, App Store Server Notifications, choose Version 2: for "
            + "production and for sandbox. `environment` says which it was, where the notification does.")
    static let notificationAppUnknown = ProblemKind(
        "notification-app-unknown", .notFound, "The app is not known",
        meaning: "The notification is of an app that is not in the apps file.",
        remedy: "The operator adds the app within six days: Apple sends the notification again until then.")

    // What is wrong with who calls.
    static let authenticationRequired = ProblemKind(
        "authentication-required", .unauthorized, "Authentication is required",
        meaning: "The request has no credentials.",
        remedy: "Send `Authorization: Bearer` with the player's token or a server API key.")
    static let authenticationFailed = ProblemKind(
        "authentication-failed", .unauthorized, "The credentials are not valid",
        meaning: "The credentials are not valid for this app: unknown, expired, or signed by another key.",
        remedy: "Get a new token; `detail` says what is wrong with this one.")
    static let accountForbidden = ProblemKind(
        "account-forbidden", .forbidden, "The account is another one",
        meaning: "The body names another account than the player's token.",
        remedy: "Leave `account` out; a player's token says whose it is.")
    static let serverKeyRequired = ProblemKind(
        "server-key-required", .forbidden, "A server API key is required",
        meaning: "Only your backend may do this.",
        remedy: "Call it from the backend, with a server API key. Never ship such a key in an app.")
    static let scopeMissing = ProblemKind(
        "scope-missing", .forbidden, "The server API key lacks a scope",
        meaning: "The server API key is valid, but not for this route. `scope` names the missing scope.",
        remedy: "Use a key with that scope; the operator makes one with `countersign key create`.")
    static let liveKeyRequired = ProblemKind(
        "live-key-required", .forbidden, "A live key is required",
        meaning:
            "The server API key is a test key, and the request is about production, or about both environments at once.",
        remedy: "Name the sandbox, and post signed transactions of the sandbox alone; or use a live key.")
    static let offerForbidden = ProblemKind(
        "offer-forbidden", .forbidden, "The offer is not for every player",
        meaning: "The app's `player_offers` does not list this offer, so players do not get it signed.",
        remedy: "Have the backend ask, with a key of the scope `sign`, or have the operator list the offer.")

    // What a request meets that is otherwise good.
    static let accountTokenTaken = ProblemKind(
        "account-token-taken", .conflict, "The token is another account's",
        meaning: "The appAccountToken is another account's, for ever.",
        remedy: "Make a new UUID for each account; better, open a purchase intent.")
    static let balanceInsufficient = ProblemKind(
        "balance-insufficient", .conflict, "The balance is not sufficient",
        meaning:
            "The account has less than was to be spent; `items` says of what. Nothing was spent, and nothing is "
            + "remembered.",
        remedy: "Tell the player, or send the same request again when there is more.")
    static let cursorExpired = ProblemKind(
        "cursor-expired", .gone, "The cursor is older than what is there",
        meaning: "The events after the cursor have been removed, because their retention has ended.",
        remedy: "Read what the accounts have now, then pull without `after`, from the oldest event that is there.")
    static let secretRotating = ProblemKind(
        "secret-rotating", .conflict, "The secret is being rotated already",
        meaning:
            "Two secrets of the endpoint are live; `expires_at` says when the older one ends. Nothing was changed.",
        remedy: "Wait until then, or end the older one now with `secrets/expire`.")
    static let tooManyEndpoints = ProblemKind(
        "too-many-endpoints", .conflict, "There are as many endpoints as there may be",
        meaning: "The app has the maximum number of endpoints; `maximum` is that number.",
        remedy: "Remove one that is out of use.")
    static let versionNotReached = ProblemKind(
        "version-not-reached", .conflict, "The account has not reached the version",
        meaning: "The account's version is lower than `at_least`; `version` says which it is.",
        remedy: "Ask again after `Retry-After`, or with a longer `wait`.")

    // What may succeed later as it is; all of them have `Retry-After`, and lose nothing.
    static let rateLimited = ProblemKind(
        "rate-limited", .tooManyRequests, "There are too many requests",
        meaning: "The account, the address, or the app's backend sends more than it may.",
        remedy: "Send the same again after `Retry-After` seconds. Do not finish a transaction that was posted.")
    static let intentsExhausted = ProblemKind(
        "intents-exhausted", .tooManyRequests, "The account has opened too many purchase intents",
        meaning: "The account has opened as many purchase intents as it may within 24 hours.",
        remedy: "Open one when the player presses buy, and not before; ask again after `Retry-After` seconds.")
    static let sweepsExhausted = ProblemKind(
        "sweeps-exhausted", .tooManyRequests, "Too many sweeps were asked for",
        meaning: "The app has asked for as many sweeps as it may within 24 hours.",
        remedy: "Ask again after `Retry-After` seconds. The operator's `countersign apple sweep` has no such limit.")
    static let streamsOfAccount = ProblemKind(
        "streams-of-account", .tooManyRequests, "The account has too many streams",
        meaning: "The account has as many streams of events open as it may.",
        remedy: "Close one, or read the events a page at a time.")
    static let streamsOfAddress = ProblemKind(
        "streams-of-address", .tooManyRequests, "Too many streams are open from this address",
        meaning: "Players at this address have as many streams of events open as they may.",
        remedy: "Read the events a page at a time; a proxy of yours must be named in the settings.")
    static let streamsFull = ProblemKind(
        "streams-full", .serviceUnavailable, "Too many streams are open",
        meaning: "The process has the maximum number of open event streams.",
        remedy: "Open it again after `Retry-After` seconds, or read the events a page at a time.")
    static let authenticationUnavailable = ProblemKind(
        "authentication-unavailable", .serviceUnavailable, "The credentials cannot be checked now",
        meaning: "The keys that verify credentials are not available now.",
        remedy: "Send the same again after `Retry-After` seconds.")
    static let databaseUnavailable = ProblemKind(
        "database-unavailable", .serviceUnavailable, "The database cannot be reached now",
        meaning: "The database does not answer. What was posted may or may not be on disk.",
        remedy: "Send the same again after `Retry-After` seconds: it is the same submission.")
    static let overloaded = ProblemKind(
        "overloaded", .serviceUnavailable, "Too much arrives at once",
        meaning: "More requests arrive than the process can accept.",
        remedy: "Send the same again after `Retry-After` seconds. Do not finish a transaction that was posted.")
    static let putOff = ProblemKind(
        "put-off", .serviceUnavailable, "Too much is asked at once",
        meaning: "There are more requests than database connections.",
        remedy: "Ask again after `Retry-After` seconds.")
    static let notificationsPutOff = ProblemKind(
        "notifications-put-off", .serviceUnavailable, "Too many notifications arrive at once",
        meaning: "More notifications arrive than the process can accept.",
        remedy: "None: Apple sends it again.")
    static let internalServerError = ProblemKind(
        "internal-server-error", .internalServerError, "Internal Server Error",
        meaning: "The request failed because of an internal error.",
        remedy: "Send it again later, and give the operator the `request_id`: it finds the reason in the log.")
}
