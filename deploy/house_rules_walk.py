#!/usr/bin/env python3
"""The way of one signed transaction, made from the sources: the files and types that somebody reads who follows it.

usage: deploy/house_rules_walk.py [--write | --why | --types]

Prints the way, writes it into the README, says what led to each file, or lists the types.


It begins with the functions that begin each process' part, and follows what their bodies name: functions, properties and
initialisers of the types in sight (a function's own, those that it names, and what these hold). A file is on the way when
a function in it is reached, or a type of it is made. It is text that is read here, without a compiler: where a name may
mean two things, both count. What is not followed stands below: libraries, and turns that this transaction does not take.
"""

import functools
import pathlib
import re
import sys

from house_rules_swift import Finding, code_only, line_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = "Services/Fulfillment/README.md"
BLOCK = re.compile(r"(?s)(?<=<!-- deploy/house_rules_walk.py --write -->\n).*?(?=<!-- its end -->)")
SHARED = ["Shared/PurchaseModel", "Shared/Messages", "Shared/Persistence", "Shared/EventProcessing"]
SERVICES = {
    "Services/ReceiptIntake": "PurchaseRoutes.post SubmissionBatcher.run SubmissionStore.accept SubmissionPublisher.run",
    "Services/VerificationWorker": "VerifySubmissions.verify",
    "Services/Fulfillment": "FulfillVerdicts.fulfill",
    "Services/Notification": "TakeOverEvents.takeOver DeliverWebhooks.run",
}
DECLARED = re.compile(r"\b(?:(struct|class|enum|actor|protocol|extension)\s+([A-Z][\w.]*)|func\s+(\w+)"
                      r"|(?<![.\w])(init)(?=[?!]?\s*[(<])|var\s+(\w+)\s*:[^={}\n]+(?=\{))")
TYPE = re.compile(r"(?<![\w.])[A-Z]\w*(?:\.[A-Z]\w*)*")
FIELD = re.compile(r"\n\s*(?:[\w()@]+ )*(?:let|var)\s+(\w+)[^\n]*")
CALL = re.compile(r"(?:([\w)\]}?!]*)[?!]?(\.))?(?<!\w)([a-z_]\w*)\b\s*(\()?")
# Turns that the transaction does not take, by why: a backend's key posts a signed transaction of a consumable, which is
# new, genuine and of a known token; nobody is in doubt, over a limit or being forgotten.
TURNS = {
    "a player's token": "AccountTokenVerifier Authenticator.possession AccountTokens AccountRate TurnRate RequestsLimited",
    "waiting in vain, and refusals": "NetworkPlaces ClientAddress AccountLimits.admitReading PurchaseRoutes.get "
    "SubmissionBatcher.fail SubmissionStore.proof DoubtfulCommits AuthenticationError RouteAccess.denial "
    "SubmissionStore.putOff SettleSubmissions.delays StoredRevocations IntakeOverloadedError OfflineJudge.Refusal OfflineJudge.rejected Finding.unknown",
    "another proof": "Base64URL ReceiptText OrderId TransactionId OfflineJudge.judgeReceipt OfflineJudge.receipt "
    "OfflineJudge.notification OfflineJudge.subscriptionStatus OfflineJudge.answered JudgeSubmissions.findingOfClaimCheck "
    "VerifySubmissions.forward RevocationQuestions NotificationTally UnknownFieldTally OfflineJudge.content",
    "certificates that have expired": "ExpiredCertificates",
    "lineages, which consumables have none of": "LineageJoins LineageStore Ownership SubscriptionRuns LineageConcern "
    "LineageHistoryStore JoinedLineages EntitlementStore UpdateSubscriptions SubscriptionStanding Lineage "
    "LoadBatch.lineages LoadBatch.histories LoadBatch.evidence DecideBatch.ownerships WriteBatch.moveEntitlements "
    "WriteBatch.joinDrafts WriteBatch.bindingDrafts DecideBatch.periods DecideBatch.isInUse SubscriptionStore "
    "RenewalStatement RescindedConsent LineageStore.Binding LineageEvidence.Statement BindingChange",
    "what was there before": "OrderStore.update OrderStore.lock OrderStore.order OrderStore.writeIds OrderStore.give "
    "DecideBatch.release DecideBatch.move DecideBatch.typeConflicts Transaction.joined StatementSources StatementPart "
    "RevocationDrafts TakeBack LedgerStore.takeBack CutOverStore CutOvers WriteBatch.taking WriteBatch.reviseEntitlements "
    "SubmissionStore.reopen SubmissionStore.restoreProofs ReleaseRequestStore AuditLog OrderStore.note DoubtfulProducts",
    "counting": "LedgerStore.Cause FulfillVerdicts.count Authenticator.note",
    "accounts that are forgotten": "VerdictMessage.forgetting ForgettingStore Statement.withoutToken LoadBatch.voidTokens "
    "SubmissionStore.eraseProofs SubmissionStore.sendLater SubmissionStore.forgotten Account.isPseudonym Account.pseudonym",
    "what Apple says and asks beside it": "ConsentStore RescindConsents RecoveryDrafts RecordNotifications QueueAppleCalls "
    "AskAboutDoubts NoteUnknownValues EndEntitlements BringBackDeliveries DeliverWebhooks.mendTurns",
}
SKIP = {name for names in TURNS.values() for name in names.split()}
# What comes after the order's row.
AFTER = {"WriteBatch.writeOrders", "EventStore", "SettleSubmissions", "AnnounceOutcomes", "TakeOverEvents", "DeliverWebhooks"}


