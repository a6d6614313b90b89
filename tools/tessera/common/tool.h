/* Commands of the `tessera` tool.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TOOL_H
#define TSR_TOOL_H

#include <stdbool.h>
#include <stdio.h>

/* Exit codes beside 0 and those of sysexits.h: 64 wrong option, 69 a program or library that is missing, 73 a file that cannot be made, 74
 * an answer that cannot be written. */
enum { TSR_EXIT_FILE = 2, TSR_EXIT_BROKEN = 70, TSR_EXIT_NOT_EXECUTABLE = 126, TSR_EXIT_NOT_FOUND = 127 };

/* What bench/peer.h describes. */
#define TSR_SUITESPARSE_MODULE "libtessera_suitesparse.so"
#define TSR_CUSPARSE_MODULE "libtessera_cusparse.so"
/* tools/tessera/run/watch.c */
#define TSR_WATCH_MODULE "libtessera_watch.so"
/* tools/tessera/run/handles.c */
#define TSR_HANDLES_MODULE "libtessera_handles.so"

/* argv[0] is "tessera <command>"; returns the exit code, which becomes 74 if standard output cannot be written. */
int tsr_tool_run(int argc, char **argv);
int tsr_tool_info(int argc, char **argv);
int tsr_tool_inspect(int argc, char **argv);
int tsr_tool_bench(int argc, char **argv);
int tsr_tool_explain(int argc, char **argv);
int tsr_tool_train(int argc, char **argv);

/* For --petsc of `tessera run`: the environment, 0 or an exit code after a message. */
int tsr_tool_set_petsc(void);

/* One line on stderr, "tessera: …"; returns `code`. */
int tsr_tool_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct argp;
struct argp_state;
/* argp_parse; a wrong option ends the program with one line and 64. */
void tsr_tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);
/* One line on stderr, "tessera <command>: …"; ends the program with 64. */
_Noreturn void tsr_tool_wrong(const struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The one file of a command, into *path; ARGP_ERR_UNKNOWN: the key is about something else. */
int tsr_tool_take_file(const char **path, int key, const char *arg, const struct argp_state *state);
/* The file of --plot; ends the program unless its name is one of a picture. */
const char *tsr_tool_take_plot(const char *arg, const struct argp_state *state);

/* The library that belongs to this tool: beside it in the build or install tree, else where it was to be installed.
 * name: "libtessera.so", one of these modules, or a replacement's "graphblas7/libgraphblas.so.7". False: not found. */
bool tsr_tool_find_library(char *path, size_t size, const char *name);

/* Name and compute capability (90: 9.0) of the GPU in use, by a small product there.  False: there is none. */
bool tsr_tool_find_device(char device[64], int *arch);

/* The process becomes the program; returns an exit code, after one line on stderr, where it cannot. */
int tsr_tool_become(char **program);

/* What somebody may have meant who named this program, which cannot be started: "; try: python3 s.py".  Empty: nothing. */
const char *tsr_tool_hint(const char *program);

/* A JSON string with its quotes. */
void tsr_tool_json_string(FILE *out, const char *text);

#endif
