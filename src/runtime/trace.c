/* The trace: JSON lines, readable lines, the summary at exit, warnings.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/trace.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/runtime/config.h"
#include "src/runtime/warn.h"

enum { MAX_ROWS = 256, KEY_SIZE = 128, LINE_SIZE = 4096, TOP_ROUTES = 40, TOP_REASONS = 8, TOP_CAUSES = 12 };
enum { PATIENCE_MS = 1000 }; /* for a reader of the trace that takes nothing */
enum { TAKEN = -1 }; /* the trace's descriptor is another file now; beside numbers of errno */
enum { PATH_SIZE = sizeof((tsr_config *)0)->trace + 64 };

typedef struct row {
    char name[KEY_SIZE]; /* "call|route", or a reason without its numbers */
    int64_t count;
    double sum; /* ms, or bytes */
    double device_ms;
} row;

typedef struct table {
    row rows[MAX_ROWS];
    int used;
} table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT, exit_once = PTHREAD_ONCE_INIT;
static _Atomic(const tsr_config *) started_for; /* the last configuration seen */
static pid_t started_in; /* the process whose exit prints the summary */
static int trace_fd = -1;
static struct stat trace_file, error_file; /* what trace_fd is, and what standard error was then */
static int cannot_open, cannot_write; /* why, until it is said */
static pid_t trace_pid; /* the process that opened trace_fd */
static const tsr_config *tried_for; /* the configuration that trace_fd was opened for */
static table products, forwards, moves;
static int64_t built, evicted;

/* A record whose calls may still be under way on the device. */
typedef struct late {
    const tsr_backend *backend;
    void *times;
    int64_t line;
    char name[KEY_SIZE];
    struct late *next;
} late;

static late *oldest, **newest = &oldest;
static int64_t lines; /* records of this process so far */

/* ---- text without the program's locale ---- */

static locale_t c_locale(void)
{
    static _Atomic(locale_t) cached;
    locale_t locale = atomic_load(&cached);
    if (!locale) {
        locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        atomic_store(&cached, locale);
    }
    return locale;
}

/* A buffer that is cut, never overrun. */
typedef struct text {
    char *data;
    size_t used, size;
} text;

static void add_bytes(text *t, const char *bytes, size_t n)
{
    size_t room = t->size - t->used;
    if (n > room) {
        n = room;
    }
    memcpy(t->data + t->used, bytes, n);
    t->used += n;
}

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(text *t, const char *format, ...)
{
    char piece[512];
    va_list args;
    locale_t old = uselocale(c_locale());
    va_start(args, format);
    int n = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    uselocale(old);
    if (n > 0) {
        add_bytes(t, piece, (size_t)n < sizeof piece ? (size_t)n : sizeof piece - 1);
    }
}

/* ---- JSON ---- */

static void add_json_string(text *t, const char *name, const char *value, const char *separator)
{
    enum { LONGEST = 900 }; /* three strings and the numbers always fit one line */
    add(t, "\"%s\":\"", name);
    size_t limit = t->used + LONGEST;
    for (const unsigned char *s = (const unsigned char *)(value ? value : ""); *s && t->used < limit; s++) {
        if (*s == '"' || *s == '\\') {
            add(t, "\\%c", *s);
        } else if (*s < 0x20 || *s >= 0x7f) {
            add(t, "\\u%04x", *s);
        } else {
            add_bytes(t, (const char *)s, 1);
        }
    }
    add(t, "\"%s", separator);
}

static void add_json_ms(text *t, const char *name, double ms)
{
    if (ms >= 0 && isfinite(ms)) {
        add(t, "\"%s\":%.6g,", name, ms);
    } else {
        add(t, "\"%s\":null,", name);
    }
}

static void expand_path(char *path, size_t size, const char *pattern)
{
    text t = {path, 0, size - 1};
    for (const char *s = pattern; *s; s++) {
        if (s[0] == '%' && s[1] == 'p') {
            add(&t, "%ld", (long)getpid());
            s++;
        } else if (s[0] == '%' && s[1] == '%') {
            add_bytes(&t, "%", 1);
            s++;
        } else {
            add_bytes(&t, s, 1);
        }
    }
    path[t.used] = '\0';
}

