/* tessera inspect: a matrix file as Tensor Cores see it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <omp.h>
#include <stdlib.h>

#include "src/policy/model/model.h"
#include "src/runtime/backends.h"
#include "tools/tessera/matrix/inspect.h"
#include "tools/tessera/matrix/inspect_plot.h"
#include "tools/tessera/common/plot.h"
#include "tools/tessera/matrix/matrix_file.h"
#include "tools/tessera/matrix/predict.h"
#include "tools/tessera/common/tool.h"

typedef struct request {
    const char *path, *plot;
    bool json;
} request;

static const char *const fields[] = {"real", "integer", "pattern"};
static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
static const char *const route_names[TSR_WINDOW_ROUTES] = {"empty", "cuda_cores", "tensor_cores"};

/* ---- what is derived ---- */

enum { HEIGHTS = 4, FORMATS = 6, WIDTHS = 2 };
static const int heights[HEIGHTS] = {8, 16, 32, 64};
static const int widths[WIDTHS] = {32, 128};

static double ratio(int64_t nvals, int64_t vectors)
{
    return vectors > 0 ? (double)nvals / (double)vectors : 0;
}

static double per_vector(const tsr_inspection *i, int height)
{
    return ratio(i->nvals, i->statistics.vectors[height]);
}

/* cuTeSpMM's classes. */
static const char *synergy(double alpha)
{
    return alpha < 0.125 ? "low" : alpha < 0.25 ? "medium" : "high";
}

typedef struct format_bytes {
    const char *name;
    int64_t bytes;
} format_bytes;

static void list_formats(format_bytes list[FORMATS], const tsr_statistics *s)
{
    const char *const *names = tsr_gpu_kernel_names;
    const format_bytes all[FORMATS] = {
        {names[TSR_GPU_CSR], s->bytes_csr},       {names[TSR_GPU_ME_TCF], s->bytes_me_tcf},
        {names[TSR_GPU_ME_BCRS], s->bytes_me_bcrs}, {names[TSR_GPU_BMAT_8], s->bytes_bmat_8},
        {names[TSR_GPU_BMAT_16], s->bytes_bmat_16}, {tsr_gpu_format_names[TSR_GPU_HRPB_16], s->bytes_hrpb}};
    for (int k = 0; k < FORMATS; k++) {
        list[k] = all[k];
    }
}

static double predicted_ms(const tsr_mm *m, const tsr_inspection *i, int predictor, int n)
{
    return tsr_predict_product_ms(predictor, i->nrows, i->ncols, i->nvals, m->field == TSR_MM_PATTERN, n);
}

/* ---- text ---- */

/* Shares of the entries in the hottest 4096, 16384, … columns. */
static void print_hot(const tsr_inspection *i)
{
    double hot[TSR_HOT_SIZES];
    tsr_hot_shares(hot, &i->spread);
    fputs("  hottest columns      ", stdout);
    for (int k = 0; k < TSR_HOT_SIZES; k += 4)
        printf(" %d: %.1f%%%s", TSR_HOT_LEAST << k, 100 * hot[k], k + 4 < TSR_HOT_SIZES ? "," : " of the entries\n");
}

static void print_windows(const tsr_inspection *i)
{
    puts("  row window   nonzero vectors   entries per vector   window sparsity");
    for (int k = 0; k < HEIGHTS; k++) {
        double each = per_vector(i, k);
        printf("  %10d   %15lld   %18.3f   %14.1f%%\n", heights[k], (long long)i->statistics.vectors[k], each,
               100 * (1 - each / heights[k]));
    }
    for (int order = 0; order < TSR_INSPECT_ORDERS; order++) {
        printf("  rows ordered by %s   ", tsr_inspect_order_names[order]);
        for (int k = 0; k < HEIGHTS; k++) {
            printf(" %.3f", ratio(i->nvals, i->ordered_vectors[order][k]));
        }
        puts(" entries per vector");
    }
    printf("  windows of %d rows     %lld for Tensor Cores, %lld for CUDA cores, %lld empty\n", TSR_INSPECT_HEIGHT,
           (long long)i->routes[TSR_WINDOW_TENSOR_CORES], (long long)i->routes[TSR_WINDOW_CUDA_CORES],
           (long long)i->routes[TSR_WINDOW_EMPTY]);
    printf("  TC blocks (16 x 8)    %lld, MeanNnzTC %.2f of 128\n", (long long)i->statistics.blocks_16x8, i->statistics.mean_nnz_tc);
    printf("  synergy alpha         %.1f%% (%s)\n", 100 * i->statistics.alpha, synergy(i->statistics.alpha));
}

