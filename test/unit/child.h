/* What a fresh process does: bodies run in a forked child with an environment of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CHILD_H
#define TSR_CHILD_H

#include <stddef.h>

enum { CHILD_FAILED = 99 };

/* In a body: end the child with CHILD_FAILED unless `condition`. */
#define REQUIRE(condition) child_require((condition), #condition, __FILE__, __LINE__)

typedef struct child {
    int code;         /* exit code; -1: killed */
    char error[16384]; /* what it wrote to stderr */
} child;

/* Fork, clear every TESSERA_ variable, HOME and XDG_CONFIG_HOME, set `environment` ("NAME=value", ends with NULL; NULL:
 * none), run body, exit(0). */
child run_child(void (*body)(void), const char *const *environment);

void child_require(int good, const char *what, const char *file, int line);

/* How often `part` occurs in `text`. */
int occurrences(const char *text, const char *part);

/* A new empty folder (removed by remove_folder with all that is in it), and the path of a file in it. */
const char *make_folder(void);
const char *in_folder(const char *name);
void remove_folder(void);

void write_text(const char *path, const char *text);
/* Contents, terminated; "" if there is no such file. Static storage, one file at a time. */
const char *read_text(const char *path);

#endif