/* Programs close descriptors that they do not know, and open files of their own in their places. */
static bool is_still(int fd, const struct stat *file)
{
    struct stat now;
    return fstat(fd, &now) == 0 && now.st_dev == file->st_dev && now.st_ino == file->st_ino;
}

static void close_trace(void)
{
    if (trace_fd >= 0 && is_still(trace_fd, &trace_file)) {
        close(trace_fd);
    }
    trace_fd = -1;
}

/* A pipe that nobody reads is refused, not waited for.  Not in the place of a standard file that the program was started without. */
static int open_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd >= 0 && fd <= STDERR_FILENO) {
        const int low = fd;
        fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        const int why = errno;
        close(low);
        errno = why;
    }
    return fd;
}

/* The file of this process; a forked child opens its own when the name has %p. */
static void open_trace(const tsr_config *config)
{
    if (tried_for == config && (trace_pid == getpid() || !strstr(config->trace, "%p"))) {
        return;
    }
    char path[PATH_SIZE];
    expand_path(path, sizeof path, config->trace);
    close_trace();
    tried_for = config;
    trace_pid = getpid();
    trace_fd = *path ? open_file(path) : -1;
    cannot_open = *path && trace_fd < 0 ? errno : 0;
    error_file = (struct stat){0};
    fstat(STDERR_FILENO, &error_file);
    if (trace_fd >= 0) {
        fstat(trace_fd, &trace_file);
    }
}

/* Ends the trace where it cannot go on. */
static void write_trace(const text *t)
{
    const int why = is_still(trace_fd, &trace_file) ? tsr_write_all(trace_fd, t->data, t->used, PATIENCE_MS) : TAKEN;
    if (why) {
        close_trace();
        cannot_write = why;
    }
}

static const char *describe(int why)
{
    return why == ENXIO || why == EAGAIN ? "nobody reads it" : why == TAKEN ? "its descriptor was closed" : strerror(why);
}

static void warn_of_opening(const tsr_config *config, int why)
{
    char path[PATH_SIZE];
    expand_path(path, sizeof path, config->trace);
    tsr_warn_once("trace file", "cannot write trace file %.200s: %s", path, describe(why));
}

/* Warnings have a lock of their own.  Where the trace's descriptor was taken, that of standard error may be a file of the program too. */
static void unlock_and_warn(void)
{
    const int opening = cannot_open, writing = cannot_write;
    const bool heard = writing != TAKEN || is_still(STDERR_FILENO, &error_file);
    const tsr_config *config = tried_for;
    cannot_open = cannot_write = 0;
    pthread_mutex_unlock(&lock);
    if (opening) {
        warn_of_opening(config, opening);
    }
    if (writing && heard) {
        tsr_warn_once("trace write", "cannot write the trace: %s; it ends here", describe(writing));
    }
}

/* When this record was made: ms after the first one. */
static double since_first_ms(void)
{
    static double first;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    first = first > 0 ? first : ms;
    return ms - first;
}

static void write_json(const tsr_trace_record *r)
{
    char line[LINE_SIZE];
    text t = {line, 0, sizeof line};
    add(&t, "{");
    add_json_string(&t, "call", r->call, ",");
    add_json_string(&t, "pattern", r->pattern, ",");
    add_json_string(&t, "route", r->route, ",");
    add_json_string(&t, "reason", r->reason, ",");
    add_json_ms(&t, "predicted_ms", r->predicted_ms);
    add_json_ms(&t, "measured_ms", r->measured_ms);
    add_json_ms(&t, "other_ms", r->other_ms > 0 ? r->other_ms : -1);
    add_json_ms(&t, "at_ms", since_first_ms());
    add(&t, "\"bytes_moved\":%lld,\"built\":%d,\"evicted\":%d,\"pid\":%ld,\"line\":%lld}\n", (long long)r->bytes_moved, r->built,
        r->evicted, (long)getpid(), (long long)lines);
    write_trace(&t);
}

/* What the device took for record `line`. */
static void write_late(int64_t line, double ms)
{
    char data[LINE_SIZE];
    text t = {data, 0, sizeof data};
    add(&t, "{");
    add_json_ms(&t, "device_ms", ms);
    add(&t, "\"pid\":%ld,\"line\":%lld}\n", (long)getpid(), (long long)line);
    write_trace(&t);
}

