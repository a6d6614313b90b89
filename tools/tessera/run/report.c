/* tessera run --report: run the program with a trace, then make a page of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/run/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "tools/tessera/common/tool.h"

/* ---- the trace ---- */

/* Of `"name":value` in a line of ours: where the value begins; NULL: it has none. */
static const char *find_value(const char *line, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(line, key);
    return found ? found + strlen(key) : NULL;
}

static double number_of(const char *line, const char *name)
{
    const char *value = find_value(line, name);
    return value ? strtod(value, NULL) : 0; /* null: 0 */
}

/* Escapes stay as they are, but for quotes. */
static void text_of(char *out, size_t size, const char *line, const char *name)
{
    const char *s = find_value(line, name);
    size_t n = 0;
    for (s = s && *s == '"' ? s + 1 : ""; *s && *s != '"' && n + 1 < size; s++) {
        s += s[0] == '\\' && (s[1] == '"' || s[1] == '\\');
        out[n++] = *s;
    }
    out[n] = '\0';
}

static bool add(tsr_report *r, const char *line)
{
    if (r->count == r->room) {
        const int64_t room = r->room ? 2 * r->room : 256;
        tsr_report_call *bigger = realloc(r->call, (size_t)room * sizeof *bigger);
        if (!bigger) {
            return false;
        }
        r->call = bigger;
        r->room = room;
    }
    tsr_report_call *c = &r->call[r->count++];
    *c = (tsr_report_call){.end_ms = number_of(line, "at_ms"), .ms = number_of(line, "measured_ms"), .other_ms = number_of(line, "other_ms"),
                           .bytes = number_of(line, "bytes_moved")};
    text_of(c->call, sizeof c->call, line, "call");
    text_of(c->route, sizeof c->route, line, "route");
    text_of(c->pattern, sizeof c->pattern, line, "pattern");
    text_of(c->reason, sizeof c->reason, line, "reason");
    c->place = strcmp(c->route, "suitesparse") == 0 ? TSR_PLACE_SUITESPARSE : strncmp(c->route, "cpu", 3) == 0 ? TSR_PLACE_CPU : TSR_PLACE_GPU;
    return true;
}

bool tsr_report_read(tsr_report *report, FILE *trace)
{
    char *line = NULL;
    size_t size = 0;
    bool good = true;
    while (good && getline(&line, &size, trace) > 0) {
        good = !find_value(line, "route") || add(report, line);
    }
    free(line);
    return good;
}

/* ---- the program ---- */

static volatile pid_t child;

static void pass_on(int number)
{
    if (child > 0) {
        kill(child, number);
    }
}

/* What is sent to us is meant for the program; the terminal's own reach it anyway. */
static void pass_signals(void)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t k = 0; k < sizeof passed / sizeof *passed; k++) {
        sigaction(passed[k], &(struct sigaction){.sa_handler = pass_on, .sa_flags = SA_RESTART}, NULL);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The exit code of the program. */
static int run(char **program)
{
    int status;
    child = fork();
    if (child == 0) {
        _exit(tsr_tool_become(program));
    }
    if (child < 0) {
        return tsr_tool_fail(EX_OSERR, "cannot start a process: %s", strerror(errno));
    }
    pass_signals();
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return tsr_tool_fail(EX_OSERR, "cannot wait for the program: %s", strerror(errno));
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int can_write(const char *path)
{
    FILE *file = fopen(path, "a");
    if (!file) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", path, strerror(errno));
    }
    fclose(file);
    return 0;
}

int tsr_report_run(char **program, const char *path)
{
    char trace[] = "/tmp/tessera-report-XXXXXX";
    tsr_report report = {0};
    int failed = can_write(path);
    const int fd = failed ? -1 : mkstemp(trace);
    if (failed) {
        return failed;
    }
    if (fd < 0 || setenv("TESSERA_TRACE", trace, 1) != 0) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot make a temporary file: %s", strerror(errno));
    }
    const double start = now_ms();
    const int code = run(program);
    report.elapsed_ms = now_ms() - start;
    FILE *file = fdopen(fd, "r");
    if (!file || !tsr_report_read(&report, file)) {
        failed = tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
    } else {
        failed = tsr_report_write(path, &report, program[0]);
    }
    if (file) {
        fclose(file);
    }
    unlink(trace);
    free(report.call);
    return code ? code : failed;
}