/* What a reader wants to know first: would Tessera help with this matrix, here? */
static void print_gain(const tsr_mm *m, const tsr_inspection *i, bool gpu)
{
    printf("  here (%d threads%s), predicted: A times a dense FP32 matrix\n", omp_get_max_threads(), gpu ? ", GPU" : ", no GPU");
    for (int w = 0; w < WIDTHS; w++) {
        const double plain = predicted_ms(m, i, TSR_PREDICT_SUITESPARSE, widths[w]), cpu = predicted_ms(m, i, TSR_PREDICT_CPU, widths[w]);
        printf("    of %3d columns      %.1f times as fast as SuiteSparse (%.3g ms instead of %.3g)", widths[w], plain / cpu, cpu, plain);
        if (gpu) {
            const double device = predicted_ms(m, i, TSR_PREDICT_GPU, widths[w]);
            printf("; on the GPU %.1f times (%.3g ms, B and C in host memory)", plain / device, device);
        }
        putchar('\n');
    }
    puts("    `tessera bench' measures it");
}

static void print_text(const request *r, const tsr_mm *m, const tsr_inspection *i)
{
    format_bytes formats[FORMATS];
    printf("%s\n", r->path);
    printf("  shape                 %lld x %lld\n", (long long)i->nrows, (long long)i->ncols);
    printf("  entries               %lld (%s, %s)\n", (long long)i->nvals, fields[m->field], symmetries[m->symmetry]);
    printf("  pattern symmetric     %s\n", i->symmetric ? "yes" : "no");
    printf("  entries per row       mean %.2f, most %lld, empty rows %lld\n", i->mean_row, (long long)i->longest_row,
           (long long)i->empty_rows);
    print_hot(i);
    print_gain(m, i, tsr_backend_gpu() != NULL);
    puts("  as Tensor Cores see it");
    print_windows(i);
    list_formats(formats, &i->statistics);
    puts("  format                bytes with FP32 values");
    for (int k = 0; k < FORMATS; k++) {
        printf("    %-19s %lld\n", formats[k].name, (long long)formats[k].bytes);
    }
}

/* ---- JSON ---- */

static void print_json_windows(const tsr_inspection *i)
{
    fputs(", \"windows\": [", stdout);
    for (int k = 0; k < HEIGHTS; k++) {
        printf("%s{\"height\": %d, \"nonzero_vectors\": %lld, \"nnz_per_vector\": %.6g}", k ? ", " : "", heights[k],
               (long long)i->statistics.vectors[k], per_vector(i, k));
    }
    fputs("], \"orders\": [", stdout);
    for (int order = 0; order < TSR_INSPECT_ORDERS; order++) {
        printf("%s{\"order\": \"%s\", \"nnz_per_vector\": [", order ? ", " : "", tsr_inspect_order_names[order]);
        for (int k = 0; k < HEIGHTS; k++) {
            printf("%s%.6g", k ? ", " : "", ratio(i->nvals, i->ordered_vectors[order][k]));
        }
        fputs("]}", stdout);
    }
    printf("], \"window_routes\": {\"height\": %d", TSR_INSPECT_HEIGHT);
    for (int k = 0; k < TSR_WINDOW_ROUTES; k++) {
        printf(", \"%s\": %lld", route_names[k], (long long)i->routes[k]);
    }
    printf("}, \"tc_blocks\": %lld, \"mean_nnz_tc\": %.6g, \"alpha\": %.6g, \"synergy\": \"%s\"", (long long)i->statistics.blocks_16x8,
           i->statistics.mean_nnz_tc, i->statistics.alpha, synergy(i->statistics.alpha));
}

