"""Asks Countersign for an app's events, with nothing but Python, and goes on where it was when it was killed.

usage: COUNTERSIGN_API_KEY=csk_… python3 puller.py INTAKE_URL APP BOOKS_FILE
"""
import json, os, sqlite3, sys, time
from http.client import HTTPException
from urllib.parse import urlencode
from urllib.request import Request, urlopen

intake, app, file = sys.argv[1:]
WAIT_SECONDS, PAUSE_SECONDS = 20, 1
books = sqlite3.connect(file)  # Yours is your database: the cursor stands beside what an event does.
books.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body TEXT)")
books.execute("CREATE TABLE IF NOT EXISTS place (only INTEGER PRIMARY KEY, cursor TEXT)")


def page(after):
    query = urlencode({"app": app, "after": after, "wait": WAIT_SECONDS})
    request = Request(f"{intake}/v1/events?{query}", headers={"authorization": f"Bearer {os.environ['COUNTERSIGN_API_KEY']}"})
    with urlopen(request, timeout=WAIT_SECONDS + 15) as answer:
        return json.load(answer)


while True:
    row = books.execute("SELECT cursor FROM place").fetchone()
    try:
        got = page(row[0] if row else "")
    except (OSError, HTTPException) as error:  # Also what is refused, or breaks off; intake that is away comes back.
        print(error, file=sys.stderr, flush=True)
        time.sleep(PAUSE_SECONDS)
        continue
    with books:  # One transaction: the events of a page and the place after it, or neither.
        for event in got["data"]:
            # An event may come again after a failover.
            books.execute("INSERT OR IGNORE INTO events VALUES (?, ?)", (event["id"], json.dumps(event)))
        books.execute("INSERT OR REPLACE INTO place VALUES (1, ?)", (got["next"],))
