"""A player who buys while deploy/systemd/try breaks and upgrades what sells."""

import threading
import time

from machine import MachineError

READY_TIMEOUT = 90.0  # Seconds until a purchase is granted, or a service is ready.
LOAD_PAUSE = 0.3  # Seconds between the purchases of the load: it is there to be noticed, not to measure.


class Load(threading.Thread):
    """A player who buys and posts until told to stop; each purchase is posted until it is granted."""

    def __init__(self, shop, name):
        super().__init__(daemon=True)
        self.shop, self.account = shop, name
        self.ending, self.granted, self.repeated, self.slowest, self.error = threading.Event(), 0, 0, 0.0, None

    def run(self):
        try:
            while not self.ending.is_set():
                self.buy()
                time.sleep(LOAD_PAUSE)
        except Exception as error:  # Told by finish(), in the main thread.
            self.error = error

    def buy(self):
        sale = self.shop.sell()[0]["signedTransaction"]
        begun = time.monotonic()
        while time.monotonic() < begun + READY_TIMEOUT:
            try:
                answer = self.shop.post(self.account, sale)
            except OSError:  # Intake restarts: an app posts again.
                answer = None
            if answer and answer.body.get("state") == "fulfilled":
                self.granted += 1
                self.slowest = max(self.slowest, time.monotonic() - begun)
                return
            self.repeated += 1
            time.sleep(0.2)
        raise MachineError(f"a purchase was not granted within {READY_TIMEOUT:.0f} s: {answer}")

    def finish(self):
        self.ending.set()
        self.join(READY_TIMEOUT + 30)
        if self.is_alive() or self.error:
            raise MachineError(f"the load failed: {self.error}")
        return f"{self.granted} purchases granted, the slowest in {self.slowest:.1f} s, {self.repeated} posts repeated"