static void print_json_hot(const tsr_inspection *i)
{
    double hot[TSR_HOT_SIZES];
    tsr_hot_shares(hot, &i->spread);
    fputs(", \"hottest_columns\": [", stdout);
    for (int k = 0; k < TSR_HOT_SIZES; k++) {
        printf("%s{\"columns\": %d, \"entries\": %.6g}", k ? ", " : "", TSR_HOT_LEAST << k, hot[k]);
    }
    putchar(']');
}

static void print_json_costs(const tsr_mm *m, const tsr_inspection *i)
{
    format_bytes formats[FORMATS];
    list_formats(formats, &i->statistics);
    fputs(", \"bytes\": {", stdout);
    for (int k = 0; k < FORMATS; k++) {
        printf("%s\"%s\": %lld", k ? ", " : "", formats[k].name, (long long)formats[k].bytes);
    }
    printf("}, \"threads\": %d, \"predicted_ms\": [", omp_get_max_threads());
    for (int w = 0; w < WIDTHS; w++) {
        printf("%s{\"n\": %d", w ? ", " : "", widths[w]);
        for (int p = 0; p < TSR_PREDICTORS; p++) {
            printf(", \"%s\": %.6g", tsr_predictor_names[p], predicted_ms(m, i, p, widths[w]));
        }
        putchar('}');
    }
    putchar(']');
}

static void print_json(const request *r, const tsr_mm *m, const tsr_inspection *i)
{
    fputs("{\"file\": ", stdout);
    tsr_tool_json_string(stdout, r->path);
    printf(", \"nrows\": %lld, \"ncols\": %lld, \"nvals\": %lld, \"field\": \"%s\", \"symmetry\": \"%s\"",
           (long long)i->nrows, (long long)i->ncols, (long long)i->nvals, fields[m->field], symmetries[m->symmetry]);
    printf(", \"pattern_symmetric\": %s, \"row_mean\": %.6g, \"row_most\": %lld, \"empty_rows\": %lld",
           i->symmetric ? "true" : "false", i->mean_row, (long long)i->longest_row, (long long)i->empty_rows);
    print_json_hot(i);
    print_json_windows(i);
    print_json_costs(m, i);
    puts("}");
}

/* ---- the command ---- */

static int inspect(const request *r)
{
    tsr_matrix_file file;
    tsr_inspection i;
    int code = r->plot ? tsr_plot_check(r->plot) : 0;
    if (code == 0) {
        code = tsr_matrix_file_read_rows(&file, r->path);
    }
    if (code != 0) {
        return code;
    }
    tsr_status status = tsr_matrix_file_inspect(&i, &file);
    if (status == TSR_OK) {
        (r->json ? print_json : print_text)(r, &file.mm, &i);
        code = r->plot ? tsr_inspect_plot(&i, &file.csr, r->path, r->plot) : 0;
        tsr_inspection_free(&i);
    } else {
        code = tsr_tool_fail(TSR_EXIT_FILE, "%s: %s", r->path, tsr_status_string(status));
    }
    tsr_matrix_file_free(&file);
    return code;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case 'j':
        r->json = true;
        return 0;
    case 'p':
        r->plot = tsr_tool_take_plot(arg, state);
        return 0;
    default:
        return tsr_tool_take_file(&r->path, key, arg, state);
    }
}

int tsr_tool_inspect(int argc, char **argv)
{
    request r = {0};
    static const struct argp_option options[] = {
        {"json", 'j', NULL, 0, "One JSON object", 0},
        {"plot", 'p', "FILE.svg|png", 0, "Draw the matrix, its row windows and its degrees (.png needs rsvg-convert)", 0},
        {0},
    };
    static const struct argp argp = {options, take, "FILE.mtx[.gz]",
                                     "Show shape, degrees, row windows, bytes of each format and predicted times of a Matrix Market "
                                     "file.\vExit code: 0; 2 the file cannot be read; 64 wrong option; 69 rsvg-convert is missing; 73 the "
                                     "picture cannot be written; 74 the answer cannot be written.",
                                     NULL, NULL, NULL};
    tsr_tool_parse(&argp, argc, argv, 0, &r);
    return inspect(&r);
}
