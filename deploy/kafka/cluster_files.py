"""The files that a private cluster is told by: of ZooKeeper, of each broker, of their logs, and of the clients."""

from cluster_identities import MECHANISM, SUPER_USERS

COPIES = 3  # Of every partition, which is one for each broker.
COPIES_MINIMUM = 2  # That must have a record before it is acknowledged.
INTERNAL_PARTITIONS = 3  # Of the topics that Kafka keeps for itself: its default of 50 costs seconds at every start.
LOG_BYTES_MAXIMUM = 10 << 20  # Of a process's log; one older file is kept.
SESSION_MILLISECONDS = 6000  # After which a broker that was killed is missed, and its partitions get other leaders.


def properties(values):
    return "".join(f"{key}={value}\n" for key, value in values.items())


def zookeeper(folder, port):
    # A tick is the unit of its timeouts: sessions last 2 to 20 of them.
    return properties({
        "dataDir": folder / "zookeeper", "clientPort": port, "clientPortAddress": "127.0.0.1", "maxClientCnxns": 0,
        "tickTime": 1000, "autopurge.snapRetainCount": 3, "autopurge.purgeInterval": 1})


def broker(number, folder, port, expired_port, zookeeper_port, authority, passwords):
    """The first broker has one listener more, whose certificate has expired.

    A broker whose own listener has such a certificate does not even start, so clients are shown it by an extra one.
    """
    login = (f'org.apache.kafka.common.security.scram.ScramLoginModule required username="broker" '
             f'password="{passwords["broker"]}";')
    values = {
        "broker.id": number, "log.dirs": folder / f"broker-{number}",
        "zookeeper.connect": f"127.0.0.1:{zookeeper_port}", "zookeeper.session.timeout.ms": SESSION_MILLISECONDS,
        "listeners": f"SASL_SSL://127.0.0.1:{port}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,EXPIRED:SASL_SSL",
        "inter.broker.listener.name": "SASL_SSL", "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": login,
        "ssl.keystore.type": "PKCS12", "ssl.keystore.location": authority.store(f"broker-{number}"),
        "ssl.keystore.password": authority.store_password, "ssl.key.password": authority.store_password,
        "ssl.truststore.type": "PKCS12", "ssl.truststore.location": authority.trust_store,
        "ssl.truststore.password": authority.store_password, "ssl.client.auth": "none",
        "authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer",
        "super.users": ";".join(f"User:{name}" for name in SUPER_USERS),
        "default.replication.factor": COPIES, "min.insync.replicas": COPIES_MINIMUM,
        "offsets.topic.replication.factor": COPIES, "offsets.topic.num.partitions": INTERNAL_PARTITIONS,
        "transaction.state.log.replication.factor": COPIES, "transaction.state.log.min.isr": COPIES_MINIMUM,
        "transaction.state.log.num.partitions": INTERNAL_PARTITIONS,
        "unclean.leader.election.enable": "false", "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        # A producer's largest message is 1,000,000 bytes; this is what newer brokers have by default.
        "message.max.bytes": 1048588, "replica.fetch.max.bytes": 1048588,
        # Stopping the last broker of all would wait for another one to take over.
        "controlled.shutdown.max.retries": 1, "controlled.shutdown.retry.backoff.ms": 500,
        # Small, as its heap is: the default of the first alone is half of it.
        "log.cleaner.dedupe.buffer.size": 4 << 20, "num.network.threads": 2, "num.io.threads": 4,
        "background.threads": 2, "log.segment.bytes": 64 << 20, "log.retention.bytes": 256 << 20}
    if expired_port:
        values["listeners"] += f",EXPIRED://127.0.0.1:{expired_port}"
        values[f"listener.name.expired.{MECHANISM.lower()}.sasl.jaas.config"] = login
        values["listener.name.expired.ssl.keystore.location"] = authority.store("expired")
    return properties(values)


def logging(path):
    """For processes of the cluster: warnings, what a start and a stop say, and whom the authorizer refuses."""
    return properties({
        "log4j.rootLogger": "INFO, file", "log4j.appender.file": "org.apache.log4j.RollingFileAppender",
        "log4j.appender.file.File": path, "log4j.appender.file.MaxFileSize": LOG_BYTES_MAXIMUM,
        "log4j.appender.file.MaxBackupIndex": 1, "log4j.appender.file.layout": "org.apache.log4j.PatternLayout",
        "log4j.appender.file.layout.ConversionPattern": "[%d] %p %m (%c)%n",
        "log4j.logger.org.apache.zookeeper": "WARN", "log4j.logger.state.change.logger": "WARN",
        "log4j.logger.kafka.request.logger": "WARN", "log4j.logger.kafka.authorizer.logger": "INFO"})


def client(user, password, authority_certificate):
    """What a process of ours reads by COUNTERSIGN_KAFKA_PROPERTIES_FILE: properties of librdkafka."""
    return properties({
        "security.protocol": "SASL_SSL", "sasl.mechanism": MECHANISM, "sasl.username": user, "sasl.password": password,
        "ssl.ca.location": authority_certificate})
