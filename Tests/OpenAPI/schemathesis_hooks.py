"""What a schema cannot say, so that a request that fits it is a good one: which apps there are, above all.

A value that its schema refuses stays as it is: such a request is meant to be a bad one.
"""
import re
import unicodedata

import schemathesis

APP = "com.example.game"
# What becomes of the address of an endpoint; no test looks whether something is sent there.
URL, URL_LENGTH_MAXIMUM = "https://hooks.example.com/iap", 2_048
# The run has minutes, and a wait lasts for up to 30 seconds.
WAITS = {str(seconds) for seconds in range(1, 31)}
# A cursor is out of an answer before; what is made up is none. The longest that the schema takes, by path.
CURSORS = {
    "/v1/events": 60, "/v1/accounts/{id}/events": 60, "/v1/accounts/{id}/transactions": 2_000,
    "/v1/webhooks/deliveries": 2_000, "/v1/webhooks/deliveries/{event}/{endpoint}/attempts": 2_000,
    "/v1/webhooks/endpoints": 2_000, "/v1/webhooks/resend": 2_000,
}
ITEM_BYTES = 255
CURSORS |= dict.fromkeys((
    "/v1/orders", "/v1/submissions", "/v1/undelivered", "/v1/apple-notifications", "/v1/refund-requests", "/v1/audit-log",
    "/v1/accounts/{id}/ledger", "/v1/accounts/{id}/tokens", "/v1/views"), 2_000)
ACTS = {"/v1/submissions/retry", "/v1/orders/{transaction_id}/assign", "/v1/accounts/{id}/adjustments",
        "/v1/subscriptions/{original_transaction_id}/extend"}
NAMES_AN_ACCOUNT = {"/v1/purchases", "/v1/intents"}


def mend(members, path):
    if not isinstance(members, dict):
        return
    for name, value in list(members.items()):
        if name == "wait" and str(value) in WAITS:
            members[name] = 0
        elif not isinstance(value, str) or value == "":
            continue
        elif name == "app":
            members[name] = APP
        elif name == "url" and value.startswith("https://") and len(value) <= URL_LENGTH_MAXIMUM:
            members[name] = URL
        elif name == "after" and re.fullmatch("[A-Za-z0-9_-]+", value) and len(value) <= CURSORS.get(path, 0):
            del members[name]
        elif name in ("since", "until", "from", "to") and re.fullmatch("[0-9]{4}(-[0-9]{2}){2}([Tt].+)?", value):
            members[name] = "2026-11-01"
        elif path == "/v1/submissions" and name == "state" and value == "fulfilled":
            members.setdefault("account", "player-1")
        elif any(unicodedata.category(character) == "Cn" for character in value):
            # No schema can say which characters Unicode has not assigned yet.
            members[name] = "".join("x" if unicodedata.category(each) == "Cn" else each for each in value)


def mend_body(body, path):
    """Of a body that may be a good one."""
    if not isinstance(body, dict):
        return
    for name, value in list(body.items()):
        if value is None:
            # A member that is null is taken for one that was left out; a value of another wrong type is not.
            body[name] = {}
        elif name in ("since", "until") and isinstance(value, str) and value:
            body[name] = "2026-11-01"
    # A server API key says for whom it posts; a player's token need not.
    if path in NAMES_AN_ACCOUNT:
        body.setdefault("account", "player-1")
    # Only a dry run needs none.
    if (path == "/v1/webhooks/resend" or path in ACTS) and not body.get("dry_run"):
        body.setdefault("reason", "a test")
    items = body.get("items")
    if path == "/v1/accounts/{id}/spend" and isinstance(items, list) and all(isinstance(each, dict) for each in items):
        for each in items:
            # A schema counts characters, and the longest name is in bytes.
            if isinstance(each.get("item"), str) and len(each["item"]) <= ITEM_BYTES < len(each["item"].encode()):
                each["item"] = "gem"
        names = [each.get("item") for each in items]
        body["items"] = [each for number, each in enumerate(items) if names.index(each.get("item")) == number]


@schemathesis.hook
def before_call(context, case, kwargs):
    for members in (case.path_parameters, case.query, case.body):
        mend(members, context.operation.path)
    mend_body(case.body, context.operation.path)
    # A cursor, too; headers are named in whatever case.
    if re.fullmatch("[A-Za-z0-9]{1,60}", str(case.headers.get("Last-Event-ID", "") if case.headers else "")):
        del case.headers["Last-Event-ID"]
