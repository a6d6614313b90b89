/* tessera bench: products of a matrix on every route, side by side.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tools/tessera/bench/bench.h"
#include "tools/tessera/matrix/matrix_file.h"
#include "tools/tessera/common/plot.h"
#include "tools/tessera/common/progress.h"
#include "tools/tessera/common/tool.h"

enum { MOST_WIDTHS = 16 };

#define ROUTE_NAME(id, format) ", gpu:" format

typedef struct request {
    char **files;
    int nfiles;
    int64_t widths[MOST_WIDTHS];
    int nwidths;
    bool ops[TSR_BENCH_OPS], maths[TSR_BENCH_MATHS], routes[TSR_BENCH_ROUTES];
    double budget_ms;
    bool json, fitting; /* fitting: products that do not suit a matrix are left out */
    const char *plot;
} request;

/* A run in progress. */
typedef struct bench {
    const request *request;
    tsr_bench_machine machine;
    tsr_bench_lines lines;
    tsr_progress bar;
    int done, all; /* cases times routes */
    bool wrong;    /* a result was beyond rounding */
} bench;

/* ---- measuring ---- */

static int measure_case(bench *b, const tsr_bench_case *c, int64_t nvals)
{
    static tsr_bench_samples samples;
    tsr_bench_sample(&samples, c);
    for (int r = 0; r < TSR_BENCH_ROUTES; r++) {
        tsr_bench_result result;
        if (!b->request->routes[r] || !tsr_bench_available(&b->machine, &tsr_bench_routes[r], c->op)) {
            continue;
        }
        tsr_bench_measure(&result, &b->machine, &tsr_bench_routes[r], c, &samples, b->request->budget_ms);
        b->wrong |= result.ms >= 0 && !(result.error <= tsr_bench_tolerance(c));
        if (!tsr_bench_add(&b->lines, c, nvals, &result)) {
            return tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
        }
        tsr_progress_at(&b->bar, (double)++b->done / b->all);
    }
    return 0;
}

static int bench_case(bench *b, const char *file, const tsr_mm_csr *a, tsr_bench_op op, int64_t n, tsr_bench_math math)
{
    tsr_bench_case c;
    tsr_status status = tsr_bench_make(&c, file, a, op, n, math);
    if (status == TSR_NOT_SUPPORTED) {
        const bool fitting = b->request->fitting;
        int code = tsr_tool_fail(TSR_EXIT_FILE, "%s: triangles need a symmetric pattern%s", file, fitting ? " and are left out" : "");
        return fitting ? 0 : code;
    }
    if (status != TSR_OK) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "%s: out of memory", file);
    }
    int code = measure_case(b, &c, a->nvals);
    tsr_bench_free(&c);
    return code;
}

/* SpMV and triangles have no width; triangles no arithmetic but integers. */
static int bench_matrix(bench *b, const char *file, const tsr_mm_csr *a)
{
    const request *r = b->request;
    int code = 0;
    for (int op = 0; op < TSR_BENCH_OPS; op++) {
        bool triangles = op == TSR_BENCH_TRIANGLES;
        int widths = op == TSR_BENCH_SPMV || triangles ? 1 : r->nwidths;
        for (int math = 0; math < (triangles ? 1 : TSR_BENCH_MATHS); math++) {
            for (int w = 0; code == 0 && r->ops[op] && (r->maths[math] || triangles) && w < widths; w++) {
                code = bench_case(b, file, a, (tsr_bench_op)op, r->widths[w], (tsr_bench_math)math);
            }
        }
    }
    return code;
}

static int bench_file(bench *b, const char *path)
{
    tsr_matrix_file file;
    int code = tsr_matrix_file_read(&file, path);
    if (code == 0) {
        code = bench_matrix(b, path, &file.csr);
        tsr_matrix_file_free(&file);
    }
    return code;
}

static int count_measurements(const bench *b)
{
    const request *r = b->request;
    int maths = 0, all = 0;
    for (int k = 0; k < TSR_BENCH_MATHS; k++) {
        maths += r->maths[k];
    }
    const int cases[TSR_BENCH_OPS] = {r->nwidths * maths, maths, r->nwidths * maths, 1};
    for (int op = 0; op < TSR_BENCH_OPS; op++) {
        for (int k = 0; k < TSR_BENCH_ROUTES && r->ops[op]; k++) {
            all += r->routes[k] && tsr_bench_available(&b->machine, &tsr_bench_routes[k], (tsr_bench_op)op) ? cases[op] : 0;
        }
    }
    return r->nfiles * all;
}

static int run_bench(const request *r)
{
    static bench b;
    int code = r->plot ? tsr_plot_check(r->plot) : 0;
    if (code != 0) {
        return code;
    }
    b.request = r;
    tsr_bench_find(&b.machine);
    b.all = count_measurements(&b);
    if (b.all == 0) {
        return tsr_tool_fail(EX_UNAVAILABLE, "nothing of what --kernel names is here for these products (tessera info says more)");
    }
    tsr_progress_begin(&b.bar, "measuring");
    for (int k = 0; k < r->nfiles && code == 0; k++) {
        code = bench_file(&b, r->files[k]);
    }
    tsr_progress_end(&b.bar);
    if (code == 0) {
        (r->json ? tsr_bench_print_json : tsr_bench_print_text)(&b.machine, &b.lines);
        code = r->plot ? tsr_bench_plot(&b.machine, &b.lines, r->plot) : 0;
    }
    free(b.lines.line);
    return code == 0 && b.wrong ? tsr_tool_fail(1, "a result differs from the exact one by more than rounding") : code;
}

