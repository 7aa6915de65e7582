extension ProblemPage {
    /// What is wrong with a request: sent again as it is, it is refused again.
    static let requests: [ProblemPage] = [
        ProblemPage(
            "body-malformed", 400, meaning: "The body is no JSON object, no UTF-8 text, or nests too deep.",
            remedy: "Send one JSON object. `detail` says what was found."),
        ProblemPage(
            "body-too-large", 413, 400, meaning: "The body is larger than the route accepts.",
            remedy: "Send less. `detail` has the limit. To Apple's notifications the status is 400."),
        ProblemPage(
            "body-too-slow", 408,
            meaning: "The body of a notification did not come in time, and its connection was closed.",
            remedy: "None: Apple sends it again. `detail` has the limit."),
        ProblemPage(
            "content-type-unsupported", 415, meaning: "The request does not say that its body is JSON.",
            remedy: "Send the header `Content-Type: application/json`."),
        ProblemPage(
            "field-missing", 422, 400, meaning: "A member of the body, or a parameter, is required and is not there.",
            remedy: "Send it. `field` names it."),
        ProblemPage(
            "field-invalid", 422, 400,
            meaning: "A member of the body, or a parameter, has an invalid value.",
            remedy: "Send another value. `field` names it, and `detail` says what it must be."),
        ProblemPage(
            "proof-malformed", 422, 400,
            meaning:
                "The posted data does not have the form of a signed transaction, a receipt or a server notification.",
            remedy:
                "Post what StoreKit gave, unchanged: `jwsRepresentation`, or the receipt's bytes in base64. `field` says "
                + "which proof is meant."),
        ProblemPage(
            "proof-ambiguous", 422, meaning: "The body has more than one proof.",
            remedy:
                "Send one of `signed_transaction`, `receipt`, `transaction_id` and `order_id`; `transaction_id` may "
                + "stand beside `receipt`."),
        ProblemPage(
            "app-unknown", 422, meaning: "No app with this bundle id is in the apps file.",
            remedy: "Compare `app` with the bundle id in App Store Connect; the operator adds an app with "
                + "`countersign app add`."),
        ProblemPage(
            "offer-key-missing", 422, meaning: "The app has no key that signs subscription offers.",
            remedy: "The operator gives the app `subscription_offers` in the apps file."),
        ProblemPage(
            "webhook-key-missing", 422,
            meaning: "Secrets of webhook endpoints cannot be stored: there is no key that seals them.",
            remedy: "The operator sets COUNTERSIGN_WEBHOOKS_KEY for receipt-intake and notification."),
        ProblemPage(
            "sweep-unknown", 422,
            meaning: "Apple is asked by a transaction of the customer's, and none is known here.",
            remedy: "Post a transaction id, or the order id of Apple's e-mail, to `/v1/purchases`."),
        ProblemPage(
            "idempotency-key-required", 400,
            meaning: "The header `Idempotency-Key` is missing, comes twice, or is no "
                + "printable ASCII of 1 to 255 characters.",
            remedy: "Name each request, and give each repetition of it the same name."),
        ProblemPage(
            "idempotency-key-reused", 422,
            meaning: "The account has sent another request under this `Idempotency-Key`. "
                + "Nothing was done now.",
            remedy: "Give each other request another key."),
        ProblemPage(
            "not-found", 404,
            meaning: "It does not exist, or it belongs to another account or app; the answer is the same.",
            remedy: "Compare the path, the app and the environment."),
        ProblemPage(
            "method-not-allowed", 405, meaning: "The path exists, but does not accept this method.",
            remedy: "Use a method of the header `Allow`."),
        ProblemPage(
            "notification-not-genuine", 400,
            meaning: "The App Store did not sign this notification. `reason` names the "
                + "check that refused it, and has a page of its own at `/reasons/{code}`.",
            remedy: "If Apple sent it, the operator compares COUNTERSIGN_TRUSTED_ROOTS."),
        ProblemPage(
            "notification-version-one", 400,
            meaning: "It is a notification of version 1, which Apple does not sign. Nothing of it is kept.",
            remedy:
                "In App Store Connect, at App Information, App Store Server Notifications, choose Version 2: for production "
                + "and for sandbox. `environment` says which it was, where the notification does."),
        ProblemPage(
            "notification-app-unknown", 404, meaning: "The notification is of an app that is not in the apps file.",
            remedy: "The operator adds the app within six days: Apple sends the notification again until then."),
    ]

    /// What is wrong with who calls.
    static let callers: [ProblemPage] = [
        ProblemPage(
            "authentication-required", 401, meaning: "The request has no credentials.",
            remedy: "Send `Authorization: Bearer` with the player's token or a server API key."),
        ProblemPage(
            "authentication-failed", 401,
            meaning: "The credentials are not valid for this app: unknown, expired, or "
                + "signed by another key.",
            remedy: "Get a new token; `detail` says what is wrong with this one."),
        ProblemPage(
            "account-forbidden", 403, meaning: "The body names another account than the player's token.",
            remedy: "Leave `account` out; a player's token says whose it is."),
        ProblemPage(
            "server-key-required", 403, meaning: "Only your backend may do this.",
            remedy: "Call it from the backend, with a server API key. Never ship such a key in an app."),
        ProblemPage(
            "scope-missing", 403,
            meaning: "The server API key is valid, but not for this route. `scope` names the missing "
                + "scope.",
            remedy: "Use a key with that scope; the operator makes one with `countersign key create`."),
        ProblemPage(
            "offer-forbidden", 403,
            meaning: "The app's `player_offers` does not list this offer, so players do not get it "
                + "signed.",
            remedy: "Have the backend ask, with a key of the scope `sign`, or have the operator list the offer."),
    ]

    /// What a request meets that is otherwise good.
    static let states: [ProblemPage] = [
        ProblemPage(
            "account-token-taken", 409, meaning: "The appAccountToken is another account's, for ever.",
            remedy: "Make a new UUID for each account; better, open a purchase intent."),
        ProblemPage(
            "balance-insufficient", 409,
            meaning: "The account has less than was to be spent; `items` says of what. Nothing "
                + "was spent, and nothing is remembered.",
            remedy: "Tell the player, or send the same request again when there is more."),
        ProblemPage(
            "cursor-expired", 410,
            meaning: "The events after the cursor have been removed, because their retention has ended.",
            remedy: "Read what the accounts have now, then pull without `after`, from the oldest event that is there."),
        ProblemPage(
            "secret-rotating", 409,
            meaning: "Two secrets of the endpoint are live; `until` says when the older one ends. Nothing was changed.",
            remedy: "Wait until then, or end the older one now with `secrets/expire`."),
        ProblemPage(
            "too-many-endpoints", 409,
            meaning: "The app has the maximum number of endpoints; `maximum` is that number.",
            remedy: "Remove one that is out of use."),
        ProblemPage(
            "version-not-reached", 409,
            meaning: "The account's version is lower than `at_least`; `version` says which it is.",
            remedy: "Ask again after `Retry-After`, or with a longer `wait`."),

    ]

    /// What may succeed later as it is; all of them have `Retry-After`, and lose nothing.
    static let later: [ProblemPage] = [
        ProblemPage(
            "rate-limited", 429, meaning: "The account, the address, or the app's backend sends more than it may.",
            remedy: "Send the same again after `Retry-After` seconds. Do not finish a transaction that was posted."),
        ProblemPage(
            "intents-exhausted", 429,
            meaning: "The account has opened as many purchase intents as it may within 24 hours.",
            remedy: "Open one when the player presses buy, and not before; ask again after `Retry-After` seconds."),
        ProblemPage(
            "sweeps-exhausted", 429, meaning: "The app has asked for as many sweeps as it may within 24 hours.",
            remedy: "Ask again after `Retry-After` seconds. The operator's `countersign apple sweep` has no such limit."
        ),
        ProblemPage(
            "streams-of-account", 429, meaning: "The account has as many streams of events open as it may.",
            remedy: "Close one, or read the events a page at a time."),
        ProblemPage(
            "streams-of-address", 429,
            meaning: "Players at this address have as many streams of events open as they may.",
            remedy: "Read the events a page at a time; a proxy of yours must be named in the settings."),
        ProblemPage(
            "streams-full", 503, meaning: "The process has the maximum number of open event streams.",
            remedy: "Open it again after `Retry-After` seconds, or read the events a page at a time."),
        ProblemPage(
            "authentication-unavailable", 503, meaning: "The keys that verify credentials are not available now.",
            remedy: "Send the same again after `Retry-After` seconds."),
        ProblemPage(
            "database-unavailable", 503,
            meaning: "The database does not answer. What was posted may or may not be on disk.",
            remedy: "Send the same again after `Retry-After` seconds: it is the same submission."),
        ProblemPage(
            "overloaded", 503, meaning: "More requests arrive than the process can accept.",
            remedy: "Send the same again after `Retry-After` seconds. Do not finish a transaction that was posted."),
        ProblemPage(
            "put-off", 503, meaning: "There are more requests than database connections.",
            remedy: "Ask again after `Retry-After` seconds."),
        ProblemPage(
            "notifications-put-off", 503, meaning: "More notifications arrive than the process can accept.",
            remedy: "None: Apple sends it again."),
        ProblemPage(
            "internal-server-error", 500, meaning: "The request failed because of an internal error.",
            remedy: "Send it again later, and give the operator the `request_id`: it finds the reason in the log."),
    ]
}