static void write_readable(const tsr_trace_record *r)
{
    char line[LINE_SIZE];
    text t = {line, 0, sizeof line};
    add(&t, "tessera: %s %s -> %s", r->call, r->pattern ? r->pattern : "", r->route);
    if (r->measured_ms >= 0) {
        add(&t, " %.3f ms", r->measured_ms);
    }
    if (r->bytes_moved > 0) {
        add(&t, ", %.3f MB moved", (double)r->bytes_moved * 1e-6);
    }
    if (r->reason && *r->reason) {
        add(&t, " (%s)", r->reason);
    }
    add(&t, "\n");
    tsr_write_all(STDERR_FILENO, line, t.used, 0);
}

/* ---- the summary ---- */

static int find(const table *in, const char *name)
{
    int k = 0;
    while (k < in->used && strcmp(in->rows[k].name, name) != 0) {
        k++;
    }
    return k;
}

static void count(table *in, const char *name, double amount)
{
    int k = find(in, name);
    if (k == MAX_ROWS) {
        k--;
        snprintf(in->rows[k].name, KEY_SIZE, "(others)");
    } else if (k == in->used) {
        snprintf(in->rows[k].name, KEY_SIZE, "%s", name);
        in->used++;
    }
    in->rows[k].count++;
    in->rows[k].sum += amount >= 0 ? amount : 0;
}

/* "predicted 3.1 ms against 14.0 ms" -> "predicted # ms against # ms": one reason, whatever the numbers. */
static void without_numbers(char *out, size_t size, const char *reason)
{
    size_t n = 0;
    char before = ' ';
    for (const char *s = reason; *s && n + 1 < size; s++) {
        if (isdigit((unsigned char)*s) && !isalnum((unsigned char)before)) {
            s += strspn(s, "0123456789.eE+-") - 1;
            out[n++] = '#';
        } else {
            out[n++] = *s;
        }
        before = *s;
    }
    out[n] = '\0';
}

/* One reason, whatever the numbers, for people. */
static void reason_of(char *out, size_t size, const char *reason)
{
    if (strstr(reason, "predicted "))
        snprintf(out, size, "SuiteSparse is %s to be as fast", strncmp(reason, "measured", strlen("measured")) == 0 ? "measured" : "predicted");
    else
        without_numbers(out, size, reason);
}

static bool is_forward(const char *route)
{
    return strcmp(route, "suitesparse") == 0;
}

static void name_row(char name[KEY_SIZE], const tsr_trace_record *r)
{
    snprintf(name, KEY_SIZE, "%-10.40s %.80s", r->call, r->route);
}

static void count_record(const tsr_trace_record *r)
{
    char name[KEY_SIZE];
    built += r->built;
    evicted += r->evicted;
    name_row(name, r);
    count(&products, name, r->measured_ms);
    if (r->bytes_moved > 0) {
        count(&moves, name, (double)r->bytes_moved);
    }
    if (is_forward(r->route) && r->reason) {
        reason_of(name, sizeof name, r->reason);
        count(&forwards, name, r->measured_ms);
    }
}

/* ---- what the device takes ---- */

static void expect_times(const tsr_trace_record *r)
{
    void *times = r->backend && r->backend->times ? r->backend->times() : NULL;
    late *l = times ? malloc(sizeof *l) : NULL;
    if (!l) {
        if (times) {
            r->backend->elapsed(times, true);
        }
        return;
    }
    *l = (late){.backend = r->backend, .times = times, .line = lines};
    name_row(l->name, r);
    *newest = l;
    newest = &l->next;
}

static void take_times(bool wait)
{
    double ms;
    for (late *l; (l = oldest) && !((ms = l->backend->elapsed(l->times, wait)) < 0); free(l)) {
        oldest = l->next;
        newest = oldest ? newest : &oldest;
        const int k = find(&products, l->name);
        if (k < products.used && ms > 0) {
            products.rows[k].device_ms += ms;
        }
        if (trace_fd >= 0 && isfinite(ms)) {
            write_late(l->line, ms);
        }
    }
}

