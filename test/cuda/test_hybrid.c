/* Both kinds of cores in one product, against the reference executor: splits by random rules, so that all windows, some or none are
 * computed by Tensor Cores.
 *     --seed=N    the one case N     --count=N  cases     --first=N  seed of the first case
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/tensor_test.h"

/* Which half, and its height. */
typedef struct split_case {
    tsr_cuda_half half;
    int height;
    tsr_cuda_split_rule rule;
} split_case;

static split_case draw_split(tensor_case *t)
{
    static const struct { tsr_cuda_half half; int height; } halves[] = {
        { TSR_CUDA_HALF_ME_BCRS, 8 }, { TSR_CUDA_HALF_HRPB, 16 }, { TSR_CUDA_HALF_BMAT, 8 }, { TSR_CUDA_HALF_BMAT, 16 } };
    int which = (int)tensor_below(t, 4);
    split_case s = { .half = halves[which].half, .height = halves[which].height };
    bool all = tensor_chance(t, 10);
    for (int k = 0; k < TSR_CUDA_SPLIT_TERMS; k++)
        s.rule.w[k] = all ? k == 0 : tensor_draw_value(t);
    return s;
}

/* Does the rule choose this window?  0, 1, or -1: too close to tell. */
static int chosen_by(const tsr_cuda_split_rule *rule, int height, double entries, double vectors)
{
    if (entries == 0)
        return 0;
    double i = log2(entries / vectors), s = log2(vectors), r = log2(entries / height), sum = 0;
    double terms[TSR_CUDA_SPLIT_TERMS] = { 1, i, s, i * s, s * s, i * i, fmax(0, 2 - r), fmax(0, r - 2), fmax(0, r - 5) };
    for (int k = 0; k < TSR_CUDA_SPLIT_TERMS; k++)
        sum += rule->w[k] * terms[k];
    return fabs(sum) < 1e-9 ? -1 : sum > 0;
}

/* Least and largest number of windows that may be chosen. */
static void count_chosen(int64_t range[2], const tsr_source *source, const split_case *s)
{
    tsr_bmat like;
    tensor_check(tsr_make_bmat(&like, source, s->height, 1), "tsr_make_bmat");
    range[0] = range[1] = 0;
    for (int64_t v = 0; v < like.w.nwindows; v++) {
        int how = chosen_by(&s->rule, s->height, (double)(like.w.entry[v + 1] - like.w.entry[v]), (double)(like.w.vector[v + 1] - like.w.vector[v]));
        range[0] += how == 1;
        range[1] += how != 0;
    }
    tsr_free_bmat(&like);
}

static void reference(const tensor_case *t, const tsr_source *source, double *wanted, double *magnitude)
{
    tsr_bmat a;
    tensor_check(tsr_make_bmat(&a, source, 8, 1), "tsr_make_bmat");
    for (int64_t k = 0; k < t->nrows * t->ldc; k++)
        wanted[k] = tensor_get(t->c, t->sum, t->shift + k);
    tensor_check(tsr_ref_spmm_bmat(&a, t->number, t->iso, t->n, t->b_exact, t->ldb, wanted, t->ldc, t->alpha, t->beta, magnitude),
                 "tsr_ref_spmm_bmat");
    tsr_free_bmat(&a);
}

