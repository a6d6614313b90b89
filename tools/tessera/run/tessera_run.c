/* tessera run: set the environment, preload the library, become the program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/runtime/config.h"
#include "tools/tessera/run/report.h"
#include "tools/tessera/common/tool.h"

enum { FIRST_OPTION = 0x1000, MOST_OPTIONS = 32, KEY_REPLACE = 0x2000, KEY_QUIET, KEY_REPORT, KEY_PETSC };

typedef struct start {
    struct argp_option options[MOST_OPTIONS + 5]; /* one per option of the configuration, ours, the end */
    char names[MOST_OPTIONS][32];
    bool replace, quiet, petsc;
    const char *report;
    char **program;
} start;

/* ---- environment ---- */

/* "min_work" -> "TESSERA_MIN_WORK" */
static void variable_name(char *variable, size_t size, const char *name)
{
    snprintf(variable, size, "TESSERA_%s", name);
    for (char *s = variable; *s; s++) {
        *s = (char)toupper((unsigned char)*s);
    }
}

/* name = value, then what it was before. */
static bool put_first(const char *name, const char *value)
{
    const char *before = getenv(name);
    char *joined = NULL;
    if (!before || !*before) {
        return setenv(name, value, 1) == 0;
    }
    bool good = asprintf(&joined, "%s:%s", value, before) >= 0 && setenv(name, joined, 1) == 0;
    free(joined);
    return good;
}

static int set_preload(void)
{
    char path[PATH_MAX], handles[PATH_MAX];
    if (!tsr_tool_find_library(path, sizeof path, "libtessera.so")) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "libtessera.so is not where this command looks for it; install again");
    }
    if (strpbrk(path, " :")) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "%s cannot be preloaded: its path holds a space or a colon", path);
    }
    bool good = !tsr_tool_find_library(handles, sizeof handles, TSR_HANDLES_MODULE) || strpbrk(handles, " :") || put_first("LD_PRELOAD", handles);
    return good && put_first("LD_PRELOAD", path) ? 0 : tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
}

/* Folders graphblas7, graphblas9 ... installed beside each other: the loader takes the library with the SONAME that is asked for. */
static bool put_siblings_first(const char *folder)
{
    char pattern[PATH_MAX + 16];
    glob_t found;
    const char *name = strrchr(folder, '/') + 1;
    if (strncmp(name, "graphblas", strlen("graphblas")) != 0) {
        return true; /* a build folder */
    }
    snprintf(pattern, sizeof pattern, "%.*sgraphblas[0-9]*", (int)(name - folder), folder);
    bool good = true;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t k = 0; k < found.gl_pathc && good; k++) {
            good = strcmp(found.gl_pathv[k], folder) == 0 || put_first("LD_LIBRARY_PATH", found.gl_pathv[k]);
        }
        globfree(&found);
    }
    return good;
}

/* A replacement that nothing asks for does nothing, and would say nothing. */
static bool watch_for(const char *folder)
{
    char module[PATH_MAX], *value = NULL;
    const char *slash = strrchr(folder, '/');
    const int length = strncmp(slash + 1, "graphblas", strlen("graphblas")) == 0 ? (int)(slash - folder) + 1 : (int)strlen(folder);
    if (!tsr_tool_find_library(module, sizeof module, TSR_WATCH_MODULE) || strpbrk(module, " :")) {
        return true;
    }
    bool good = asprintf(&value, "%ld:%.*s", (long)getpid(), length, folder) >= 0 && setenv("TESSERA_WATCH", value, 1) == 0 &&
                put_first("LD_PRELOAD", module);
    free(value);
    return good;
}

static int set_replacement(void)
{
    char path[PATH_MAX];
    if (!tsr_tool_find_library(path, sizeof path, TSR_REPLACEMENT)) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "no replacement library (%s) was installed", TSR_REPLACEMENT);
    }
    *strrchr(path, '/') = '\0';
    if (strpbrk(path, ":;")) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "%s cannot be searched for libraries: its path holds a colon", path);
    }
    bool good = put_siblings_first(path) && put_first("LD_LIBRARY_PATH", path) && watch_for(path);
    return good ? 0 : tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
}

/* ---- options ---- */