static int by_sum(const void *left, const void *right)
{
    const row *a = left, *b = right;
    return a->sum < b->sum ? 1 : a->sum > b->sum ? -1 : strcmp(a->name, b->name);
}

/* What crossed the bus, and for which calls. */
static void add_moves(text *t)
{
    double all = 0;
    qsort(moves.rows, (size_t)moves.used, sizeof(row), by_sum);
    for (int k = 0; k < moves.used; k++) {
        all += moves.rows[k].sum;
    }
    if (moves.used) {
        add(t, "tessera:   moved between host and device: %.3f MB\n", all * 1e-6);
    }
    for (int k = 0; k < moves.used && k < TOP_CAUSES; k++) {
        add(t, "tessera:     %-44s %9lld calls %12.3f MB\n", moves.rows[k].name, (long long)moves.rows[k].count, moves.rows[k].sum * 1e-6);
    }
}

static void summarize(void)
{
    char block[2 * LINE_SIZE];
    text t = {block, 0, sizeof block};
    qsort(products.rows, (size_t)products.used, sizeof(row), by_sum);
    qsort(forwards.rows, (size_t)forwards.used, sizeof(row), by_sum);
    add(&t, "tessera: summary of process %ld%s\n", (long)getpid(), products.used ? "" : ": no products");
    for (int k = 0; k < products.used && k < TOP_ROUTES; k++) {
        add(&t, "tessera:   %-44s %9lld calls %12.3f ms", products.rows[k].name, (long long)products.rows[k].count, products.rows[k].sum);
        if (products.rows[k].device_ms > 0) {
            add(&t, ", on the device %.3f ms", products.rows[k].device_ms);
        }
        add(&t, "\n");
    }
    for (int k = 0; k < forwards.used && k < TOP_REASONS; k++) {
        add(&t, "tessera:   forwarded %9lld calls %12.3f ms: %s\n", (long long)forwards.rows[k].count, forwards.rows[k].sum,
            forwards.rows[k].name);
    }
    add_moves(&t);
    if (built || evicted)
        add(&t, "tessera:   on the GPU %lld representations were built, %lld operands given up\n", (long long)built, (long long)evicted);
    tsr_write_all(STDERR_FILENO, block, t.used, 0);
}

static void at_exit(void)
{
    if (getpid() != started_in || tsr_config_get()->verbose < 1) {
        return;
    }
    pthread_mutex_lock(&lock);
    take_times(true);
    summarize();
    unlock_and_warn();
}

/* ---- start, fork ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    pthread_mutex_unlock(&lock);
    memset(&products, 0, sizeof products);
    memset(&forwards, 0, sizeof forwards);
    memset(&moves, 0, sizeof moves);
    built = evicted = lines = 0;
    cannot_open = cannot_write = 0; /* which the parent says */
    oldest = NULL; /* whose times are the parent's */
    newest = &oldest;
}

static void register_fork(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static void register_exit(void)
{
    started_in = getpid();
    atexit(at_exit);
}

static void start(const tsr_config *config)
{
    pthread_once(&fork_once, register_fork);
    if (config->verbose >= 1) {
        pthread_once(&exit_once, register_exit);
    }
    atomic_store_explicit(&started_for, config, memory_order_relaxed);
}

bool tsr_trace_wanted(void)
{
    const tsr_config *config = tsr_config_get();
    if (__builtin_expect(config != atomic_load_explicit(&started_for, memory_order_relaxed), 0)) {
        start(config);
    }
    return tsr_trace_asked_for(config);
}

void tsr_trace_product(const tsr_trace_record *record)
{
    if (!tsr_trace_wanted()) {
        return;
    }
    const int saved = errno;
    pthread_mutex_lock(&lock);
    const tsr_config *config = tsr_config_get();
    if (config->verbose >= 1) {
        count_record(record);
    }
    if (config->verbose >= 2) {
        write_readable(record);
    }
    if (*config->trace) {
        open_trace(config);
        if (trace_fd >= 0) {
            write_json(record);
        }
    }
    expect_times(record);
    lines++;
    take_times(false);
    unlock_and_warn();
    errno = saved;
}

void tsr_trace_settle(void)
{
    pthread_mutex_lock(&lock);
    take_times(true);
    unlock_and_warn();
}