/* Converts, multiplies and downloads C.  *nwindows: on Tensor Cores; -1: the matrix has no dense window. */
static tsr_status run_device(const tensor_case *t, const tsr_source *host, const split_case *s, const tsr_cuda_device *device, void *out,
                             int64_t *nwindows)
{
    void *stream = NULL;
    tensor_check(tsr_cuda_stream_new(&stream), "tsr_cuda_stream_new");
    tsr_source a = *host;
    a.p = tensor_upload(host->p, sizeof(int64_t) * (size_t)(host->nrows + 1), stream);
    a.i = tensor_upload(host->i, sizeof(uint32_t) * (size_t)host->nvals, stream);
    a.x = host->x ? tensor_upload(host->x, tsr_number_size(host->number) * (size_t)host->nvals, stream) : NULL;
    size_t c_bytes = t->sum * (size_t)tensor_c_count(t);
    void *b = tensor_upload(t->b, t->element * (size_t)(t->ncols * t->ldb), stream), *c = tensor_upload(t->c, c_bytes, stream);
    tsr_cuda_spmm product = { .math = t->math, .n = t->n, .b = b, .ldb = t->ldb, .ldc = t->ldc, .alpha = t->alpha, .beta = t->beta,
        .iso = t->iso, .device = device, .stream = stream };
    product.c = (char *)c + (size_t)t->shift * t->sum;
    tsr_cuda_hybrid hybrid;
    tsr_status status = tsr_cuda_make_hybrid(&hybrid, &a, s->half, s->height, t->iso, &s->rule, device, stream);
    *nwindows = status == TSR_OK ? hybrid.nwindows : -1;
    if (status == TSR_OK) {
        size_t partial = tsr_cuda_hybrid_partial_bytes(&hybrid, &product);
        tensor_check(tsr_cuda_malloc(&product.partial, partial ? partial : 1, stream), "tsr_cuda_malloc");
        tensor_check(tsr_cuda_set(product.partial, 0xff, partial, stream), "tsr_cuda_set");
        status = tsr_cuda_spmm_hybrid(&hybrid, &product);
        tensor_check(tsr_cuda_to_host(out, c, c_bytes, stream), "tsr_cuda_to_host");
        tensor_check(tsr_cuda_wait(stream), "tsr_cuda_wait");
        tsr_cuda_free_hybrid(&hybrid, stream);
    }
    void *const all[] = { (void *)(intptr_t)a.p, (void *)(intptr_t)a.i, (void *)(intptr_t)a.x, b, c, product.partial };
    for (int k = 0; k < 6; k++)
        tsr_cuda_free(all[k], stream);
    tsr_cuda_stream_free(stream);
    return status;
}

static int complain(const tensor_format *f, const tensor_case *t, const split_case *s, const char *what, long long how)
{
    tensor_print(f, t);
    fprintf(stderr, "    half %d, height %d: %s (%lld)\n", (int)s->half, s->height, what, how);
    return 1;
}

static int check_case(const tensor_format *f, const tensor_case *t, const split_case *s, const tsr_source *source,
                      const tsr_cuda_device *device, void *c, void *again, const double *wanted, const double *magnitude)
{
    int64_t range[2], nwindows, nwindows_again;
    count_chosen(range, source, s);
    tsr_status status = run_device(t, source, s, device, c, &nwindows);
    if (status == TSR_DECLINED && (range[0] == 0 || t->n == 1))
        return 0;
    if (status != TSR_OK || nwindows < range[0] || nwindows > range[1])
        return complain(f, t, s, status == TSR_OK ? "other windows were chosen" : "status", status == TSR_OK ? nwindows : status);
    int failed = tensor_compare(f, t, c, wanted, magnitude);
    if (!failed && t->seed % 8 == 0) {
        tensor_check(run_device(t, source, s, device, again, &nwindows_again), "second run");
        if (memcmp(c, again, t->sum * (size_t)tensor_c_count(t)) != 0)
            failed = complain(f, t, s, "another run gave other bits", 0);
    }
    return failed;
}

static int run_case(const tensor_format *f, const tsr_cuda_device *device, uint64_t seed)
{
    tensor_case t;
    tensor_make_case(&t, seed, f, 0);
    split_case s = draw_split(&t);
    t.iso = floor(t.iso * 64) / 64; /* the same in 16 bits, which ME-BCRS stores */
    tsr_source source = { t.nrows, t.ncols, t.p[t.nrows], t.p, t.i, t.x, t.number };
    size_t places = (size_t)(t.nrows * t.ldc), c_bytes = t.sum * (size_t)tensor_c_count(&t);
    double *wanted = tensor_alloc(sizeof(double) * places), *magnitude = tensor_alloc(sizeof(double) * places);
    void *c = tensor_alloc(c_bytes), *again = tensor_alloc(c_bytes);
    reference(&t, &source, wanted, magnitude);
    int failed = check_case(f, &t, &s, &source, device, c, again, wanted, magnitude);
    void *all[] = { wanted, magnitude, c, again };
    for (int k = 0; k < 4; k++)
        free(all[k]);
    tensor_free_case(&t);
    return failed;
}

static const tensor_format format = { .name = "test_hybrid", .nshapes = 1, .shapes = { 8 }, .nvariants = 1,
    .maths = (1u << TSR_CUDA_MATH_COUNT) - 1 };
static tsr_cuda_device device;

static int run(uint64_t seed)
{
    return run_case(&format, &device, seed);
}

int main(int argc, char **argv)
{
    if (tsr_cuda_count() > 0)
        tensor_check(tsr_cuda_open(0, &device), "tsr_cuda_open");
    return run_seeds(argc, argv, format.name, 400, run);
}
