/* Asks a server of this container whether it is ready: exit code 0 for an answer of 200, else 1 and a sentence.
 *
 *   healthcheck [PORT [PATH]]       defaults: COUNTERSIGN_ADMIN_PORT, else 9400; /readyz
 *
 * The images have no shell and no curl. This is in C, as it runs every few seconds in every container: it starts in a
 * millisecond, where a program of ours takes tens to load its libraries.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { answer_seconds = 2, request_bytes = 512, answer_bytes = 4096 };

/* A connection to a port of this container, over IPv4 or else IPv6; -1 without one. */
static int connected(unsigned short port) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct timeval limit = {.tv_sec = answer_seconds};
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int attempt = 0; attempt < 2; attempt++) {
        int connection = socket(attempt ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connection < 0) continue;
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        struct sockaddr *address = attempt ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
        if (connect(connection, address, attempt ? sizeof v6 : sizeof v4) == 0) return connection;
        close(connection);
    }
    return -1;
}

int main(int count, char **arguments) {
    const char *variable = getenv("COUNTERSIGN_ADMIN_PORT");
    const char *text = count > 1 ? arguments[1] : variable && *variable ? variable : "9400";
    const char *path = count > 2 ? arguments[2] : "/readyz";
    char *end, request[request_bytes], answer[answer_bytes + 1];
    long port = strtol(text, &end, 10);
    if (*end || port < 1 || port > 65535) {
        fprintf(stderr, "healthcheck: %s is no port\n", text);
        return 1;
    }
    int length = snprintf(
        request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (length < 0 || (size_t)length >= sizeof request) {
        fprintf(stderr, "healthcheck: the path is too long\n");
        return 1;
    }
    int connection = connected((unsigned short)port);
    if (connection < 0) {
        fprintf(stderr, "healthcheck: nobody listens on port %ld\n", port);
        return 1;
    }
    size_t size = 0;
    if (send(connection, request, (size_t)length, MSG_NOSIGNAL) == length) {
        ssize_t part;
        while (size < answer_bytes && (part = recv(connection, answer + size, answer_bytes - size, 0)) > 0)
            size += (size_t)part;
    }
    answer[size] = 0;
    /* "HTTP/1.1 200 OK": what the services say is shown by `docker inspect` when it is something else. */
    if (size > 12 && !strncmp(answer, "HTTP/1.", 7) && !strncmp(answer + 8, " 200", 4)) return 0;
    char *body = strstr(answer, "\r\n\r\n");
    fprintf(stderr, "healthcheck: %.12s %s\n", size ? answer : "no answer", body ? body + 4 : "");
    return 1;
}
