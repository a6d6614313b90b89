/* Warnings: once, whole, from the right process.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/warn.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_KEYS = 256, KEY_SIZE = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int nwarned;
static void (*log_function)(void *context, const char *message); /* the program's; NULL: stderr */
static void *log_context;

/* ---- writing ---- */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool wait_for_room(int fd, int64_t until)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int64_t left;
    while ((left = until - now_ms()) > 0) {
        if (poll(&p, 1, (int)left) > 0) {
            return true;
        }
    }
    return false;
}

static int write_rest(int fd, const char *data, size_t n, int patience_ms)
{
    const int64_t until = patience_ms > 0 ? now_ms() + patience_ms : 0;
    while (n > 0) {
        const ssize_t done = write(fd, data, n);
        if (done > 0) {
            data += done;
            n -= (size_t)done;
        } else if (done == 0) {
            return ENOSPC;
        } else if (errno != EINTR && !(errno == EAGAIN && until && wait_for_room(fd, until))) {
            return errno;
        }
    }
    return 0;
}

/* The signal that the write raised; one that waited before is the program's. */
static void take_back(int raised, const sigset_t *waiting)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, raised);
    while (!sigismember(waiting, raised) && sigtimedwait(&one, NULL, &(struct timespec){0}) < 0 && errno == EINTR) {
    }
}

int tsr_write_all(int fd, const char *data, size_t n, int patience_ms)
{
    const int saved = errno;
    sigset_t ours, programs, waiting;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &ours, &programs);
    sigpending(&waiting);
    const int why = write_rest(fd, data, n, patience_ms);
    if (why == EPIPE || why == EFBIG) {
        take_back(why == EPIPE ? SIGPIPE : SIGXFSZ, &waiting);
    }
    pthread_sigmask(SIG_SETMASK, &programs, NULL);
    errno = saved;
    return why;
}

/* ---- warnings ---- */

static bool first_time(const char *key)
{
    static char keys[MAX_KEYS][KEY_SIZE];
    for (int k = 0; k < nwarned; k++) {
        if (strncmp(keys[k], key, KEY_SIZE - 1) == 0) {
            return false;
        }
    }
    if (nwarned == MAX_KEYS) {
        return false;
    }
    snprintf(keys[nwarned++], KEY_SIZE, "%s", key);
    return true;
}

static void write_locked(const char *key, const char *format, va_list args)
{
    char line[1024] = "tessera: ";
    const size_t prefix = strlen(line);
    if (!first_time(key)) {
        return;
    }
    int n = vsnprintf(line + prefix, sizeof line - prefix - 1, format, args);
    size_t end = n < 0 ? prefix : prefix + (size_t)n;
    end = end < sizeof line - 2 ? end : sizeof line - 2;
    for (size_t k = prefix; k < end; k++) {
        if (iscntrl((unsigned char)line[k])) {
            line[k] = '?';
        }
    }
    if (log_function) {
        line[end] = '\0';
        log_function(log_context, line + prefix);
        return;
    }
    line[end] = '\n';
    tsr_write_all(STDERR_FILENO, line, end + 1, 0);
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void register_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

void tsr_warn_set_log(void (*log)(void *context, const char *message), void *context)
{
    pthread_once(&fork_once, register_fork);
    pthread_mutex_lock(&lock);
    log_function = log;
    log_context = context;
    pthread_mutex_unlock(&lock);
}

void tsr_warn_log(const char *message)
{
    pthread_once(&fork_once, register_fork);
    pthread_mutex_lock(&lock);
    if (log_function) {
        log_function(log_context, message);
    }
    pthread_mutex_unlock(&lock);
}

void tsr_warn_once(const char *key, const char *format, ...)
{
    va_list args;
    pthread_once(&fork_once, register_fork);
    pthread_mutex_lock(&lock);
    va_start(args, format);
    write_locked(key, format, args);
    va_end(args);
    pthread_mutex_unlock(&lock);
}
