/* tessera explain: who would compute products with a matrix, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "src/policy/model/forms.h"
#include "src/policy/price/gpu_price.h"
#include "src/runtime/model_file.h"
#include "tools/tessera/matrix/inspect.h"
#include "tools/tessera/matrix/matrix_file.h"
#include "tools/tessera/common/tool.h"

typedef struct request {
    const char *path;
    int64_t n;
    tsr_gpu_math math;
    bool json;
} request;

/* A route and its time for one product; < 0: there is none. */
typedef struct route {
    const char *name;
    double ms;
} route;

enum { ROUTES = 4, HEIGHTS = 5 };

typedef struct explanation {
    const request *request;
    const tsr_inspection *inspection;
    const tsr_model *model;
    tsr_gpu_product product;
    route routes[ROUTES];       /* operands in host memory; the last two with A on the device, and without */
    tsr_gpu_matrix matrix;      /* the same as product, and its row windows */
    double kernels[TSR_FORMS];  /* ms on the GPU alone; < 0: not known */
    int fastest;
    int64_t windows, entries;   /* of TSR_INSPECT_HEIGHT rows: for Tensor Cores, and the entries in them */
} explanation;

/* ---- finding out ---- */

static tsr_features features_of(const explanation *e, bool pattern, bool on_device)
{
    const tsr_gpu_product *p = &e->product;
    tsr_type type = p->math == TSR_GPU_FP64 ? TSR_FP64 : TSR_FP32;
    tsr_mul mul = pattern ? TSR_MUL_SECOND : TSR_MUL_TIMES;
    return (tsr_features){.op = p->n > 1 ? TSR_OP_SPMM : TSR_OP_SPMV, .semiring = {type, TSR_ADD_PLUS, mul},
                          .m = p->nrows, .n = p->n, .k = p->ncols, .a_nnz = p->nvals, .b_nnz = p->ncols * p->n, .a_pattern = pattern,
                          .a_on_device = on_device, .nthreads = omp_get_max_threads()};
}

static void predict_routes(explanation *e, bool pattern)
{
    tsr_features f = features_of(e, pattern, false), kept = features_of(e, pattern, true);
    e->routes[0] = (route){"SuiteSparse", tsr_predict_suitesparse_ms(&f)};
    e->routes[1] = (route){"CPU", tsr_predict_cpu_ms(&f)};
    e->routes[2] = (route){"GPU, A kept on it", tsr_predict_gpu_ms(&kept)};
    e->routes[3] = (route){"GPU, first call", tsr_predict_gpu_ms(&f)};
}

static void predict_kernels(explanation *e)
{
    unsigned all = e->product.n > 1 ? TSR_ALL_FORMS : 0;
    tsr_predict_forms(e->kernels, e->model, &e->matrix, e->product.math, e->product.n, all);
    e->fastest = TSR_GPU_CSR;
    for (int form = 0; form < TSR_FORMS; form++)
        if ((TSR_AUTOMATIC_FORMS & TSR_FORM_BIT(form)) && e->kernels[form] > 0 && e->kernels[form] < e->kernels[e->fastest])
            e->fastest = form;
}

static void judge_windows(explanation *e)
{
    for (int64_t v = 0; v < e->inspection->nlisted; v++) {
        const tsr_window *w = &e->inspection->windows[v];
        if (tsr_window_probability(e->model, e->product.math, (double)w->nvals, (double)w->vectors, e->product.n) > 0.5) {
            e->windows++;
            e->entries += w->nvals;
        }
    }
}

static tsr_gpu_matrix matrix_of(const tsr_inspection *i)
{
    tsr_gpu_matrix m = {.nrows = (double)i->nrows, .ncols = (double)i->ncols, .nvals = (double)i->nvals,
                        .longest = (double)i->spread.longest_row};
    for (int k = 0; k < HEIGHTS; k++)
        m.own[k] = m.vectors[k] = (double)i->statistics.vectors[k];
    tsr_hot_shares(m.hot, &i->spread);
    for (int at = 0; at < 2; at++) {
        m.nwindows[at] = i->nsampled[at];
        m.windows[at] = i->sampled[at];
    }
    return m;
}

