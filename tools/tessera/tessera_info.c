/* tessera info: what was found, and the configuration in force.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "backends/cpu/kernel_table.h"
#include "kernels/kernels.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/model_file.h"
#include "tools/tessera/info_program.h"
#include "tools/tessera/common/tool.h"

/* One line of the answer; the JSON form has the same names. */
typedef struct fact {
    const char *name, *label;
    char text[PATH_MAX + 64];
} fact;

enum { MOST_FACTS = 10 };

typedef struct facts {
    fact list[MOST_FACTS];
    int count;
} facts;

static void add(facts *f, const char *name, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(facts *f, const char *name, const char *label, const char *format, ...)
{
    fact *next = &f->list[f->count++];
    va_list args;
    next->name = name;
    next->label = label;
    va_start(args, format);
    vsnprintf(next->text, sizeof next->text, format, args);
    va_end(args);
}

/* File of the GraphBLAS library that programs here would load; its name carries the version. */
static void find_graphblas(char *path, size_t size)
{
    char resolved[PATH_MAX];
    Dl_info info;
    void *library = dlopen(TSR_GRAPHBLAS_SONAME, RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "GrB_init") : NULL;
    if (symbol && dladdr(symbol, &info) && realpath(info.dli_fname, resolved)) {
        snprintf(path, size, "%s", resolved);
    } else {
        snprintf(path, size, "not found (%s)", TSR_GRAPHBLAS_SONAME);
    }
}

/* The model that chooses among the GPU's kernels, and whether it is of another GPU. */
static void add_model(facts *f, bool has_gpu)
{
    char device[64];
    int arch = 0;
    bool known = has_gpu && tsr_tool_find_device(device, &arch);
    const tsr_model *named = tsr_model_named(), *model = named ? named : tsr_model_default(arch);
    bool other = known && strcmp(device, model->device) != 0;
    if (named && other)
        model = tsr_model_default(arch);
    other = known && strcmp(device, model->device) != 0;
    add(f, "model", "cost model", "%s: %s, %s%s%s%s", named == model ? tsr_config_get()->model : "built in", model->device, model->date,
        other ? " (the nearest to " : "", other ? device : "", other ? ")" : "");
}

static void collect(facts *f)
{
    char path[PATH_MAX];
    const tsr_config *config = tsr_config_get();
    const tsr_backend *gpu = config->mode == TSR_MODE_CPU || config->mode == TSR_MODE_OFF ? NULL : tsr_backend_gpu();
    add(f, "version", "Tessera", "%s", tsr_version());
    bool found = tsr_tool_find_library(path, sizeof path, "libtessera.so");
    add(f, "library", "library", "%s", found ? path : "not found");
    found = tsr_tool_find_library(path, sizeof path, TSR_REPLACEMENT);
    add(f, "replacement", "replacement", "%s", found ? path : "not found");
    add(f, "graphblas_built_for", "GraphBLAS, built for", "%s", TSR_GRAPHBLAS_VERSION);
    find_graphblas(path, sizeof path);
    add(f, "graphblas_found", "GraphBLAS, found", "%s", path);
    add(f, "cpu_isa", "CPU instructions", "%s", tsr_isa_name(tsr_cpu_isa()));
    add(f, "threads", "threads", "%d", omp_get_max_threads());
    add(f, "backends", "backends", "%s%s%s", tsr_backend_cpu()->name, gpu ? ", " : "", gpu ? gpu->name : "");
    add_model(f, gpu != NULL);
}

/* What is said of a program only. */
static int collect_program(facts *f, const char *name)
{
    static tsr_program_facts about;
    if (!tsr_program_inspect(&about, name))
        return tsr_tool_fail(TSR_EXIT_NOT_FOUND, "cannot find %s%s%s", access(name, F_OK) == 0 ? "a program " : "", name, tsr_tool_hint(name));
    add(f, "program", "program", "%s", about.program);
    add(f, "program_graphblas", "GraphBLAS", "%s", about.library);
    add(f, "door", "door", "%s", about.door);
    add(f, "products", "products are taken", "%s", about.verdict);
    return 0;
}

static void print_facts(const facts *f)
{
    for (int k = 0; k < f->count; k++) {
        printf("%-22s%s\n", f->list[k].label, f->list[k].text);
    }
}

static void print_text(const facts *f)
{
    static tsr_config_row row;
    print_facts(f);
    puts("configuration");
    for (int k = 0; tsr_config_describe(k, &row); k++) {
        printf("  %-20s%-16s(%s)\n", row.name, *row.value ? row.value : "-", row.layer);
    }
}

static void print_json(const facts *f)
{
    static tsr_config_row row;
    putchar('{');
    for (int k = 0; k < f->count; k++) {
        printf("\"%s\": ", f->list[k].name);
        tsr_tool_json_string(stdout, f->list[k].text);
        fputs(", ", stdout);
    }
    fputs("\"configuration\": {", stdout);
    for (int k = 0; tsr_config_describe(k, &row); k++) {
        printf("%s\"%s\": {\"value\": ", k ? ", " : "", row.name);
        tsr_tool_json_string(stdout, row.value);
        fputs(", \"layer\": ", stdout);
        tsr_tool_json_string(stdout, row.layer);
        putchar('}');
    }
    puts("}}");
}

/* For scripts: LD_PRELOAD=$(tessera info --library) ./prog */
static int print_library(void)
{
    char path[PATH_MAX];
    if (!tsr_tool_find_library(path, sizeof path, "libtessera.so")) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "libtessera.so is not where this command looks for it; install again");
    }
    puts(path);
    return 0;
}

