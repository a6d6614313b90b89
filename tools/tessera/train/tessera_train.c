/* tessera train: time the GPU's kernels on this machine, fit the model that chooses among them, say how good it is.
 * SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "src/format/blocks/tc_blocks.h"
#include "src/runtime/backends.h"
#include "src/mtx/mm.h"
#include "tools/tessera/common/progress.h"
#include "tools/tessera/common/tool.h"
#include "tools/tessera/train/train_matrices.h"

typedef struct request {
    const char *output, *samples;
    char **files; /* real matrices, to check the model with; NULL-terminated */
    double seconds;
    long shrink;
    bool measure, json;
} request;

/* Samples so far; new ones go to the file, too. */
typedef struct training {
    const request *request;
    const tsr_backend *gpu;
    FILE *file;
    tsr_sample *samples;
    size_t count, room, measured;
    char device[64];
    int arch;
    double began;
    bool stopped; /* out of time, or after an error that `failed` tells */
    int failed;
    bool unread; /* a file of real matrices could not be used */
    tsr_progress bar;
} training;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool stop(training *t, int code, const char *why)
{
    t->failed = tsr_tool_fail(code, "%s", why);
    t->stopped = true;
    return false;
}

/* ---- the file of samples ---- */

static const char header[] = "# tessera-samples 2 %d %s\n";

static bool remember(training *t, const tsr_sample *s)
{
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        tsr_sample *more = realloc(t->samples, room * sizeof *more);
        if (!more)
            return stop(t, TSR_EXIT_BROKEN, "out of memory");
        t->samples = more;
        t->room = room;
    }
    t->samples[t->count++] = *s;
    return true;
}

/* Lines that are no samples (the last one, when the program was killed) are left out. */
static bool read_samples(training *t, FILE *file)
{
    char line[1024], device[64];
    int version, arch;
    tsr_sample s;
    if (!fgets(line, sizeof line, file))
        return true;
    if (sscanf(line, "# tessera-samples %d %d %63[^\n]", &version, &arch, device) != 3 || version != 2)
        return stop(t, TSR_EXIT_FILE, "the file of samples is of another program or version");
    if (*t->device && (arch != t->arch || strcmp(device, t->device) != 0))
        return stop(t, TSR_EXIT_FILE, "the file of samples is of another GPU");
    t->arch = arch;
    snprintf(t->device, sizeof t->device, "%s", device);
    while (fgets(line, sizeof line, file))
        if (line[0] != '#' && tsr_sample_parse(&s, line) && !remember(t, &s))
            return false;
    return true;
}

static bool open_samples(training *t)
{
    FILE *file = fopen(t->request->samples, "r");
    bool good = !file || read_samples(t, file);
    if (file)
        fclose(file);
    if (!good || !t->request->measure)
        return good;
    t->file = fopen(t->request->samples, "a");
    if (!t->file) {
        t->failed = tsr_tool_fail(EX_CANTCREAT, "%s: %s", t->request->samples, strerror(errno));
        return false;
    }
    if (t->count == 0)
        fprintf(t->file, header, t->arch, t->device);
    return true;
}

static bool write_sample(training *t, const tsr_sample *s)
{
    char line[1024];
    tsr_sample_print(line, sizeof line, s);
    if (fputs(line, t->file) < 0 || fflush(t->file) != 0)
        return stop(t, EX_CANTCREAT, "cannot write the samples");
    t->measured++;
    return remember(t, s);
}

/* ---- measuring ---- */