class Function:
    def __init__(self, path, module, owner, name, text, labels):
        self.path, self.module, self.owner, self.name, self.text, self.labels = path, module, owner, name, text, labels

    def __repr__(self):
        return f"{self.owner}.{self.name}"


def closing(code, start, pair):
    depth = 0
    for match in re.compile(f"[{re.escape(pair)}]").finditer(code, start):
        depth += 1 if match[0] == pair[0] else -1
        if depth == 0:
            return match.end()
    return len(code)


def labels_of(arguments):
    """The labels of a list of parameters or arguments, without those of calls inside; with whether each has a default."""
    while (flat := re.sub(r"[(\[{][^()\[\]{}]*[)\]}]", "x", arguments)) != arguments:
        arguments = flat
    flat = re.sub(r"<[^<>,]*(?:,[^<>]*)?>|->", "", arguments)
    parts = [part for part in flat.split(",") if part.strip()]
    label = re.compile(r"\s*(?:@\w+\s+)*(\w+)(?:\s+\w+)?\s*:(?!:)")
    return [(match[1] if (match := label.match(part)) else "_", "=" in part) for part in parts]


class Sources:
    """Every type and function of the modules that the way leads through."""

    def __init__(self):
        self.types, self.fields, self.functions, self.properties = {}, {}, {}, {}
        raw = []
        for folder in SHARED + list(SERVICES):
            for path in sorted((ROOT / folder).rglob("*.swift")):
                raw += self.read(code_only(path.read_text()), str(path.relative_to(ROOT)), folder.split("/")[1])
        for owner, module, text in raw:
            held = self.named(text, owner, module)
            self.fields.setdefault(owner, set()).update(held)
            if name := re.search(r"(?:let|var)\s+(\w+)\s*(?::|= *[A-Z])", text):
                self.properties.setdefault(owner, {})[name[1]] = held

    def read(self, code, path, module):
        spans, fields = [], []
        for match in DECLARED.finditer(code):
            if match[1]:
                start = code.find("{", match.end())
                outer = [span for span in spans if span[0] < match.start() < span[1]]
                name = ".".join([span[2] for span in outer[-1:]] + [match[2]])
                spans.append((match.start(), closing(code, start, "{}"), name))
                if match[1] != "extension":
                    self.types.setdefault(name, []).append((path, module, match[1]))
        for match in DECLARED.finditer(code):
            owner = [span for span in spans if span[0] < match.start() < span[1]]
            if match[1] or not owner:
                continue
            end, labels = match.end(), None
            if not match[5]:
                start = code.find("(", end)
                end = closing(code, start, "()")
                labels = labels_of(code[start + 1:end - 1])
            body = re.compile(r"[^{}]*?(?=\{|\n\s*(?:@|func|var|let|init|static|private|fileprivate|case|\})|\n\n)").match(code, end)
            has_body = body and code[body.end():body.end() + 1] == "{"
            text = code[match.start():closing(code, body.end(), "{}") if has_body else end]
            text = re.sub(r"\bthrow [^\n]*", "", text)
            function = Function(path, module, owner[-1][2], match[3] or match[4] or match[5], text, labels)
            self.functions.setdefault(function.name, []).append(function)
        for start, end, name in spans:
            fields += [(name, module, match[0]) for match in FIELD.finditer(code[start:end])]
        return fields

    def sees(self, module, other):
        return module == other or f"Shared/{other}" in SHARED

    def resolve(self, name, owner, module):
        """The type that a name means inside another."""
        scope = owner.split(".")
        for depth in range(len(scope), -1, -1):
            full = ".".join(scope[:depth] + [name])
            if any(self.sees(module, place[1]) for place in self.types.get(full, [])):
                return full
        return self.resolve(name.rpartition(".")[0], owner, module) if "." in name else None

    def named(self, text, owner, module):
        return {full for name in set(TYPE.findall(text)) if (full := self.resolve(name, owner, module))}

    def calls(self, function):
        """The functions that a function names, and the types that it makes."""
        own, module, text = function.owner, function.module, function.text
        sight = {own} | self.named(text, own, module) | self.fields.get(own, set())
        sight |= {held for name in list(sight) for held in self.fields.get(name, set())}
        found, made = [], set()
        for match in TYPE.finditer(text):
            full, end = self.resolve(match[0], own, module), match.end()
            if full and text.startswith(("(", ".init"), end):
                made.add(full)
                found += self.pick("init", {full}, text, end + (5 if text[end] == "." else 0), function)
        for match in CALL.finditer(text):
            receiver, dot, name = match[1], match[2] or text[match.start() - 1] == ".", match[3]
            if name == "init" or name not in self.functions:
                continue
            # A local name is no method.
            if not dot and not match[4] and re.search(rf"\b(?:let|var) {name}\b", text):
                continue
            known = self.properties.get(own, {}).get(receiver)
            full = receiver and receiver[0].isupper() and self.resolve(receiver, own, module)
            owners = {full} if full else {own} if not dot or receiver == "self" else known if known else sight
            # A method that nobody calls is named by its type, by what has it, or alone.
            isValue = not match[4] and owners is sight
            if isValue and name in ("values", "key", "keys", "id", "count"):
                continue
            found += [other for other in self.pick(name, owners, text, match.end() - 1 if match[4] else None, function)
                      if not (isValue and other.labels is not None)]
        return found, made

    def pick(self, name, owners, text, at, function):
        given, trailing = None, False
        if at is not None and text[at:at + 1] == "(":
            end = closing(text, at, "()")
            given, trailing = labels_of(text[at + 1:end - 1]), text[end:end + 2] == " {"
        return [other for other in self.functions.get(name, [])
                if other.owner in owners and self.sees(function.module, other.module) and other is not function
                and (given is None or other.labels is not None and fits(given, other.labels, trailing))]