/* ---- kernels ---- */

static void print_row(const char *backend, const tsr_kernel_row *row)
{
    printf("%-6s%-13s%-16s%-16s%-11s%s\n", backend, row->operation, row->name, row->trace, row->automatic ? "automatic" : "by name", row->takes);
}

static void print_kernels(void)
{
    tsr_kernel_row row;
    for (int k = 0; tsr_cpu_kernel_row(k, &row); k++)
        print_row("cpu", &row);
    for (int k = 0; tsr_backend_gpu_kernel(k, &row); k++)
        print_row("cuda", &row);
}

typedef struct asked {
    int what;            /* key of an option */
    const char *program; /* NULL: what is installed here */
} asked;

static error_t take(int key, char *arg, struct argp_state *state)
{
    asked *a = state->input;
    switch (key) {
    case 'j':
    case 'k':
    case 'l':
        a->what = key;
        return 0;
    case ARGP_KEY_ARG:
        a->program = arg;
        state->next = state->argc; /* the rest is the program's */
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tsr_tool_info(int argc, char **argv)
{
    static facts f;
    asked a = {0};
    static const struct argp_option options[] = {{"json", 'j', NULL, 0, "One JSON object", 0},
                                                 {"kernels", 'k', NULL, 0, "Only the kernels: backend, operation, name, name in traces, "
                                                  "chosen by itself or by name, what it takes", 0},
                                                 {"library", 'l', NULL, 0, "Only the path of libtessera.so, for LD_PRELOAD", 0},
                                                 {0}};
    static const struct argp argp = {options, take, "[--] [PROGRAM [ARGUMENT...]]",
                                     "Say what was found and how it is configured; of PROGRAM which GraphBLAS it will load and which door it "
                                     "gets, without running it.\vExit code: 0; 64 wrong option; 74 the answer cannot be written; 127 no such program.",
                                     NULL, NULL, NULL};
    tsr_tool_parse(&argp, argc, argv, ARGP_IN_ORDER, &a);
    if (a.what == 'l') {
        return print_library();
    }
    if (a.what == 'k') {
        print_kernels();
        return 0;
    }
    const int failed = a.program ? collect_program(&f, a.program) : 0;
    if (failed) {
        return failed;
    }
    if (!a.program) {
        collect(&f);
    }
    (a.what == 'j' ? print_json : a.program ? print_facts : print_text)(&f);
    return 0;
}
