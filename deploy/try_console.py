"""What deploy/try-console plays in the browser, and looks at."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import time
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

HERE = pathlib.Path(__file__).resolve().parent
APP = "com.example.game"
WIDTHS = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
STORY_SECONDS, STORY_CLICKS = 120, 10
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
# What a page is of no use without; the others are looked at by axe and by eye.
PAGES = {"home": "", "undelivered": "/undelivered", "orders": "/orders", "webhooks": "/webhooks", "notifications": "/notifications",
         "refunds": "/refunds", "money": "/money", "subscriptions": "/money/subscriptions", "catalogue": "/catalogue", "settings": "/settings", "log": "/log"}


class Failed(Exception):
    pass


def check(is_so, words):
    if not is_so:
        raise Failed(words)
    print(f"  ok: {words}", flush=True)


class Stack:
    """The stack by HTTP: Apple's side, and the API."""

    def __init__(self, folder):
        lines = subprocess.check_output([str(HERE / "stack"), "--dir", folder, "env"], text=True).splitlines()
        self.settings = dict(shlex.split(line)[0].split("=", 1) for line in lines if line)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, address, body=None, method=None, headers=None):
        request = urllib.request.Request(address, method=method, data=None if body is None else json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        with self.opener.open(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def sell(self, product="gems.100", **more):
        body = {"bundleId": APP, "productId": product, "type": "Consumable", **more}
        return self.call(self.settings["COUNTERSIGN_SIMULATOR_URL"] + "/simulator/v1/sales", body)["transactions"][0]

    def order_id(self, transaction):
        return self.call(f"{self.settings['COUNTERSIGN_SIMULATOR_URL']}/simulator/v1/transactions/{transaction}")["orderId"]

    def post(self, account, signed):
        return self.call(self.settings["COUNTERSIGN_RECEIPT_INTAKE_URL"] + "/v1/purchases?wait=10",
                         {"app": APP, "account": account, "signed_transaction": signed},
                         headers={"Authorization": "Bearer " + self.settings["COUNTERSIGN_API_KEY"]})


class Person:
    """Somebody at a browser, whose clicks are counted."""

    def __init__(self, browser, console, role, **context):
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.console, self.clicks, self.mistakes = console, 0, []
        self.page.on("console", lambda message: self.mistakes.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.mistakes.append(str(error)))
        self.page.goto(console + "/login")
        self.page.click(f"form[action^='/login/{role}'] button")
        self.page.wait_for_selector("nav")

    def open(self, path):
        return self.page.goto(f"{self.console}/apps/{APP}{path}")

    def click(self, selector):
        self.clicks += 1
        self.page.click(selector)

    def text(self):
        return self.page.inner_text("body")


def story(stack, browser, console):
    """A player writes: I paid, nothing came; with a picture of Apple's e-mail."""
    print("A player has paid, and nothing came", flush=True)
    # The app never posted it, and Apple's data names nobody.
    sale = stack.sell()
    order_id = stack.order_id(sale["transactionId"])
    support = Person(browser, console, "support")
    page, start = support.page, time.monotonic()
    page.fill("input[name=q]", order_id)
    support.click("form.find button")
    check("Ask Apple" in support.text(), "the order id is not known here yet; support can ask Apple")
    page.fill("main input[name=reason]", "ticket 4711")
    support.click("main form.post button")
    page.wait_for_selector("td a code", timeout=STORY_SECONDS * 1000)
    check(sale["transactionId"] in support.text(), "Apple told of the purchase, and the page showed it by itself")
    support.click("td a")
    check("nobody has posted it" in support.text(), "the purchase says why it is held")
    form = "form[action$='/acts/assign']"
    page.fill(f"{form} input[name=account]", "player-kim")
    page.fill(f"{form} input[name=reason]", "ticket 4711: Apple's e-mail shown")
    support.click(f"{form} button")
    check("Nothing is done yet" in support.text(), "what would happen is said first")
    support.click("main form.post button")
    check("Done." in support.text() or "within seconds" in support.text(), "it is assigned")
    support.click("a:has-text('Back')")
    for _ in range(40):
        if "Delivered to player-kim" in support.text():
            break
        page.wait_for_timeout(500)
        page.reload()
    seconds = time.monotonic() - start
    check("Delivered to player-kim" in support.text(), "the player has the goods")
    check(seconds < STORY_SECONDS and support.clicks <= STORY_CLICKS, f"in {seconds:.0f} seconds and {support.clicks} clicks")
    check(not support.mistakes, f"without an error in the browser {support.mistakes}")
    operator = Person(browser, console, "operator")
    operator.open("/log")
    text = operator.text()
    check("ticket 4711: Apple's e-mail shown" in text and "demo-support" in text, "the log has who did it, and why")
    return sale


def sent_twice(stack, browser, console):
    """The same act sent twice, and by a role that may not."""
    print("Acts", flush=True)
    support = Person(browser, console, "support")
    stack.post("player-lee", stack.sell()["signedTransaction"])
    support.open("/accounts/player-lee")
    form = "form[action$='/acts/adjust']"
    for name, value in {"item": "gem", "amount": "7", "reason": "ticket 1"}.items():
        support.page.fill(f"{form} input[name={name}]", value)
    support.click(f"{form} button")
    fields = dict(support.page.eval_on_selector_all(
        "main form.post input", "inputs => inputs.map(input => [input.name, input.value])"))
    address = f"{console}/apps/{APP}/acts/adjust"
    headers = {"Sec-Fetch-Site": "same-origin"}
    for _ in range(2):
        answer = support.context.request.post(address, form=fields, headers=headers)
        check(answer.status == 200, "the form is sent")
    support.open("/accounts/player-lee")
    check(re.search(r"gem\s+107\b", support.text()), "the same form sent twice gave once")
    viewer = Person(browser, console, "viewer")
    check(viewer.open("/accounts/player-lee").status == 403, "a viewer may not look at an account")
    token = viewer.page.eval_on_selector("form[action='/logout'] input[name=csrf]", "input => input.value")
    answer = viewer.context.request.post(address, form={**fields, "csrf": token}, headers=headers)
    check(answer.status == 403, "nor send the act")
    answer = support.context.request.post(address, form={**fields, "csrf": "another"}, headers=headers)
    check(answer.status == 403, "a form without the visit's token does nothing")
    answer = support.context.request.post(address, form=fields, headers={"Sec-Fetch-Site": "cross-site"})
    check(answer.status == 403, "nor does one that another site sent")


def many(stack, browser, console):
    """Three purchases that nobody has posted: two are assigned together, by a form that is sent twice."""
    print("One act for many", flush=True)
    sold = [stack.sell()["transactionId"] for _ in range(3)]
    support = Person(browser, console, "support", java_script_enabled=False)
    page = support.page
    for one in sold:
        support.open(f"/find?q={stack.order_id(one)}")
        page.fill("main input[name=reason]", "ticket 4712 begins")
        support.click("main form.post button")
    for _ in range(120):
        support.open("/undelivered?stage=parked&reason=unclaimed")
        if all(one in support.text() for one in sold):
            break
        time.sleep(0.5)
    form = "form.rows"
    for one in sold[:2]:
        page.check(f"{form} input[value='production {one}']")
    page.fill(f"{form} input[name=account]", "player-many")
    page.fill(f"{form} input[name=reason]", "ticket 4712 is known")
    support.click(f"{form} button:not([name])")
    check("what would happen to 2 rows" in support.text(), "two of three rows are chosen, and what would become of them is said first")
    fields = dict(page.eval_on_selector_all("main form.post input", "inputs => inputs.map(input => [input.name, input.value])"))
    support.click("main form.post button")
    check("2 of 2 are done" in support.text(), "both are done by one click, without JavaScript")
    answer = support.context.request.post(f"{console}/apps/{APP}/acts/assign-many", form=fields, headers={"Sec-Fetch-Site": "same-origin"})
    check(answer.status == 200 and "2 of 2 are done" in answer.text(), "the form sent again answers the same")
    for _ in range(40):
        support.open("/accounts/player-many")
        if re.search(r"gem\s+200\b", support.text()):
            break
        time.sleep(0.5)
    check(re.search(r"gem\s+200\b", support.text()), "and gave once")
    operator = Person(browser, console, "operator")
    operator.open("/log")
    check(operator.text().count("ticket 4712 is known") == 2, "the log has a line for each")
    support.open("/undelivered?stage=parked&reason=unclaimed")
    check(sold[2] in support.text() and sold[0] not in support.text(), "the third is still held")


def other_languages(browser, console, sale):
    """A story in Chinese and Korean has no English sentence."""
    print("Other languages", flush=True)
    for language, word in {"zh-CN": "已发放给账号", "ko-KR": "계정 player-kim에 지급됨"}.items():
        support = Person(browser, console, "support", locale=language)
        support.open(f"/purchases/production/{sale['transactionId']}")
        text = support.page.inner_text("ol.story")
        check(word in text and "Granted to" not in text and "Received" not in text, f"the story is told in {language}")


def foreign_text(stack, browser, console):
    """What a stranger may write into a purchase is never run."""
    print("Foreign text", flush=True)
    stack.post(HOSTILE, stack.sell()["signedTransaction"])
    # In no catalogue: it is held.
    stack.post("player-mo", stack.sell(HOSTILE)["signedTransaction"])
    admin = Person(browser, console, "admin")
    for path in ["/orders", "/undelivered", f"/accounts/{urllib.request.quote(HOSTILE, safe='')}", "/find?q=" + urllib.request.quote(HOSTILE)]:
        admin.open(path)
        check(HOSTILE in admin.text() and admin.page.title() != "owned", f"shown as text at {path[:20]}")
    check(not [text for text in admin.mistakes if "404" not in text], f"nothing was refused by the policy {admin.mistakes}")


def looked_at(browser, console, sale, pictures):
    """Every page in both schemes at three widths: a picture each, and axe-core."""
    print("Pages", flush=True)
    pages = {**PAGES, "purchase": f"/purchases/production/{sale['transactionId']}", "account": "/accounts/player-kim",
             "find": "/find?q=player-kim"}
    axe, violations = Axe(), []
    for scheme in ("light", "dark"):
        for width, (x, y) in WIDTHS.items():
            admin = Person(browser, console, "admin", viewport={"width": x, "height": y}, color_scheme=scheme)
            for name, path in pages.items():
                answer = admin.open(path)
                if answer.status != 200:
                    raise Failed(f"{path} answers {answer.status}")
                overflow = admin.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                if overflow > 0:
                    violations.append(f"{name} at {width}: {overflow} px too wide")
                found = axe.run(admin.page).response["violations"]
                violations += [f"{name} at {width}, {scheme}: {one['id']}: {one['nodes'][0]['html'][:120]}" for one in found]
                if pictures:
                    admin.page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png")
            admin.context.close()
    for one in sorted(set(violations)):
        print(f"  ! {one}", flush=True)
    check(not violations, f"{len(pages)} pages, light and dark, at {', '.join(WIDTHS)}: axe-core finds nothing, and nothing is too wide")


def without_scripts(browser, console):
    """Reading needs no JavaScript, and the log-in neither."""
    print("Without JavaScript", flush=True)
    viewer = Person(browser, console, "viewer", java_script_enabled=False)
    for path in PAGES.values():
        if path not in ("/log",):
            check(viewer.open(path).status == 200, f"{path or '/'} is readable")


def main():
    parser = argparse.ArgumentParser(prog="deploy/try-console")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    stack = Stack(arguments.dir)
    console = stack.settings["COUNTERSIGN_CONSOLE_URL"]
    with sync_playwright() as playwright, contextlib.closing(playwright.chromium.launch(
            executable_path=os.environ["COUNTERSIGN_CHROMIUM"], args=["--no-sandbox"])) as browser:
        try:
            sale = story(stack, browser, console)
            sent_twice(stack, browser, console)
            many(stack, browser, console)
            other_languages(browser, console, sale)
            foreign_text(stack, browser, console)
            without_scripts(browser, console)
            looked_at(browser, console, sale, arguments.pictures)
        except Failed as failure:
            raise SystemExit(f"try-console: failed: {failure}") from None
    print("try-console: PASSED")


if __name__ == "__main__":
    main()
