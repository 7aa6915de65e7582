"""A private Apache Kafka: one broker and its ZooKeeper, with their data in a stack's folder. Run by deploy/stack."""

import pathlib
import socket
import struct
import time

from addresses import LOOPBACKS, authority
from kafka_programs import ANSWER_BYTES, ANSWER_TIMEOUT, MAIN_CLASSES, ask_zookeeper, java_command

BROKER_ID = 0
HEAPS = {"zookeeper": "128m", "broker": "512m"}
TICK = 2000  # Milliseconds; ZooKeeper grants sessions of 2 to 20 ticks.
SESSION = 30000  # Milliseconds; with 4000 a broker lost its session, and its groups, on a machine that was busy.
FORGET_TIMEOUT = 90.0  # Seconds that ZooKeeper has to forget a broker: three sessions.
FORGET_PAUSE = 0.5  # Seconds between two tries of that.
FORGET_ANSWER_TIMEOUT = 15.0  # Seconds for one answer of it: each is written to a disk that may be busy.
REGISTRATIONS = [f"/brokers/ids/{BROKER_ID}", "/controller"]  # They stand for as long as the broker's session does.
METADATA, METADATA_VERSION, CORRELATION = 3, 1, 1  # Kafka's number of the request, and ours of this one.
DELETE, CLOSE = 2, -11  # ZooKeeper's numbers of these requests.
NO_NODE = -101  # ZooKeeper's code: there is nothing to delete.

# Relative to the stack's folder, where both processes run: no path has to be escaped.
ZOOKEEPER_PROPERTIES = """\
dataDir=kafka/zookeeper
clientPortAddress={address}
clientPort={zookeeper}
maxClientCnxns=0
tickTime={tick}
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
"""

BROKER_PROPERTIES = """\
broker.id={broker_id}
listeners=PLAINTEXT://{broker}
zookeeper.connect={zookeeper_authority}
zookeeper.session.timeout.ms={session}
log.dirs=kafka/broker
# `countersign topics` makes them.
auto.create.topics.enable=false
# A producer's largest message is 1,000,000 bytes; this is what newer brokers have by default.
message.max.bytes=1048588
# One broker, hence one copy.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
# Few groups: fewer partitions are loaded sooner.
offsets.topic.num.partitions=5
transaction.state.log.num.partitions=5
# A group of one machine does not wait for members who may still come.
group.initial.rebalance.delay.ms=0
# Of the default, 128 MB, a development broker needs next to nothing.
log.cleaner.dedupe.buffer.size=8388608
"""

# To standard output, which is the stack's logs/NAME.log, and to no file of their own.
LOG4J_PROPERTIES = """\
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
# It would log every look at whether it is ready.
log4j.logger.org.apache.zookeeper.server.NIOServerCnxn=WARN
log4j.logger.org.apache.zookeeper.server.NIOServerCnxnFactory=WARN
"""


class BrokerError(Exception):
    """The broker cannot be run; the text says why."""


