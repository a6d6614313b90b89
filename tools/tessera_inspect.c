/* tessera inspect: a matrix file as Tensor Cores see it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <stdlib.h>

#include "tools/inspect.h"
#include "tools/tessera.h"

typedef struct request {
    const char *path;
    bool json;
} request;

static const char *const fields[] = {"real", "integer", "pattern"};
static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};

static double per_vector(const tsr_inspection *i, int height)
{
    return i->vectors[height] > 0 ? (double)i->nvals / (double)i->vectors[height] : 0;
}

static void print_text(const request *r, const tsr_mm *m, const tsr_inspection *i)
{
    printf("%s\n", r->path);
    printf("  shape                 %lld x %lld\n", (long long)i->nrows, (long long)i->ncols);
    printf("  entries               %lld (%s, %s)\n", (long long)i->nvals, fields[m->field], symmetries[m->symmetry]);
    printf("  pattern symmetric     %s\n", i->symmetric ? "yes" : "no");
    printf("  entries per row       mean %.2f, most %lld, empty rows %lld\n", i->mean_row, (long long)i->longest_row,
           (long long)i->empty_rows);
    puts("  row window   nonzero vectors   entries per vector   window sparsity");
    for (int k = 0; k < TSR_WINDOW_HEIGHTS; k++) {
        double each = per_vector(i, k);
        printf("  %10d   %15lld   %18.3f   %14.1f%%\n", tsr_window_heights[k], (long long)i->vectors[k], each,
               100 * (1 - each / tsr_window_heights[k]));
    }
    printf("  TC blocks (16 x 8)    %lld, MeanNnzTC %.2f of 128\n", (long long)i->tc_blocks, i->mean_nnz_tc);
}

static void print_json(const request *r, const tsr_mm *m, const tsr_inspection *i)
{
    fputs("{\"file\": ", stdout);
    tsr_tool_json_string(stdout, r->path);
    printf(", \"nrows\": %lld, \"ncols\": %lld, \"nvals\": %lld, \"field\": \"%s\", \"symmetry\": \"%s\"",
           (long long)i->nrows, (long long)i->ncols, (long long)i->nvals, fields[m->field], symmetries[m->symmetry]);
    printf(", \"pattern_symmetric\": %s, \"row_mean\": %.6g, \"row_most\": %lld, \"empty_rows\": %lld, \"windows\": [",
           i->symmetric ? "true" : "false", i->mean_row, (long long)i->longest_row, (long long)i->empty_rows);
    for (int k = 0; k < TSR_WINDOW_HEIGHTS; k++) {
        printf("%s{\"height\": %d, \"nonzero_vectors\": %lld, \"nnz_per_vector\": %.6g}", k ? ", " : "",
               tsr_window_heights[k], (long long)i->vectors[k], per_vector(i, k));
    }
    printf("], \"tc_blocks\": %lld, \"mean_nnz_tc\": %.6g}\n", (long long)i->tc_blocks, i->mean_nnz_tc);
}

static int inspect(const request *r)
{
    char error[512];
    tsr_mm m;
    tsr_mm_csr a;
    tsr_inspection i;
    if (!tsr_mm_read(&m, r->path, error, sizeof error)) {
        return tsr_tool_fail(TSR_EXIT_FILE, "%s", error);
    }
    bool good = tsr_mm_to_csr(&a, &m, error, sizeof error);
    if (good && !tsr_inspect(&i, &a)) {
        snprintf(error, sizeof error, "out of memory");
        good = false;
    }
    if (good) {
        (r->json ? print_json : print_text)(r, &m, &i);
    }
    tsr_mm_csr_free(&a);
    tsr_mm_free(&m);
    return good ? 0 : tsr_tool_fail(TSR_EXIT_FILE, "%s: %s", r->path, error);
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case 'j':
        r->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (r->path) {
            argp_error(state, "one file at a time: %s", arg);
        }
        r->path = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file given");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tsr_tool_inspect(int argc, char **argv)
{
    request r = {0};
    static const struct argp_option options[] = {{"json", 'j', NULL, 0, "One JSON object", 0}, {0}};
    static const struct argp argp = {options, take, "FILE.mtx[.gz]",
                                     "Show shape, degrees, nonzero vectors and TC blocks of a Matrix Market file.",
                                     NULL, NULL, NULL};
    argp_parse(&argp, argc, argv, 0, NULL, &r);
    int code = inspect(&r);
    return fflush(stdout) == 0 ? code : tsr_tool_fail(1, "cannot write the answer");
}