static error_t set_option(struct argp_state *state, int index, const char *value)
{
    static tsr_config_row row;
    const start *s = state->input;
    char variable[64];
    tsr_config_describe(index, &row);
    if (tsr_config_set(row.name, value) != TSR_OK) {
        tsr_tool_wrong(state, "--%s=%s: wrong value, allowed: %s", s->names[index], value, row.allowed);
    }
    variable_name(variable, sizeof variable, row.name);
    return setenv(variable, value, 1) == 0 ? 0 : ENOMEM;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    start *s = state->input;
    if (key >= FIRST_OPTION && key < FIRST_OPTION + MOST_OPTIONS) {
        return set_option(state, key - FIRST_OPTION, arg);
    }
    switch (key) {
    case KEY_REPLACE:
        s->replace = true;
        return 0;
    case KEY_QUIET:
        s->quiet = true;
        return 0;
    case KEY_REPORT:
        s->report = arg;
        return 0;
    case KEY_PETSC:
        s->petsc = true;
        return 0;
    case ARGP_KEY_ARG:
        s->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        tsr_tool_wrong(state, "no program given; usage: tessera run [OPTION...] -- PROGRAM [ARGUMENT...]");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void list_options(start *s)
{
    static char docs[MOST_OPTIONS][128];
    static tsr_config_row row;
    int n = 0;
    for (; n < MOST_OPTIONS && tsr_config_describe(n, &row); n++) {
        snprintf(s->names[n], sizeof s->names[n], "%s", row.name);
        for (char *c = s->names[n]; *c; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        snprintf(docs[n], sizeof docs[n], "%s", row.allowed);
        s->options[n] = (struct argp_option){s->names[n], FIRST_OPTION + n, "VALUE", 0, docs[n], 0};
    }
    s->options[n] = (struct argp_option){"replace", KEY_REPLACE, NULL, 0,
                                         "Search the replacement libgraphblas first instead of preloading", 1};
    s->options[n + 1] = (struct argp_option){"quiet", KEY_QUIET, NULL, 0, "Say nothing of our own at the end", 1};
    s->options[n + 2] = (struct argp_option){"report", KEY_REPORT, "FILE.html", 0,
                                             "Write a page: which calls were computed where, when, what moved, what was saved", 1};
    s->options[n + 3] = (struct argp_option){"petsc", KEY_PETSC, NULL, 0,
                                             "Let PETSc load the plug-in for its version, and every AIJ matrix use it; PROGRAM may be "
                                             "mpirun", 1};
}

/* The values in force, as the library will see them. */
static bool is_default(const char *name)
{
    static tsr_config_row row;
    for (int k = 0; tsr_config_describe(k, &row); k++) {
        if (strcmp(row.name, name) == 0) {
            return strcmp(row.layer, "default") == 0;
        }
    }
    return false;
}

/* One line at the end, where somebody sits and has not asked for another kind of answer. */
static bool ask_for_savings(const start *s)
{
    const bool wanted = !s->quiet && (s->report || (isatty(STDERR_FILENO) && is_default("verbose") && is_default("trace")));
    if (s->quiet) {
        unsetenv("TESSERA_WATCH");
    }
    return !wanted || !is_default("savings") || setenv("TESSERA_SAVINGS", "1", 1) == 0;
}

int tsr_tool_run(int argc, char **argv)
{
    static start s;
    static const char doc[] = "Start PROGRAM through Tessera. The options set the variables TESSERA_* for it."
                              "\vExit code: the program's; 64 wrong option or variable, 126 not executable, "
                              "127 not found.";
    if (tsr_config_wrong() > 0) {
        return EX_USAGE;
    }
    list_options(&s);
    const struct argp argp = {s.options, take, "[--] PROGRAM [ARGUMENT...]", doc, NULL, NULL, NULL};
    tsr_tool_parse(&argp, argc, argv, ARGP_IN_ORDER, &s);
    int failed = s.petsc ? tsr_tool_set_petsc() : s.replace ? set_replacement() : set_preload();
    if (failed == 0 && !s.petsc && !ask_for_savings(&s)) {
        failed = tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
    }
    return failed ? failed : s.report ? tsr_report_run(s.program, s.report) : tsr_tool_become(s.program);
}