static void explain(explanation *e, const request *r, const tsr_inspection *i, bool pattern)
{
    const tsr_model *named = tsr_model_named();
    *e = (explanation){.request = r, .inspection = i, .model = named ? named : tsr_model_default(0)};
    e->product = (tsr_gpu_product){.nrows = (double)i->nrows, .ncols = (double)i->ncols, .nvals = (double)i->nvals, .n = (double)r->n,
                                   .math = r->math};
    for (int k = 0; k < HEIGHTS; k++)
        e->product.vectors[k] = (double)i->statistics.vectors[k];
    e->matrix = matrix_of(i);
    predict_routes(e, pattern);
    predict_kernels(e);
    judge_windows(e);
}

/* ---- saying it ---- */

/* Without a GPU; with one that is asked once, and one that is asked again and again. */
static const char *best_of(const explanation *e, int routes, double *ms)
{
    const char *name = e->routes[0].name;
    *ms = e->routes[0].ms;
    for (int k = 1; k < routes; k++) {
        double least = k == 1 || e->routes[1].ms > e->routes[0].ms ? e->routes[0].ms : e->routes[1].ms;
        bool allowed = k < 2 || least >= TSR_GPU_LEAST_MS;
        if (allowed && e->routes[k].ms < *ms * TSR_ROUTE_MARGIN) {
            *ms = e->routes[k].ms;
            name = e->routes[k].name;
        }
    }
    return name;
}

static void print_choice(const explanation *e)
{
    double without, with;
    const char *cpu = best_of(e, 2, &without), *gpu = best_of(e, 3, &with);
    printf("choice without a GPU    %s: %.3g ms; another than SuiteSparse must be below %g of it\n", cpu, without, TSR_ROUTE_MARGIN);
    if (without < TSR_GPU_LEAST_MS) {
        printf("choice with one         %s: under %g ms the GPU is not asked\n", cpu, TSR_GPU_LEAST_MS);
        return;
    }
    printf("choice with one         %s: %.3g ms", gpu, with);
    if (gpu == e->routes[2].name)
        printf("; uploading A costs %.3g ms once, which %.3g products pay for", e->routes[3].ms - e->routes[2].ms,
               (e->routes[3].ms - e->routes[2].ms) / (without - with));
    putchar('\n');
}

/* FP16 in place of TF32. */
static bool is_narrow(const explanation *e)
{
    const tsr_gpu_product *p = &e->product;
    return p->math == TSR_GPU_TF32 && p->n > 1 && tsr_prefers_narrow(e->model, &e->matrix, p->n, TSR_AUTOMATIC_FORMS);
}

static void print_reason(const explanation *e)
{
    double spared = 100 * (1 - e->kernels[e->fastest] / e->kernels[TSR_GPU_CSR]);
    if (e->fastest == TSR_GPU_CSR)
        puts("  rows share too few columns for blocks: csr, which builds nothing");
    else if (e->fastest == TSR_GPU_HYBRID)
        printf("  some row windows are worth Tensor Cores, others are not: split between them is predicted to spare %.0f %% of csr's time\n", spared);
    else
        printf("  %s fetches rows of B %.3g times less often than csr, and is predicted to spare %.0f %% of its time\n",
               tsr_gpu_kernel_names[e->fastest], e->product.nvals / tsr_gpu_rows_fetched((tsr_gpu_kernel)e->fastest, &e->product), spared);
}

static const char *remark(const explanation *e, int form)
{
    if (form == e->fastest)
        return "   fastest";
    return TSR_AUTOMATIC_FORMS & TSR_FORM_BIT(form) ? "" : "   by name only";
}

static void print_kernels(const explanation *e)
{
    printf("kernels, all on the %s (ms)\n", e->model->device);
    for (int form = 0; form < TSR_FORMS; form++)
        if (e->kernels[form] > 0)
            printf("  %-22s%.4g%s\n", tsr_gpu_kernel_names[form], e->kernels[form], remark(e, form));
    print_reason(e);
    if (is_narrow(e))
        puts("  with B rounded on the way, a kernel of --precision=fp16 is predicted to be faster, and taken where B and A have room in FP16");
    printf("windows of %d rows       %lld of %lld would go to Tensor Cores, with %.1f %% of the entries\n", TSR_INSPECT_HEIGHT,
           (long long)e->windows, (long long)e->inspection->nwindows,
           e->product.nvals > 0 ? 100 * (double)e->entries / e->product.nvals : 0.0);
}