def fits(given, declared, trailing):
    names, own = [label for label, _ in given], [label for label, _ in declared]
    if any(names.count(label) > own.count(label) for label in names):
        return False
    missing = [label for label, default in declared if not default and names.count(label) < own.count(label)]
    return not missing or trailing


@functools.cache
def sources():
    return Sources()


def walk(skip):
    """The functions on the way, in its order, each with what led to it; and the types that are made on it."""
    reached, made = {}, {}
    for service, entry in ((service, entry) for service, entries in SERVICES.items() for entry in entries.split()):
        owner, name = entry.split(".")
        stack = [(other, service) for other in sources().functions.get(name, []) if other.owner == owner]
        if not stack:
            raise LookupError(f"the way begins with {entry}, which is not there")
        while stack:
            function, origin = stack.pop()
            if function in reached or {repr(function), function.owner, pathlib.Path(function.path).stem} & skip:
                continue
            reached[function] = origin
            found, types = sources().calls(function)
            made.update((name, function) for name in types if not {name} & skip)
            stack += [(other, function) for other in reversed(found)]
    return reached, made


def counted(skip):
    """The files on the way, each with the process that it is read for first and with what led to it; and the types."""
    reached, made = walk(skip)
    files, service = {}, None
    for function, origin in reached.items():
        service = origin if isinstance(origin, str) else service
        files.setdefault(function.path, (service, function, origin))
    for name, function in made.items():
        files.setdefault(sources().types[name][0][0], (files[function.path][0], name, function))
    return files, made


def block():
    """What stands in the README."""
    (files, types), (to_row, types_to_row) = counted(SKIP), counted(SKIP | AFTER)
    rows = {service.split("/")[1]: [] for service in SERVICES}
    for path, (service, _, _) in files.items():
        rows[service.split("/")[1]].append(pathlib.Path(path).stem + ("" if path in to_row else "*"))
    text = [f"{len(to_row)} files and {len(types_to_row)} types to the order's row, {len(files)} and {len(types)} to the recorded "
            "webhook (`*`: only on the way to that).", "", "```"]
    for title, names in rows.items():
        row = f"{title:<18}"
        for name in names:
            if len(row) + len(name) > 126:
                text.append(row.rstrip())
                row = " " * 18
            row += f" {name}"
        text.append(row)
    return "\n".join(text + ["```", ""])


def check_walk(path, text):
    """The way in the README is the one that the sources take."""
    if path != README:
        return
    try:
        made = block()
    except LookupError as error:
        yield Finding(path, 1, f"{error}: deploy/house_rules_walk.py")
        return
    match = BLOCK.search(text)
    if not match or match[0] != made:
        yield Finding(path, line_of(text, match.start()) if match else 1,
                      "the way of a transaction is not what the sources say: deploy/house_rules_walk.py --write")


def main():
    if sys.argv[1:] == ["--types"]:
        print(*sorted(counted(SKIP)[1]), sep="\n")
    elif sys.argv[1:] == ["--write"]:
        page = ROOT / README
        page.write_text(BLOCK.sub(lambda _: block(), page.read_text()))
    elif sys.argv[1:] == ["--why"]:
        for path, (_, name, origin) in counted(SKIP)[0].items():
            print(f"{path}: {name} by {origin}")
    else:
        print(block())


if __name__ == "__main__":
    main()
