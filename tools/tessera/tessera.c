/* The tessera command: start programs through the library, say what was found, look at a matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/common/tool.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "src/runtime/backends.h"
#include "src/runtime/paths.h"

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

/* An answer that was not written in whole is no success, nor is a help text. */
static void finish(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        _exit(tsr_tool_fail(EX_IOERR, "cannot write the answer: %s", strerror(errno)));
    }
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
