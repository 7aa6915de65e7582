"""Whether Apple's models know every field that the simulator writes, and which of their fields the simulator writes."""

import base64
import collections
import enum
import json
import uuid

import attr

# Fields that Apple documents and its Python library 3.1.2 has no model of (changelogs 2025-03-24 and 2025-06-26; the
# last one is deprecated, and still sent).
NOT_IN_LIBRARY = {"tokenType", "tokenExpirationDate", "previousOriginalTransactionId", "firstSendAttemptResult"}
# Values that Apple documents and the library's enumerations lack (changelog 2025-06-26).
VALUES_NOT_IN_LIBRARY = {("subtype", "CREATED"), ("subtype", "ACTIVE_TOKEN_REMINDER")}

# What all checks of this run saw: model name and field -> the values, for every_field.py.
SEEN = collections.defaultdict(set)


def payload(signed):
    """The payload of a JWS as it was signed, its fields in order; nothing is verified."""
    part = signed.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def check(test, raw, model, path=""):
    """Fails the test where a raw field has no place in the decoded model, or another value there."""
    test.assertTrue(attr.has(type(model)), f"{path}: {type(model).__name__} is no model")
    known = {field.name for field in attr.fields(type(model))}
    for name, value in raw.items():
        place = f"{path}.{name}" if path else name
        if name in NOT_IN_LIBRARY:
            continue
        test.assertIn(name, known, f"{place} is unknown to {type(model).__name__}")
        check_value(test, value, getattr(model, name), place, model, name)


def check_value(test, raw, decoded, path, model, name):
    """Compares one raw value with the decoded one."""
    if (name, raw) in [pair for pair in VALUES_NOT_IN_LIBRARY if not isinstance(raw, (list, dict))]:
        return
    test.assertIsNotNone(decoded, f"{path}: {raw!r} is unknown to {type(model).__name__}")
    if isinstance(raw, dict) and attr.has(type(decoded)):
        note(model, name, "…")
        check(test, raw, decoded, path)
    elif isinstance(raw, dict):
        note(model, name, "…")
        test.assertEqual(raw, {getattr(key, "value", key): value for key, value in decoded.items()}, path)
    elif isinstance(raw, list):
        test.assertEqual(len(raw), len(decoded), path)
        for index, (one, other) in enumerate(zip(raw, decoded)):
            check_value(test, one, other, f"{path}[{index}]", model, name)
        note(model, name, "…")
    elif isinstance(decoded, enum.Enum):
        note(model, name, raw)
        test.assertEqual(raw, decoded.value, path)
    elif isinstance(decoded, uuid.UUID):
        note(model, name, "…")
        test.assertEqual(raw, str(decoded), path)
    else:
        note(model, name, raw if isinstance(raw, bool) else "…")
        test.assertEqual((type(raw), raw), (type(decoded), decoded), path)


def note(model, name, value):
    SEEN[f"{type(model).__name__}.{name}"].add(value)


def check_notification(test, signed, decoded, verifier):
    """A notification, and what is signed inside it."""
    raw = payload(signed)
    check(test, raw, decoded)
    contents = [name for name in ("data", "summary", "externalPurchaseToken", "appData") if name in raw]
    test.assertEqual(1, len(contents), f"a notification has one content: {list(raw)}")
    inner = raw[contents[0]]
    for name, decode in [
            ("signedTransactionInfo", verifier.verify_and_decode_signed_transaction),
            ("signedRenewalInfo", verifier.verify_and_decode_renewal_info),
            ("signedAppTransactionInfo", verifier.verify_and_decode_app_transaction)]:
        if name in inner:
            check(test, payload(inner[name]), decode(inner[name]), name)
    return raw
