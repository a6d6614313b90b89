/* What the commands of the tool share: messages, options, text of JSON, where the library is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/common/tool.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/runtime/paths.h"

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

/* ---- programs ---- */

/* A file of this folder is no command, and a script is none without its interpreter. */
const char *tsr_tool_hint(const char *program)
{
    static char hint[PATH_MAX + 32];
    struct stat file;
    const char *const dot = strrchr(program, '.');
    if (stat(program, &file) != 0 || !S_ISREG(file.st_mode))
        return "";
    if (dot && strcmp(dot, ".py") == 0)
        snprintf(hint, sizeof hint, "; try: python3 %s", program);
    else if (!strchr(program, '/') && access(program, X_OK) == 0)
        snprintf(hint, sizeof hint, "; try: ./%s", program);
    return hint;
}

int tsr_tool_become(char **program)
{
    execvp(program[0], program);
    int why = errno;
    return tsr_tool_fail(why == ENOENT ? TSR_EXIT_NOT_FOUND : TSR_EXIT_NOT_EXECUTABLE, "cannot run %s: %s%s", program[0],
                         strerror(why), tsr_tool_hint(program[0]));
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