static void print_text(const explanation *e)
{
    const tsr_inspection *i = e->inspection;
    printf("%s x %lld columns, %s\n", e->request->path, (long long)e->request->n, tsr_gpu_math_names[e->request->math]);
    printf("shape, entries          %lld x %lld, %lld\n", (long long)i->nrows, (long long)i->ncols, (long long)i->nvals);
    printf("entries per vector     ");
    for (int k = 0; k < HEIGHTS; k++)
        printf(" %.3g (%d rows)%s", i->statistics.vectors[k] ? (double)i->nvals / (double)i->statistics.vectors[k] : 0.0, 8 << k,
               k + 1 < HEIGHTS ? "," : "\n");
    printf("routes, operands in host memory, %d threads (ms)\n", omp_get_max_threads());
    for (int k = 0; k < ROUTES; k++)
        printf("  %-22s%.4g\n", e->routes[k].name, e->routes[k].ms);
    print_choice(e);
    if (e->kernels[TSR_GPU_CSR] > 0)
        print_kernels(e);
    printf("model                   %s, %s%s\n", e->model->device, e->model->date, tsr_model_named() ? " (TESSERA_MODEL)" : " (built in)");
}

static void print_json(const explanation *e)
{
    double ms;
    fputs("{\"file\": ", stdout);
    tsr_tool_json_string(stdout, e->request->path);
    printf(", \"n\": %lld, \"precision\": \"%s\", \"routes\": {", (long long)e->request->n, tsr_gpu_math_names[e->request->math]);
    for (int k = 0; k < ROUTES; k++)
        printf("%s\"%s\": %.6g", k ? ", " : "", e->routes[k].name, e->routes[k].ms);
    printf("}, \"without_gpu\": \"%s\"", best_of(e, 2, &ms));
    printf(", \"with_gpu\": \"%s\", \"kernels\": {", best_of(e, 3, &ms));
    for (int form = 0, known = 0; form < TSR_FORMS; form++)
        if (e->kernels[form] > 0)
            printf("%s\"%s\": %.6g", known++ ? ", " : "", tsr_gpu_kernel_names[form], e->kernels[form]);
    printf("}, \"fastest\": \"%s\", \"dense_windows\": %lld, \"entries_in_them\": %lld, \"model\": ", tsr_gpu_kernel_names[e->fastest],
           (long long)e->windows, (long long)e->entries);
    tsr_tool_json_string(stdout, e->model->device);
    puts("}");
}

static int run(const request *r)
{
    tsr_matrix_file file;
    tsr_inspection inspection;
    explanation e;
    int code = tsr_matrix_file_read_rows(&file, r->path);
    if (code)
        return code;
    tsr_status status = tsr_matrix_file_inspect(&inspection, &file);
    if (status == TSR_OK) {
        explain(&e, r, &inspection, file.mm.field == TSR_MM_PATTERN);
        (r->json ? print_json : print_text)(&e);
    }
    tsr_inspection_free(&inspection);
    tsr_matrix_file_free(&file);
    return status == TSR_OK ? 0 : tsr_tool_fail(TSR_EXIT_FILE, "%s: out of memory, or too many columns", r->path);
}

/* ---- the command ---- */

static error_t take(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    char *end;
    switch (key) {
    case 'j': r->json = true; return 0;
    case 'n':
        r->n = strtoll(arg, &end, 10);
        if (*end || r->n < 1 || r->n > 1000000)
            tsr_tool_wrong(state, "not a number of columns: %s", arg);
        return 0;
    case 'm':
        for (int math = 0; math < TSR_GPU_MATHS; math++)
            if (strcmp(arg, tsr_gpu_math_names[math]) == 0) {
                r->math = (tsr_gpu_math)math;
                return 0;
            }
        tsr_tool_wrong(state, "no such precision: %s", arg);
        return 0;
    default: return tsr_tool_take_file(&r->path, key, arg, state);
    }
}

int tsr_tool_explain(int argc, char **argv)
{
    request r = {.n = 128};
    static const struct argp_option options[] = {
        {"n", 'n', "N", 0, "Columns of the dense matrix (default: 128)", 0},
        {"precision", 'm', "NAME", 0, "exact (FP32, the default), tf32, fp16, bf16 or fp64", 0},
        {"json", 'j', NULL, 0, "One JSON object", 0},
        {0}};
    static const struct argp argp = {options, take, "FILE.mtx[.gz]",
                                     "Say who would compute the product of a matrix and a dense one: predicted times, the choice, "
                                     "the reason.\vExit code: 0; 2 the file cannot be read; 64 wrong option; 74 the answer cannot be "
                                     "written.",
                                     NULL, NULL, NULL};
    tsr_tool_parse(&argp, argc, argv, 0, &r);
    return run(&r);
}