class PrivateBroker:
    """The broker and the ZooKeeper in `folder`, of the Kafka in `kafka_home`, run by the Java 11 in `java_home`.

    Both listen on `address`.
    """

    def __init__(self, folder, kafka_home, java_home, address=LOOPBACKS[0]):
        self.folder, self.address = pathlib.Path(folder), address
        self.kafka_home, self.java_home = pathlib.Path(kafka_home), pathlib.Path(java_home)

    @staticmethod
    def is_available(kafka_home, java_home):
        """Whether deploy/setup brought both Kafka and a Java for it."""
        return bool(kafka_home and java_home) and (pathlib.Path(kafka_home) / "libs").is_dir() \
            and (pathlib.Path(java_home) / "bin" / "java").exists()

    def command(self, name):
        """To be run in the folder."""
        data = self.folder / "kafka"
        # Nothing is left elsewhere: neither counters nor unpacked libraries in /tmp, nor reports of a crash.
        options = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={data / 'tmp'}",
                   f"-XX:ErrorFile={self.folder / 'logs' / name}-crash-%p.log"]
        return java_command(self.kafka_home, self.java_home, MAIN_CLASSES[name], data / f"{name}.properties",
                            heap=HEAPS[name], log4j=data / "log4j.properties", options=options)

    def write_settings(self, zookeeper_port, broker_port):
        """Anew at every start: a port may have been replaced."""
        data = self.folder / "kafka"
        for name in ("zookeeper", "broker", "tmp"):
            (data / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        values = {"zookeeper": zookeeper_port, "zookeeper_authority": authority(self.address, zookeeper_port),
                  "broker": authority(self.address, broker_port), "address": self.address, "broker_id": BROKER_ID,
                  "tick": TICK, "session": SESSION}
        (data / "zookeeper.properties").write_text(ZOOKEEPER_PROPERTIES.format(**values))
        (data / "broker.properties").write_text(BROKER_PROPERTIES.format(**values))
        (data / "log4j.properties").write_text(LOG4J_PROPERTIES)

    def accepts(self, name, port):
        """Whether the process on `port` is ready for clients."""
        try:
            # "ruok" would be answered before it takes sessions.
            if name == "zookeeper":
                return "Mode: standalone" in ask_zookeeper(port, "srvr", address=self.address)
            return leads_itself(self.address, port)
        except (OSError, ValueError):
            return False

    def forget_killed(self, zookeeper_port):
        """Takes away what a broker that was killed has left in ZooKeeper, where it would stand until its session ends.

        Kafka 2.3 does not start while there is a registration of another session. The caller knows that no broker runs.
        """
        deadline = time.monotonic() + FORGET_TIMEOUT
        while True:
            try:
                return delete_nodes(self.address, zookeeper_port, REGISTRATIONS)
            except (OSError, ValueError) as error:
                if time.monotonic() > deadline:
                    raise BrokerError(
                        f"ZooKeeper on port {zookeeper_port} does not forget the previous broker: {error}") from error
            time.sleep(FORGET_PAUSE)


def delete_nodes(address, port, paths):
    """Deletes the nodes that are there, in a session of its own."""
    with socket.create_connection((address, int(port)), timeout=FORGET_ANSWER_TIMEOUT) as connection:
        answer = connection.makefile("rb")

        def call(request):
            connection.sendall(struct.pack(">i", len(request)) + request)
            return exactly(answer, struct.unpack(">i", exactly(answer, 4))[0])

        # Protocol version, last change seen, timeout, and neither session nor password: a new session.
        call(struct.pack(">iqiqi16s", 0, 0, SESSION, 0, 16, bytes(16)))
        for number, path in enumerate(paths, start=1):
            name = path.encode()
            reply = call(struct.pack(f">iii{len(name)}si", number, DELETE, len(name), name, -1))
            code = struct.unpack(">iqi", reply[:16])[2]
            if code not in (0, NO_NODE):
                raise ValueError(f"deleting {path} was answered with {code}")
        connection.sendall(struct.pack(">iii", 8, len(paths) + 1, CLOSE))  # It may go without an answer.


def exactly(stream, count):
    if not 0 <= count <= ANSWER_BYTES:
        raise ValueError(f"an answer of {count} bytes")
    data = stream.read(count)
    if len(data) != count:
        raise ValueError("the answer ended early")
    return data


def leads_itself(address, port):
    """Whether the broker lists itself, as the controller, too: from then on topics can be made."""
    request = struct.pack(">hhihi", METADATA, METADATA_VERSION, CORRELATION, -1, 0)  # No client id, no topics.
    with socket.create_connection((address, int(port)), timeout=ANSWER_TIMEOUT) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = connection.makefile("rb")

        def number(form):
            return struct.unpack(form, exactly(answer, struct.calcsize(form)))[0]

        def skip_text():
            exactly(answer, max(number(">h"), 0))  # -1 says that there is none.

        number(">i"), number(">i")  # Its length, and our own number.
        brokers = []
        for _ in range(number(">i")):
            brokers.append(number(">i"))
            skip_text()  # Host.
            number(">i")  # Port.
            skip_text()  # Rack.
        return BROKER_ID in brokers and number(">i") == BROKER_ID
