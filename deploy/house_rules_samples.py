"""Samples for `deploy/house-rules --self-test`: what each rule must find, and what none may find."""

LONG = "func long() {\n" + "    step()\n" * 58 + "}\n"
SHORT = "func short(\n    _ body: () -> Void = {}\n) {\n" + "    step()\n" * 55 + "}\n"

# (path, text, what a finding's message must hold and its line)
BAD = [
    ("Shared/Kafka/A.swift", "import Foundation\nimport Postgres\n", "only lower layers", 2),
    ("Shared/Messages/A.swift", "public import ServiceRuntime\n", "only lower layers", 1),
    ("Services/Fulfillment/A.swift", "internal import Notification\n", "only lower layers", 1),
    ("Tests/PersistenceTesting/A.swift", "\n@testable import Persistence\n", "a release cannot be built", 2),
    ("Services/Fulfillment/A.swift", "import struct Fulfillment.Thing\n", "only lower layers", 1),
    ("Shared/Persistence/A.swift", "internal import CLibpq\n", "imported by Postgres only", 1),
    ("Tests/MessagesTests/A.swift", "import CLibrdkafka\n", "imported by Kafka only", 1),
    ("Shared/Surprise/A.swift", "\n", "has no layer", 1),
    ("Shared/Kafka/A.swift", "\n" + LONG, "60 lines", 2),
    ("Shared/Kafka/A.swift", "// a line\n" * 401, "at most 400", 401),
    ("Shared/Kafka/A.swift", "/// A box.\nfinal class Box: @unchecked Sendable {}\n", "Safety:", 2),
    ("Shared/Kafka/A.swift", "// Safety: it is another's.\nlet a = 1\n\nnonisolated(unsafe) var b = 2\n", "Safety:", 4),
    ("Shared/Kafka/A.swift", "let a = try! b()\n", "try!", 1),
    ("Tests/KafkaTests/A.swift", "let a = b as! C\n", "as!", 1),
    ("Services/Fulfillment/A.swift", "fatalError()\n", "throw an error", 1),
    ("Shared/Kafka/A.swift", "let a = \"\\(\"x\")\"; print(a)\n", "does not print", 1),
    ("Shared/Kafka/A.swift", "DispatchQueue.global().async {}\n", "BlockingThreads", 1),
    ("Tests/KafkaTests/A.swift", "usleep(10)\n", "blocks a thread", 1),
    ("Shared/Kafka/A.swift", "Task.detached {}\n", "task group", 1),
    ("Tests/KafkaTests/A.swift", "let a = 1\ntry await Task.sleep(for: .seconds(1))\n", "not for time", 2),
    ("Shared/Kafka/KafkaUtils.swift", "\n", "says nothing", 1),
    ("Shared/Kafka/A.swift", "struct ConnectionManager {}\n", "says nothing", 1),
    ("Services/Fulfillment/README.md", "# fulfillment\n", "the way of a transaction", 1),
    ("Shared/Kafka/README.md", "# Kafka\n\nTODO: more\n", "left over", 3),
    ("Shared/Kafka/README.md", "# Kafka\n\n# Again\n", "one `# Title`", 3),
    ("Shared/Kafka/README.md", "words\n", "one `# Title`", 1),
    ("notes/README.md", "# Notes\n", "top level", 1),
    ("deploy/x.sh", "cd /home/somebody/countersign\n", "path of one machine", 1),
    ("deploy/x.sh", "curl https://deb.debian.org/debian\n", "registry's address", 1),
    ("Services/Notification/A.swift", "let a = try settings.int(\n    \"batch.surprise\", default: 1, in: 1...2)\n",
     "what the setting batch.surprise means", 1),
    ("Shared/Persistence/Migrations/0010_other.sql", "SELECT 1;\n",
     "missing in Shared/Persistence/SchemaFile/SchemaFile.c and Shared/Persistence/Migrations/Migrator.swift", 1),
    ("Shared/Persistence/Migrations/next.sql", "SELECT 1;\n", "NNNN_what_it_does", 1),
    ("deploy/CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 0.0.1 (2026-01-01)\n", "no upgrade from 0.0.1 is tested", 5),
    ("Tests/Stories/another.yaml", "story: Another\n", "missing in the table", 1),
    ("Tests/Stories/price-rise.yaml", "steps:\n  - backend: {get: /v1}\n", "does not play it", 1),
    ("Shared/PurchaseModel/A.swift", "import Foundation\nimport Crypto\n", "nothing but Foundation", 2),
    ("Shared/Persistence/A.swift", "extension AlarmStore {\n    let sql = \"\"\"\n        UPDATE submissions SET a = 1\n"
                                   "        \"\"\"\n}\n", "written by SubmissionStore only", 3),
    ("Shared/Persistence/A.swift", "package enum OrderStore {}\n\nprivate struct B {\n    let a = \"INSERT INTO orders\"\n}\n",
     "not by B", 4),
    ("Shared/Persistence/A.swift", "enum SpendStore {\n    let a = \"DELETE FROM balances\"\n}\n", "not by SpendStore", 2),
    ("Shared/Persistence/A.swift", "enum RateStore {\n    let a = \"INSERT INTO \\(table) (b)\"\n}\n", "name out", 2),
    ("Services/Fulfillment/A.swift", "struct OrderStore {\n    let a = \"UPDATE orders SET b = 1\"\n}\n",
     "written in Shared/Persistence/ only", 2),
    ("Shared/Persistence/schema.sql",
     "CREATE TABLE orders_other PARTITION OF orders DEFAULT;\nCREATE TABLE coupons_other (\n);\n", "coupons_other has no writer", 2),
    ("Shared/Persistence/schema.sql",
     "-- All. Written by OrderStore.\nCREATE TABLE orders (\n);\n-- Written by OrderStore.\nCREATE TABLE coupons (\n);\n",
     "coupons has no writer", 5),
    ("Shared/Persistence/schema.sql", "-- Written by SpendStore.\nCREATE TABLE orders (\n);\n", "Written by OrderStore", 2),
    ("Shared/PurchaseModel/A.swift", "struct A {\n    let account: String?\n}\n", "an account is an `Account`", 2),
    ("Services/Fulfillment/A.swift", "func a(_ b: Int, newOwner: String) {}\n", "an account is an `Account`", 1),
    ("Shared/Persistence/A.swift", "var posters: [String] = []\n", "an account is an `Account`", 1),
    ("Shared/PurchaseModel/A.swift", "struct LineageWord {}\n", "LineageWord: instead of `word`", 1),
    ("Services/Fulfillment/A.swift", "enum A {\n    case b, ordersHeld\n}\n", "ordersHeld: instead of `held`", 2),
    ("Services/Fulfillment/A.swift", "func a(\n    _ b: Int, as told: [Int]\n) {}\n", "told: instead of `told`", 2),
    ("Shared/Persistence/A.swift", "let isStated = 1\n", "isStated: instead of `stated`", 1),
    ("Shared/Persistence/A.swift", "let standingOrder = 1\n", "instead of `standing`", 1),
    ("Shared/Kafka/README.md", "# Kafka\n\n[a\nb](../Nowhere/README.md)\n", "there is no such file", 4),
    ("Shared/Kafka/README.md", "# Kafka\n\n[a](#nothing)\n", "there is no heading #nothing", 3),
    ("Shared/Kafka/README.md", "# Kafka\n\n[a](../Postgres/README.md#nothing)\n", "there is no heading #nothing", 3),
    ("Shared/Kafka/README.md", "# Kafka\n\n`COUNTERSIGN_NO_SUCH_" + "SETTING`\n", "no source has the variable", 3),
    ("Shared/Kafka/README.md", "# Kafka\n\n`CountersignNoSuch" + "Alert`\n", "nothing here is called", 3),
    ("Shared/Kafka/README.md", "# Kafka\n\n    countersign frobnicate\n", "no command frobnicate", 3),
    ("deploy/site/pages/settings.md", "# Settings\n", "not what the sources say", 1),
    ("deploy/site/pages/quick-start.zh.md", "# A\n\n```sh\nrm\n```\n", "not those of deploy/site/pages/quick-start.md", 1),
]