/* What is measured of every matrix. */
static const double widths[] = {8, 32, 128, 512};
static const tsr_gpu_kernel kernels[TSR_GPU_MATHS][8] = {
    [TSR_GPU_EXACT] = {TSR_GPU_CSR, TSR_GPU_PANEL_32, TSR_GPU_PANEL_64, TSR_GPU_ME_BCRS, TSR_GPU_BMAT_8, TSR_GPU_BMAT_16},
    [TSR_GPU_TF32] = {TSR_GPU_CSR, TSR_GPU_PANEL_32, TSR_GPU_PANEL_64, TSR_GPU_ME_BCRS, TSR_GPU_HRPB_16, TSR_GPU_HRPB_32,
                      TSR_GPU_BMAT_16},
    [TSR_GPU_FP16] = {TSR_GPU_CSR, TSR_GPU_PANEL_32, TSR_GPU_PANEL_64, TSR_GPU_ME_BCRS, TSR_GPU_HRPB_16, TSR_GPU_HRPB_32,
                      TSR_GPU_BMAT_16},
    [TSR_GPU_FP64] = {TSR_GPU_CSR, TSR_GPU_PANEL_32, TSR_GPU_PANEL_64, TSR_GPU_ME_BCRS, TSR_GPU_BMAT_16},
};

/* A matrix on its way: what the backend keeps of it, and its values. */
typedef struct subject {
    tsr_train_matrix *matrix;
    tsr_statistics statistics;
    tsr_degrees degrees;
    void *slot;
    void *x; /* of either type: all bytes alike */
} subject;

