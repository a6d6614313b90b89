/* Forked bodies and temporary files for tests of configuration and trace.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "test/unit/child.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void child_require(int good, const char *what, const char *file, int line)
{
    if (!good) {
        fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
        fflush(NULL);
        _exit(CHILD_FAILED);
    }
}

static void set_environment(const char *const *environment)
{
    char name[64];
    for (char **v = environ; *v;) {
        size_t length = strcspn(*v, "=");
        if (strncmp(*v, "TESSERA_", 8) == 0 && length < sizeof name) {
            memcpy(name, *v, length);
            name[length] = '\0';
            unsetenv(name);
        } else {
            v++;
        }
    }
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    for (; environment && *environment; environment++) {
        putenv((char *)*environment);
    }
}

static void collect(child *result, int from)
{
    size_t used = 0;
    ssize_t got;
    while ((got = read(from, result->error + used, sizeof result->error - 1 - used)) > 0) {
        used += (size_t)got;
    }
    result->error[used] = '\0';
}

child run_child(void (*body)(void), const char *const *environment)
{
    static child result;
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        set_environment(environment);
        body();
        exit(0);
    }
    close(ends[1]);
    collect(&result, ends[0]);
    close(ends[0]);
    waitpid(pid, &status, 0);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (result.code == CHILD_FAILED || result.code < 0) {
        fprintf(stdout, "child ended with %d:\n%s\n", result.code, result.error);
    }
    return result;
}

int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) {
        count++;
    }
    return count;
}

static char folder[64];

const char *make_folder(void)
{
    strcpy(folder, "/tmp/tessera-test-XXXXXX");
    return mkdtemp(folder);
}

const char *in_folder(const char *name)
{
    static char paths[8][160];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

void remove_folder(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        abort();
    }
}

const char *read_text(const char *path)
{
    static char text[1 << 21];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = '\0';
    if (file) {
        fclose(file);
    }
    return text;
}