/* ---- options ---- */

/* "spmm,sddmm" or "all" -> flags; tsr_tool_wrong names the word that is wrong. */
static void take_names(struct argp_state *state, const char *option, char *list, bool *flags, int count, const char *(*name)(int))
{
    char *rest = NULL;
    memset(flags, 0, (size_t)count * sizeof *flags);
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        bool known = strcmp(word, "all") == 0;
        for (int k = 0; k < count; k++) {
            if (known || strcmp(word, name(k)) == 0) {
                flags[k] = true;
                if (strcmp(word, "all") != 0) {
                    known = true;
                    break;
                }
            }
        }
        if (!known) {
            tsr_tool_wrong(state, "--%s: %s is not known", option, word);
        }
    }
    if (!memchr(flags, true, (size_t)count * sizeof *flags)) {
        tsr_tool_wrong(state, "--%s: nothing given", option);
    }
}

static const char *op_name(int k)
{
    return tsr_bench_op_names[k];
}

static const char *math_name(int k)
{
    return tsr_bench_math_names[k];
}

static const char *route_name(int k)
{
    return tsr_bench_routes[k].name;
}

static void take_widths(struct argp_state *state, request *r, char *list)
{
    char *rest = NULL, *end;
    r->nwidths = 0;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        long n = strtol(word, &end, 10);
        if (*end || n < 1 || n > 1 << 20 || r->nwidths == MOST_WIDTHS) {
            tsr_tool_wrong(state, "--n: %s is not a width (1 to 2^20, at most %d of them)", word, MOST_WIDTHS);
        }
        r->widths[r->nwidths++] = n;
    }
    if (r->nwidths == 0) {
        tsr_tool_wrong(state, "--n: no width given");
    }
}

static void take_budget(struct argp_state *state, request *r, const char *text)
{
    char *end;
    r->budget_ms = strtod(text, &end);
    if (end == text || *end || !(r->budget_ms >= 0 && r->budget_ms <= 1e7)) {
        tsr_tool_wrong(state, "--budget: %s is not a time in ms", text);
    }
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case 'n': take_widths(state, r, arg); return 0;
    case 'o':
        r->fitting = strcmp(arg, "all") == 0;
        take_names(state, "op", arg, r->ops, TSR_BENCH_OPS, op_name);
        return 0;
    case 'm': take_names(state, "precision", arg, r->maths, TSR_BENCH_MATHS, math_name); return 0;
    case 'k': take_names(state, "kernel", arg, r->routes, TSR_BENCH_ROUTES, route_name); return 0;
    case 'b': take_budget(state, r, arg); return 0;
    case 'j': r->json = true; return 0;
    case 'p': r->plot = tsr_tool_take_plot(arg, state); return 0;
    case ARGP_KEY_ARGS:
        r->files = state->argv + state->next;
        r->nfiles = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS: tsr_tool_wrong(state, "no file given");
    default: return ARGP_ERR_UNKNOWN;
    }
}

int tsr_tool_bench(int argc, char **argv)
{
    request r = {.widths = {32, 128}, .nwidths = 2, .ops = {[TSR_BENCH_SPMM] = true}, .maths = {[TSR_BENCH_EXACT] = true},
                 .budget_ms = 300};
    static const struct argp_option options[] = {
        {"n", 'n', "LIST", 0, "Columns of the dense operand; inner size of SDDMM (32,128)", 0},
        {"op", 'o', "LIST", 0, "spmm, spmv, sddmm, triangles or all (spmm)", 0},
        {"precision", 'm', "LIST", 0, "exact, tf32, bf16, fp16, fp64 or all (exact: FP32)", 0},
        {"kernel", 'k', "LIST", 0,
         "suitesparse, cpu, cusparse, gpu" TSR_GPU_FORMAT_LIST(ROUTE_NAME) " or all (all)", 0},
        {"budget", 'b', "MS", 0, "Time for each case on each route (300); at least three products", 0},
        {"json", 'j', NULL, 0, "One JSON object", 0},
        {"plot", 'p', "FILE.svg|png", 0, "Draw a bar for each route (.png needs rsvg-convert)", 0},
        {0},
    };
    static const struct argp argp = {options, take, "FILE.mtx[.gz]...",
                                     "Time products of matrices on every route: SuiteSparse:GraphBLAS, our CPU kernels, and on a GPU "
                                     "cuSPARSE, our own choice and each of our kernels, dense operands in host memory.\vExit code: 0; 1 a result is "
                                     "wrong; 2 a file cannot be read or does not suit; 64 wrong option; 69 rsvg-convert is missing; 73 the "
                                     "picture cannot be written; 74 the answer cannot be written.",
                                     NULL, NULL, NULL};
    memset(r.routes, 1, sizeof r.routes);
    tsr_tool_parse(&argp, argc, argv, 0, &r);
    return run_bench(&r);
}
