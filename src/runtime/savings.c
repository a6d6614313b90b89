/* Counts of products and of the time that they saved; the line about them at exit.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/savings.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/runtime/config.h"
#include "src/runtime/warn.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t started_in;
static int64_t called, computed, estimated;
static double saved_ms;

/* How long the process runs; 0: not known. */
static double elapsed_ms(void)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    unsigned long long ticks = 0;
    struct timespec now;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *rest = strrchr(text, ')'); /* the name of the program may hold anything */
    for (int field = 2; rest && field < 22; field++)
        rest = strchr(rest + 1, ' ');
    if (!rest || sscanf(rest, "%llu", &ticks) != 1 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return 0;
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6 - (double)ticks * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

static int say_saved(char *text, size_t size)
{
    const double all = elapsed_ms();
    if (estimated == 0)
        return 0;
    if (saved_ms < 10)
        return snprintf(text, size, ", no time to speak of saved");
    const int n = saved_ms < 1000 ? snprintf(text, size, ", about %.0f ms saved", saved_ms) : snprintf(text, size, ", about %.1f s saved", saved_ms * 1e-3);
    return all > 0 ? n + snprintf(text + n, size - (size_t)n, " (%.1f×)", (all + saved_ms) / all) : n;
}

static void at_exit(void)
{
    char line[256];
    if (getpid() != started_in || !tsr_config_get()->savings)
        return;
    pthread_mutex_lock(&lock);
    int n = called == 0 ? snprintf(line, sizeof line, "tessera: no products; programs that load libgraphblas themselves need --replace")
            : snprintf(line, sizeof line, "tessera: %lld of %lld products computed here", (long long)computed, (long long)called);
    n += say_saved(line + n, sizeof line - (size_t)n - 2);
    pthread_mutex_unlock(&lock);
    line[n++] = '\n';
    tsr_write_all(STDERR_FILENO, line, (size_t)n, 0);
}

static void register_exit(void)
{
    started_in = getpid();
    atexit(at_exit);
}

bool tsr_savings_wanted(void)
{
    if (__builtin_expect(!tsr_config_get()->savings, 1))
        return false;
    pthread_once(&once, register_exit);
    return true;
}

void tsr_savings_called(void)
{
    pthread_mutex_lock(&lock);
    called++;
    pthread_mutex_unlock(&lock);
}

void tsr_savings_computed(double ms, double other_ms)
{
    pthread_mutex_lock(&lock);
    computed++;
    estimated += other_ms >= 0;
    saved_ms += other_ms >= 0 ? other_ms - ms : 0;
    pthread_mutex_unlock(&lock);
}
