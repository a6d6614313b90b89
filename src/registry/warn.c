/* Warnings: once, whole, from the right process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/registry/warn.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_KEYS = 256, KEY_SIZE = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int nwarned;

int tsr_write_all(int fd, const char *data, size_t n)
{
    int saved = errno, why;
    ssize_t done;
    do {
        done = write(fd, data, n);
    } while (done < 0 && errno == EINTR);
    why = done == (ssize_t)n ? 0 : done < 0 ? errno : ENOSPC;
    errno = saved;
    return why;
}

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
    line[end] = '\n';
    tsr_write_all(STDERR_FILENO, line, end + 1);
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
