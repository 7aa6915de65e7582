"""How the programs of Apache Kafka are started, and how its ZooKeeper is asked: for one broker and for a cluster."""

import pathlib
import socket

MAIN_CLASSES = {"zookeeper": "org.apache.zookeeper.server.quorum.QuorumPeerMain", "broker": "kafka.Kafka"}
ANSWER_TIMEOUT = 2.0  # Seconds for one answer.
ANSWER_BYTES = 1 << 20  # Of an answer, at most.


def java_command(kafka_home, java_home, main_class, *arguments, heap, log4j, options):
    """Java itself and not Kafka's scripts, so that the process id is the server's. `log4j` is its settings file."""
    return [str(pathlib.Path(java_home) / "bin" / "java"), f"-Xmx{heap}", *options, "-Djava.awt.headless=true",
            f"-Dlog4j.configuration={pathlib.Path(log4j).absolute().as_uri()}", "-cp", f"{kafka_home}/libs/*",
            main_class, *[str(argument) for argument in arguments]]


def ask_zookeeper(port, word, timeout=ANSWER_TIMEOUT, address="127.0.0.1"):
    """The answer to one of ZooKeeper's four-letter words."""
    with socket.create_connection((address, int(port)), timeout=ANSWER_TIMEOUT) as connection:
        connection.settimeout(timeout)
        connection.sendall(word.encode())
        answer = b""
        while len(answer) < ANSWER_BYTES and (part := connection.recv(4096)):
            answer += part
    return answer.decode(errors="replace")