static tsr_product product_of(const subject *s, const tsr_sample *want)
{
    static const tsr_precision precisions[TSR_GPU_MATHS] = {TSR_PRECISION_EXACT, TSR_PRECISION_TF32, TSR_PRECISION_FP16,
                                                            TSR_PRECISION_BF16, TSR_PRECISION_EXACT};
    const tsr_train_matrix *m = s->matrix;
    tsr_type type = want->product.math == TSR_GPU_FP64 ? TSR_FP64 : TSR_FP32;
    int64_t n = (int64_t)want->product.n;
    return (tsr_product){
        .op = TSR_OP_SPMM, .semiring = {type, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = m->nrows, .n = n, .k = m->ncols,
        .a = {.format = TSR_SPARSE, .type = type, .index_size = 4, .nrows = m->nrows, .ncols = m->ncols, .nvec = m->nrows, .vlen = m->ncols,
              .nvals = m->nvals, .p = m->p, .i = m->i, .x = s->x},
        .b = {.format = TSR_FULL, .type = type, .nrows = m->ncols, .ncols = n, .nvec = m->ncols, .vlen = n, .ld = n, .nvals = m->ncols * n},
        .nthreads = omp_get_max_threads(), .precision = precisions[want->product.math], .kernel = tsr_gpu_kernel_names[want->kernel]};
}

/* Was it this kernel?  "csr" may call itself "csr-fp16", "hrpb-16" "hrpb-tf32". */
static bool is_kernel(const char *ran, tsr_gpu_kernel wanted)
{
    const char *name = tsr_gpu_kernel_names[wanted], *digits = strpbrk(name, "0123456789");
    size_t length = digits ? (size_t)(digits - name) - 1 : strlen(name);
    return ran && strncmp(ran, name, length) == 0;
}

static bool is_known(const training *t, const tsr_sample *want)
{
    for (size_t k = 0; k < t->count; k++) {
        const tsr_sample *s = &t->samples[k];
        if (s->kernel == want->kernel && s->product.math == want->product.math && s->product.n == want->product.n &&
            s->role == want->role && strcmp(s->matrix, want->matrix) == 0)
            return true;
    }
    return false;
}

/* A kernel that declines, or has no memory, leaves no sample. */
static bool measure(training *t, subject *s, tsr_sample *want)
{
    tsr_measured m;
    tsr_product product = product_of(s, want);
    product.a_slot = &s->slot;
    tsr_status status = t->gpu->measure(&product, &m);
    if (status == TSR_INTERNAL_ERROR)
        return stop(t, EX_SOFTWARE, "the GPU failed");
    if (status != TSR_OK || !is_kernel(m.kernel, want->kernel) || !(m.ms > 0))
        return true;
    want->ms = m.ms;
    want->build_ms = m.build_ms;
    return write_sample(t, want);
}

/* Windows: csr and the kernel it competes with. */
static bool is_wanted(const tsr_train_matrix *m, tsr_gpu_kernel kernel, tsr_gpu_math math)
{
    tsr_gpu_kernel rival = tsr_window_kernel(math);
    return m->height == 0 || ((kernel == TSR_GPU_CSR || kernel == rival) && tsr_gpu_kernel_height(rival) == m->height);
}

static bool measure_all(training *t, subject *s)
{
    const tsr_train_matrix *m = s->matrix;
    tsr_sample want = {.role = m->role, .height = m->height};
    snprintf(want.matrix, sizeof want.matrix, "%s", m->name);
    want.product = (tsr_gpu_product){.nrows = (double)m->nrows, .ncols = (double)m->ncols, .nvals = (double)m->nvals};
    for (int k = 0; k < 5; k++)
        want.product.vectors[k] = (double)s->statistics.vectors[k];
    want.product.longest = (double)s->degrees.longest_row;
    tsr_hot_shares(want.product.hot, &s->degrees);
    for (int math = 0; math < TSR_GPU_MATHS; math++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (int k = 0; k < 8 && (k == 0 || kernels[math][k]); k++) {
                want.kernel = kernels[math][k];
                want.product.math = (tsr_gpu_math)math;
                want.product.n = widths[w];
                if (math == TSR_GPU_BF16 || !is_wanted(m, want.kernel, want.product.math) || is_known(t, &want))
                    continue;
                t->stopped |= now() - t->began > t->request->seconds;
                if (t->stopped || !measure(t, s, &want))
                    return false;
            }
    return true;
}

/* The backend lets go of everything between matrices. */
static bool visit(training *t, tsr_train_matrix *m)
{
    tsr_source source = {.nrows = m->nrows, .ncols = m->ncols, .nvals = m->nvals, .p = m->p, .i = m->i};
    subject s = {.matrix = m, .x = malloc((size_t)m->nvals * sizeof(double))};
    bool good = s.x && tsr_make_statistics(&s.statistics, &source, omp_get_max_threads()) == TSR_OK &&
                tsr_count_degrees(&s.degrees, &source, TSR_DEGREE_SAMPLE, omp_get_max_threads()) == TSR_OK;
    if (good)
        memset(s.x, 0x3c, (size_t)m->nvals * sizeof(double));
    good = good ? measure_all(t, &s) : stop(t, TSR_EXIT_BROKEN, "out of memory");
    if (s.slot)
        t->gpu->release(s.slot);
    free(s.x);
    return good;
}

/* Are there as many samples of a matrix as this program would take?  An estimate: kernels that decline leave none. */
static bool is_complete(const training *t, const char *name)
{
    for (size_t k = t->count; k-- > 0;)
        if (strcmp(t->samples[k].matrix, name) == 0)
            return t->samples[k].product.math == TSR_GPU_FP64 && t->samples[k].product.n == 512 && t->samples[k].kernel != TSR_GPU_CSR;
    return false;
}

static bool visit_window(training *t, const tsr_train_window *w, tsr_sample_role role, const char *name)
{
    tsr_train_matrix m = {.role = role};
    snprintf(m.name, sizeof m.name, "%s", name);
    if (!tsr_train_repeat(&m, w, (int)t->request->shrink))
        return stop(t, TSR_EXIT_BROKEN, "out of memory");
    bool good = visit(t, &m);
    tsr_train_matrix_free(&m);
    return good;
}

static void train_on_windows(training *t)
{
    tsr_train_window w;
    char name[48];
    for (int at = 0; !t->stopped && tsr_train_make_window(&w, name, at); at++) {
        tsr_progress_at(&t->bar, 0.25 + 0.55 * at / 240);
        if (w.height == 16 ? !is_complete(t, name) : true)
            visit_window(t, &w, TSR_SAMPLE_WINDOW, name);
        tsr_train_window_free(&w);
    }
}

static void train_on_graphs(training *t)
{
    tsr_train_matrix m;
    int graphs = 0;
    while (tsr_train_graph_name(graphs))
        graphs++;
    for (int at = 0; !t->stopped && at < graphs; at++) {
        tsr_progress_at(&t->bar, 0.25 * at / graphs);
        if (is_complete(t, tsr_train_graph_name(at)))
            continue;
        if (!tsr_train_graph(&m, at, (int)t->request->shrink)) {
            stop(t, TSR_EXIT_BROKEN, "out of memory");
            return;
        }
        visit(t, &m);
        tsr_train_matrix_free(&m);
    }
}

/* ---- real matrices ---- */

enum { WINDOWS_OF_FILE = 6 };

/* Some windows from all over the matrix. */
static void check_windows(training *t, const tsr_train_matrix *m, int height)
{
    char name[48];
    tsr_train_window w;
    int64_t windows = (m->nrows + height - 1) / height;
    for (int k = 0; k < WINDOWS_OF_FILE && !t->stopped; k++) {
        int64_t v = windows * (2 * k + 1) / (2 * WINDOWS_OF_FILE);
        snprintf(name, sizeof name, "%.20s-%d-%lld", m->name, height, (long long)(v % 100000000));
        if (tsr_train_take_window(&w, m, height, v))
            visit_window(t, &w, TSR_SAMPLE_REAL_WINDOW, name);
        tsr_train_window_free(&w);
    }
}

static bool read_matrix(tsr_train_matrix *m, const char *path)
{
    char error[512];
    tsr_mm text;
    tsr_mm_csr csr;
    *m = (tsr_train_matrix){.role = TSR_SAMPLE_REAL};
    bool good = tsr_mm_read(&text, path, error, sizeof error) && tsr_mm_to_csr(&csr, &text, error, sizeof error);
    tsr_mm_free(&text);
    if (!good) {
        tsr_tool_fail(0, "%s", error);
        return false;
    }
    const char *slash = strrchr(path, '/');
    snprintf(m->name, sizeof m->name, "%.40s", slash ? slash + 1 : path);
    m->name[strcspn(m->name, ". \t")] = 0;
    m->nrows = csr.nrows, m->ncols = csr.ncols, m->nvals = csr.nvals, m->p = csr.p;
    m->i = calloc((size_t)csr.nvals + 1, sizeof *m->i);
    for (int64_t k = 0; m->i && k < csr.nvals; k++)
        m->i[k] = (uint32_t)csr.i[k];
    csr.p = NULL;
    tsr_mm_csr_free(&csr);
    if (m->i && m->nvals > 0)
        return true;
    tsr_tool_fail(0, "%s: %s", path, m->i ? "no entries" : "out of memory");
    tsr_train_matrix_free(m);
    return false;
}

static void check_files(training *t)
{
    tsr_train_matrix m;
    for (char **file = t->request->files; *file && !t->stopped; file++) {
        if (!read_matrix(&m, *file)) {
            t->unread = true;
            continue;
        }
        if (visit(t, &m)) {
            check_windows(t, &m, 8);
            check_windows(t, &m, 16);
        }
        tsr_train_matrix_free(&m);
    }
}

/* ---- the model ---- */

/* Said before minutes of measuring: what cannot be written or read in the end. */
static int cannot_begin(const request *r)
{
    bool old = access(r->output, F_OK) == 0;
    FILE *model = fopen(r->output, "a");
    if (!model)
        return tsr_tool_fail(EX_CANTCREAT, "%s: %s", r->output, strerror(errno));
    fclose(model);
    if (!old)
        remove(r->output);
    for (char **file = r->files; *file; file++)
        if (access(*file, R_OK) != 0)
            return tsr_tool_fail(TSR_EXIT_FILE, "%s: %s", *file, strerror(errno));
    return 0;
}

static bool write_model(const request *r, const tsr_model *model)
{
    static char text[32768];
    size_t length = tsr_model_print(text, sizeof text, model);
    FILE *file = length < sizeof text ? fopen(r->output, "w") : NULL;
    bool good = file && fwrite(text, 1, length, file) == length;
    return file && fclose(file) == 0 && good;
}

/* How good the model is on made-up matrices, and on real ones. */
typedef struct verdict {
    const char *math;
    bool real;
    tsr_accuracy windows, products;
} verdict;

static int judge(const training *t, const tsr_model *model, verdict list[2 * TSR_GPU_MATHS])
{
    int count = 0;
    for (int real = 0; real < 2; real++)
        for (int math = 0; math < TSR_GPU_MATHS; math++) {
            verdict v = {.math = tsr_gpu_math_names[math], .real = real};
            v.windows = tsr_judge_windows(model, t->samples, t->count, real ? TSR_SAMPLE_REAL_WINDOW : TSR_SAMPLE_WINDOW, math);
            v.products = tsr_judge_kernels(model, t->samples, t->count, real ? TSR_SAMPLE_REAL : TSR_SAMPLE_GRAPH, math);
            if (v.windows.cases || v.products.cases)
                list[count++] = v;
        }
    return count;
}

static void tell(const verdict *v)
{
    printf("%s%-*s", v->real ? "real " : "", v->real ? 5 : 10, v->math);
    if (v->windows.cases)
        printf("  windows %5zu  right %5.1f %%  lost %5.2f %%", v->windows.cases, 100 * v->windows.right, 100 * v->windows.loss);
    if (v->products.cases)
        printf("  products %4zu  best chosen %5.1f %%  lost %5.2f %%  worst %5.1f %%", v->products.cases, 100 * v->products.right,
               100 * v->products.loss, 100 * v->products.worst);
    putchar('\n');
}

static void tell_json(const char *name, tsr_accuracy a)
{
    printf(", \"%s\": {\"cases\": %zu", name, a.cases);
    if (a.cases)
        printf(", \"right\": %.4f, \"lost\": %.4f, \"worst\": %.4f", a.right, a.loss, a.worst);
    putchar('}');
}

static void report_json(const training *t, const verdict *list, int count)
{
    fputs("{\"device\": ", stdout);
    tsr_tool_json_string(stdout, t->device);
    printf(", \"samples\": %zu, \"measured\": %zu, \"seconds\": %.1f, \"complete\": %s, \"model\": ", t->count, t->measured,
           now() - t->began, t->stopped ? "false" : "true");
    tsr_tool_json_string(stdout, t->request->output);
    fputs(", \"accuracy\": [", stdout);
    for (int k = 0; k < count; k++) {
        printf("%s{\"precision\": \"%s\", \"real\": %s", k ? ", " : "", list[k].math, list[k].real ? "true" : "false");
        tell_json("windows", list[k].windows);
        tell_json("products", list[k].products);
        putchar('}');
    }
    puts("]}");
}

static void report(const training *t, const tsr_model *model)
{
    verdict list[2 * TSR_GPU_MATHS];
    const int count = judge(t, model, list);
    if (t->request->json) {
        report_json(t, list, count);
        return;
    }
    printf("%s: %zu samples, %zu of them new, %.0f s\n", t->device, t->count, t->measured, now() - t->began);
    for (int k = 0; k < count; k++)
        tell(&list[k]);
    printf("written: %s%s\n", t->request->output, t->stopped ? " (out of time: the same command goes on)" : "");
}

static void date_of_today(char date[11])
{
    time_t t = time(NULL);
    struct tm day;
    if (!gmtime_r(&t, &day) || strftime(date, 11, "%Y-%m-%d", &day) != 10)
        *date = 0;
}

static int fit(training *t)
{
    static tsr_model model;
    snprintf(model.device, sizeof model.device, "%s", t->device);
    model.arch = t->arch;
    date_of_today(model.date);
    if (!tsr_model_fit(&model, t->samples, t->count))
        return tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
    if (!write_model(t->request, &model))
        return tsr_tool_fail(EX_CANTCREAT, "%s: %s", t->request->output, strerror(errno));
    report(t, &model);
    return 0;
}

bool tsr_tool_find_device(char device[64], int *arch)
{
    int64_t offsets[] = {0, 1};
    uint32_t columns[] = {0};
    double values[] = {1};
    tsr_train_matrix one = {.nrows = 1, .ncols = 1, .nvals = 1, .p = offsets, .i = columns};
    subject s = {.matrix = &one, .x = values};
    tsr_sample want = {.kernel = TSR_GPU_CSR, .product = {.n = 8}};
    tsr_measured m;
    const tsr_backend *gpu = tsr_backend_gpu();
    if (!gpu || !gpu->measure)
        return false;
    tsr_product product = product_of(&s, &want);
    product.a_slot = &s.slot;
    tsr_status status = gpu->measure(&product, &m);
    if (s.slot)
        gpu->release(s.slot);
    snprintf(device, 64, "%s", m.device);
    *arch = m.arch;
    return status == TSR_OK;
}

static bool find_gpu(training *t)
{
    t->gpu = tsr_backend_gpu();
    return tsr_tool_find_device(t->device, &t->arch) ||
           stop(t, EX_UNAVAILABLE, "no GPU was found (tessera info says more)");
}

static int train(const request *r)
{
    training t = {.request = r, .began = now()};
    t.failed = cannot_begin(r);
    bool good = !t.failed && (!r->measure || find_gpu(&t)) && open_samples(&t);
    if (good && r->measure) {
        tsr_progress_begin(&t.bar, "training");
        train_on_graphs(&t);
        train_on_windows(&t);
        check_files(&t);
        tsr_progress_end(&t.bar);
    }
    if (good && !t.failed)
        t.failed = t.count ? fit(&t) : tsr_tool_fail(TSR_EXIT_FILE, "%s: no samples", r->samples);
    if (t.file)
        fclose(t.file);
    free(t.samples);
    return !t.failed && t.unread ? TSR_EXIT_FILE : t.failed;
}

/* ---- the command ---- */

static error_t take(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    char *end;
    switch (key) {
    case 'o': r->output = arg; return 0;
    case 's': r->samples = arg; return 0;
    case 'f': r->measure = false; return 0;
    case 'j': r->json = true; return 0;
    case 'k':
        r->shrink = strtol(arg, &end, 10);
        if (*end || r->shrink < 1 || r->shrink > 1000)
            tsr_tool_wrong(state, "not a number from 1 to 1000: %s", arg);
        return 0;
    case 't':
        r->seconds = strtod(arg, &end);
        if (*end || !(r->seconds > 0))
            tsr_tool_wrong(state, "not a number of seconds: %s", arg);
        return 0;
    case ARGP_KEY_ARGS: r->files = state->argv + state->next; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int tsr_tool_train(int argc, char **argv)
{
    static char *none[] = {NULL};
    request r = {.output = "tessera-model.txt", .samples = "tessera-samples.tsv", .files = none, .seconds = 170, .shrink = 1,
                 .measure = true};
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "Where the model goes, for TESSERA_MODEL (default: tessera-model.txt)", 0},
        {"samples", 's', "FILE", 0, "Keeps measurements; those in it are not made again (default: tessera-samples.tsv)", 0},
        {"seconds", 't', "S", 0, "Measure for so long at most (default: 170)", 0},
        {"shrink", 'k', "K", 0, "Matrices K times smaller: quick, and wrong", 0},
        {"fit-only", 'f', NULL, 0, "Measure nothing, fit the samples", 0},
        {"json", 'j', NULL, 0, "One JSON object", 0},
        {0}};
    static const struct argp argp = {options, take, "[FILE.mtx[.gz]...]",
                                     "Time the GPU's kernels, fit the model that chooses among them. The files are matrices to check it "
                                     "with.\vExit code: 0; 2 a file cannot be read, or there are no samples; 64 wrong option; 69 there is "
                                     "no GPU; 73 samples or model cannot be written; 74 the answer cannot be written.",
                                     NULL, NULL, NULL};
    tsr_tool_parse(&argp, argc, argv, 0, &r);
    return train(&r);
}
