#ifndef COUNTERSIGN_CLIBRDKAFKA_SHIM_H
#define COUNTERSIGN_CLIBRDKAFKA_SHIM_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

/*
 * Swift imports neither variadic functions nor function-like macros, and rd_kafka_producev is both. This form of it
 * also answers with the error itself and not through the thread's last error.
 *
 * The message is copied. `headers` becomes librdkafka's on success only; NULL means none.
 */
static inline rd_kafka_resp_err_t countersign_rdkafka_produce(
    rd_kafka_t *client, const char *topic, const void *key, size_t key_size, const void *value, size_t value_size,
    rd_kafka_headers_t *headers, void *token) {
    if (headers) {
        return rd_kafka_producev(
            client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_size),
            RD_KAFKA_V_VALUE((void *)value, value_size), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(token),
            RD_KAFKA_V_END);
    }
    return rd_kafka_producev(
        client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_size),
        RD_KAFKA_V_VALUE((void *)value, value_size), RD_KAFKA_V_OPAQUE(token), RD_KAFKA_V_END);
}

#endif