GOOD = [
    ("Shared/Kafka/A.swift", "import CLibrdkafka\npublic import Logging\nimport BlockingThreads\n"),
    ("Tests/KafkaTesting/A.swift", "package import CLibrdkafka\n"),
    ("Tests/FulfillmentTests/A.swift", "@testable import Fulfillment\nimport Postgres\n"),
    ("Shared/Kafka/A.swift", SHORT),
    ("Shared/Kafka/A.swift", "protocol P {\n    func a()\n    var b: Int { get }\n}\n" + "// space\n" * 80 + "let c = 1\n"),
    ("Shared/Kafka/A.swift", "// Safety: guarded by `lock`.\nfinal class Box: @unchecked Sendable {}\n"),
    ("Shared/Kafka/A.swift", "/// A box.\n///\n// Safety: guarded by\n// its lock.\npublic final class Box:\n"
                             "    @unchecked Sendable\n{\n}\n"),
    ("Shared/Kafka/A.swift", "// never try! or print( this\nlet a = \"fatalError( \\(f(\"try!\")) as! \"\n"
                             "let b = #\"print(\"\"#\nlet c = \"\"\"\n    Task.detached \"quoted\"\n    \"\"\"\n"),
    ("Shared/Kafka/A.swift", "logger.print(1); blueprint(2); self.sleep(3)\n"),
    ("Shared/Kafka/A.swift", "func sleep(atMost limit: Duration) { sleep(atMost: limit) }\n"),
    ("Services/CountersignTool/A.swift", "print(1)\n"),
    ("Services/Notification/A.swift", "let a = try settings.int(\"batch.maximum\", default: 1, in: 1...2)\n"),
    ("deploy/CHANGELOG.md", "# Changelog\n\n## 0.0.1\n"),
    ("Shared/Persistence/schema.sql", "-- A purchase. Written\n-- by OrderStore.\nCREATE TABLE orders (\n);\n"),
    ("Tests/Stories/price-rise.yaml", "steps:\n  - buy: {account: alice}\n"),
    ("Services/ReceiptIntake/A.swift", "let a = try settings.listenAddress(\"http\", port: 8080)\n"),
    ("Tests/KafkaTests/A.swift", "// A timeout: the test fails when nothing came.\ntry await Task.sleep(for: .seconds(1))\n"),
    ("Tests/KafkaTests/A.swift", "fatalError()\n"),
    ("Shared/Kafka/README.md", "# Kafka\n\n```sh\n# a comment\n```\n\n## More\n"),
    ("deploy/postgres/README.md", "# PostgreSQL\n\n/usr/lib/postgresql, /var/lib/countersign, $HOME/work/x\n"),
    (".ci/run", "#!/usr/bin/env bash\n"),
    ("Shared/PurchaseModel/A.swift", "package import Foundation\nimport struct Foundation.Date\n"),
    ("Shared/Persistence/A.swift", "extension OrderStore {\n    struct B {\n        // INSERT INTO balances\n"
                                   "        let a = \"INSERT INTO orders AS o (a) ON CONFLICT (a) DO UPDATE SET b = 1\"\n"
                                   "        let c = \"WITH d AS (SELECT FROM balances FOR UPDATE) SELECT 1\"\n    }\n}\n"),
    ("Shared/Persistence/A.swift", "enum IntentStore {\n    let a = \"INSERT INTO account_tokens (b)\"\n}\n"),
    ("Tests/PersistenceTests/A.swift", "let a = \"UPDATE orders SET b = 1\"\n"),
    ("Shared/PurchaseModel/A.swift", "let account: Account\nlet ownership: String?\nlet owners: [String: Account]\n"
                                     "let a = \"account: String\"\n"),
    ("Shared/Persistence/Reading/A.swift", "let account: String\n"),
    ("Services/ReceiptIntake/A.swift", "func a(account: String, told: Int) {}\n"),
    ("Shared/PurchaseModel/A.swift", "let standing: SubscriptionStanding\nlet keyword = unstated(held: 1)\n"
                                     "let sql = \"WITH told AS (SELECT 1)\"\n"),
    ("Shared/Kafka/README.md", "# Kafka\n\n`COUNTERSIGN_SWEEP_…`, `CountersignServiceDown`, `countersign doctor`\n"),
    ("Shared/Kafka/README.md", "# Kafka\n\n[a](../../README.md#use-it), [b](#a-b-c), `[c](d)`, [d](../Postgres)\n\n## A `b`: c!\n"),
]


def run(findings):
    """Compares what the rules find with what they should; 0 when they agree."""
    wrong = []
    for path, text, expected, line in BAD:
        found = findings(path, text)
        if len(found) != 1 or expected not in found[0].message or found[0].line != line:
            wrong.append(f"expected `{expected}` at line {line}, found {[str(one) for one in found]} in:\n{text[:200]}")
    for path, text in GOOD:
        found = findings(path, text)
        if found:
            wrong.append(f"expected nothing, found {[str(one) for one in found]} in:\n{text[:200]}")
    for message in wrong:
        print(f"house-rules: self-test: {message}")
    print(f"house-rules: self-test: {len(BAD) + len(GOOD)} samples, {len(wrong)} wrong")
    return 1 if wrong else 0
