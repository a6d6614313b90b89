/* The tessera command: start programs through the library, say what was found, look at a matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/tool.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/runtime/backends.h"
#include "src/runtime/paths.h"
#include "tools/tessera/plot.h"

/* glibc looks it up by name, so it must not be hidden. */
__attribute__((visibility("default"))) const char *argp_program_version = "tessera " TSR_VERSION_TEXT;

typedef struct command {
    const char *name, *full_name;
    int (*main)(int argc, char **argv);
} command;

static const command commands[] = {
    {"run", "tessera run", tsr_tool_run},
    {"info", "tessera info", tsr_tool_info},
    {"inspect", "tessera inspect", tsr_tool_inspect},
    {"bench", "tessera bench", tsr_tool_bench},
    {"explain", "tessera explain", tsr_tool_explain},
    {"train", "tessera train", tsr_tool_train},
};

int tsr_tool_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tessera: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

void tsr_tool_wrong(const struct argp_state *state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", state->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EX_USAGE);
}

/* A parser and its input, behind one that keeps argp from adding a line of its own to messages. */
typedef struct quiet {
    argp_parser_t parser;
    void *input;
} quiet;

static error_t parse_quietly(int key, char *arg, struct argp_state *state)
{
    const quiet *q = state->input;
    if (key == ARGP_KEY_INIT) {
        state->err_stream = NULL;
    }
    state->input = q->input;
    return q->parser(key, arg, state);
}

void tsr_tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    quiet q = {argp->parser, input};
    struct argp silent = *argp;
    silent.parser = parse_quietly;
    if (argp_parse(&silent, argc, argv, flags, NULL, &q) != 0) {
        exit(EX_USAGE);
    }
}

/* An answer that was not written in whole is no success, nor is a help text. */
static void finish(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        _exit(tsr_tool_fail(EX_IOERR, "cannot write the answer: %s", strerror(errno)));
    }
}

int tsr_tool_take_file(const char **path, int key, const char *arg, const struct argp_state *state)
{
    if (key == ARGP_KEY_NO_ARGS) {
        tsr_tool_wrong(state, "no file given");
    }
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    if (*path) {
        tsr_tool_wrong(state, "one file at a time: %s", arg);
    }
    *path = arg;
    return 0;
}

const char *tsr_tool_take_plot(const char *arg, const struct argp_state *state)
{
    if (!tsr_plot_name_ok(arg)) {
        tsr_tool_wrong(state, "--plot=%s: the name must end in .svg or .png", arg);
    }
    return arg;
}

void tsr_tool_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s < 0x20 || *s >= 0x7f) {
            fprintf(out, "\\u%04x", *s);
        } else {
            fputc(*s, out);
        }
    }
    fputc('"', out);
}

/* ---- the library ---- */

static bool try_path(char *path, size_t size, const char *folder, const char *relative, const char *name)
{
    char full[PATH_MAX], resolved[PATH_MAX];
    int n = snprintf(full, sizeof full, "%s/%s/%s", folder, relative, name);
    if (n >= (int)sizeof full || !realpath(full, resolved) || strlen(resolved) >= size) {
        return false;
    }
    strcpy(path, resolved);
    return true;
}

static bool own_folder(char *folder, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    if (n <= 0) {
        return false;
    }
    folder[n] = '\0';
    char *slash = strrchr(folder, '/');
    *(slash ? slash : folder) = '\0';
    return slash != NULL;
}

bool tsr_tool_find_library(char *path, size_t size, const char *name)
{
    static const char *const build_folders[] = {"../src/graphblas", "../src/graphblas/replacement", "../adapters/petsc", "."};
    char folder[PATH_MAX];
    const bool inner = strcmp(name, "libtessera.so") != 0; /* installed in a folder of its own */
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    if (own_folder(folder, sizeof folder)) {
        for (size_t k = 0; k < sizeof build_folders / sizeof *build_folders; k++) {
            if (try_path(path, size, folder, build_folders[k], base)) {
                return true;
            }
        }
        if (try_path(path, size, folder, inner ? TSR_BIN_TO_LIB "/tessera" : TSR_BIN_TO_LIB, name)) {
            return true;
        }
    }
    return try_path(path, size, TSR_LIBRARY_DIR, inner ? "tessera" : ".", name);
}

/* ---- commands ---- */

typedef struct choice {
    const command *command;
    int argc;
    char **argv;
} choice;

static error_t take(int key, char *arg, struct argp_state *state)
{
    choice *c = state->input;
    if (key == ARGP_KEY_NO_ARGS) {
        tsr_tool_wrong(state, "no command given; tessera --help lists them");
    }
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    for (size_t k = 0; k < sizeof commands / sizeof commands[0]; k++) {
        if (strcmp(arg, commands[k].name) == 0) {
            c->command = &commands[k];
        }
    }
    if (!c->command) {
        tsr_tool_wrong(state, "unknown command: %s; tessera --help lists them", arg);
    }
    c->argc = state->argc - state->next + 1;
    c->argv = state->argv + state->next - 1;
    state->next = state->argc;
    return 0;
}

int main(int argc, char **argv)
{
    static const char doc[] =
        "Tessera: faster sparse products for unchanged SuiteSparse:GraphBLAS programs.\n\nCommands:\n"
        "  run [OPTION...] -- PROGRAM [ARGUMENT...]   start a program\n"
        "  info                     what was found, how it is configured\n"
        "  inspect FILE.mtx[.gz]    a matrix as Tensor Cores see it\n"
        "  bench FILE.mtx[.gz]...   its products on every route, side by side\n"
        "  explain FILE.mtx[.gz]    who would compute its products, and why\n"
        "  train                    time the GPU, fit the model that routes products\n"
        "\n`tessera COMMAND --help' tells more.\n\nOptions:";
    static const struct argp argp = {NULL, take, "COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};
    char library[PATH_MAX];
    choice c = {0};
    atexit(finish);
    if (tsr_tool_find_library(library, sizeof library, "libtessera.so")) {
        tsr_backend_search_beside(library);
    }
    argv[0] = (char *)"tessera";
    tsr_tool_parse(&argp, argc, argv, ARGP_IN_ORDER, &c);
    c.argv[0] = (char *)c.command->full_name;
    return c.command->main(c.argc, c.argv);
}
