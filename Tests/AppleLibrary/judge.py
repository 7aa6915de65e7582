"""Apple's library as a judge of signed data: one case a line on standard input, one verdict a line on standard output.

usage: judge.py ROOT.der...

A case is JSON: `kind` (transaction, renewalInfo, notification, appTransaction), `bundleId`, `appAppleId`, `environment`
(the one to ask first) and `jws`, its bytes in base64. A verdict is `{"accepted": {...}}` with what the library read, or
`{"refused": STATUS, "why": ...}`.

The library is set up for one environment at a time; Apple says to try the other when the first is refused for it. So
accepted means: accepted in one of the two.
"""

import base64
import concurrent.futures
import json
import pathlib
import signal
import sys
import warnings

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException, VerificationStatus

ROOTS = [pathlib.Path(path).read_bytes() for path in sys.argv[1:]]
CALLS = {
    "transaction": SignedDataVerifier.verify_and_decode_signed_transaction,
    "renewalInfo": SignedDataVerifier.verify_and_decode_renewal_info,
    "notification": SignedDataVerifier.verify_and_decode_notification,
    "appTransaction": SignedDataVerifier.verify_and_decode_app_transaction,
}
# What both sides must read alike, by the library's names.
READ = {
    "transaction": ["transactionId", "originalTransactionId", "bundleId", "productId", "rawType", "quantity",
                    "purchaseDate", "expiresDate", "revocationDate", "signedDate", "rawEnvironment"],
    "renewalInfo": ["originalTransactionId", "productId", "autoRenewProductId", "rawAutoRenewStatus", "renewalDate",
                    "gracePeriodExpiresDate", "signedDate", "rawEnvironment"],
    "notification": ["rawNotificationType", "rawSubtype", "notificationUUID", "signedDate"],
    "appTransaction": ["rawReceiptType", "bundleId", "receiptCreationDate", "originalPurchaseDate",
                       "originalApplicationVersion"],
}
ABOUT_THE_APP = [VerificationStatus.INVALID_APP_IDENTIFIER.name, VerificationStatus.INVALID_ENVIRONMENT.name]
WHY_CHARACTERS = 160
PROCESSES = 2
CASES_AT_A_TIME = 50


def ask(case, text, environment):
    """What the library says in one environment."""
    verifier = SignedDataVerifier(ROOTS, False, environment, case["bundleId"], case["appAppleId"])
    try:
        decoded = CALLS[case["kind"]](verifier, text)
    except VerificationException as error:
        return {"refused": error.status.name, "why": f"{error.__cause__!r}"[:WHY_CHARACTERS]}
    except Exception as error:  # Hostile input makes it raise more than its own exception.
        return {"refused": "EXCEPTION", "why": f"{error!r}"[:WHY_CHARACTERS]}
    values = {name: getattr(decoded, name) for name in READ[case["kind"]]}
    return {"accepted": {name: spelled(value) for name, value in values.items() if value is not None}}


def spelled(value):
    """A value as text that every reader of JSON takes: half a surrogate pair is spelled out."""
    return str(value).encode("utf-8", "backslashreplace").decode()


def judge(line):
    """The verdict of a line: that of the other environment only when the first was refused for whose it is."""
    case = json.loads(line)
    # What is not UTF-8 stays what it is, and is for the library to refuse.
    text = base64.b64decode(case["jws"]).decode("utf-8", "surrogateescape")
    first = Environment(case["environment"])
    verdict = ask(case, text, first)
    if verdict.get("refused") in ABOUT_THE_APP:
        second = Environment.SANDBOX if first == Environment.PRODUCTION else Environment.PRODUCTION
        other = ask(case, text, second)
        if other.get("refused") != VerificationStatus.INVALID_ENVIRONMENT.name:
            verdict = other
    return json.dumps(verdict)


def main():
    warnings.simplefilter("ignore")
    # Swift's Process hands on the mask of one of its threads, under which nobody could end this.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    # This kind of pool ends with an error, and not never, when a process of it dies.
    with concurrent.futures.ProcessPoolExecutor(PROCESSES) as pool:
        for verdict in pool.map(judge, sys.stdin, chunksize=CASES_AT_A_TIME):
            print(verdict)


if __name__ == "__main__":
    main()
