/* Attention over random patterns, on the device and by the CPU kernels of every instruction set, against the oracle.
 *     --seed=N    the one case N     --count=N  cases     --first=N  seed of the first case
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/ref/formats.h"
#include "test/cuda/seeds.h"

enum { POISON = 0xA5 };

/* An operand with room around its rows; there: its copy on the device. */
typedef struct operand {
    tsr_heads heads;
    size_t count; /* elements */
    void *host, *there;
} operand;

typedef struct pattern {
    int64_t nrows, ncols;
    int64_t *p;
    uint32_t *i;
    tsr_cuda_csr there;
    tsr_cuda_attention_cut cut;
    bool ascends; /* columns of every row, none twice */
} pattern;

enum { OF_Q, OF_K, OF_V, GRADIENTS };

typedef struct test_case {
    uint64_t seed, state;
    tsr_type type;
    int64_t heads, width;
    int variant;
    double scale;
    bool beside; /* heads of 32 columns side by side, an even number: windows take two at once */
    bool wild; /* infinities and NaN among Q, K and V */
    pattern s, columns; /* and its transpose */
    operand q, k, v, o, grad_o, grad[GRADIENTS];
    float *lse, *lse_there;
} test_case;

static int64_t below(test_case *t, int64_t n) { return (int64_t)(seeds_next(&t->state) % (uint64_t)n); }
static bool chance(test_case *t, int percent) { return below(t, 100) < percent; }
static double uniform(test_case *t) { return (double)(int64_t)seeds_next(&t->state) * 0x1p-63; }
static size_t size_of(const test_case *t) { return t->type == TSR_FP32 ? 4 : 2; }

static void *checked(void *p)
{
    if (!p)
        abort();
    return p;
}

static void must(tsr_status status)
{
    if (status != TSR_OK) {
        printf("status %d\n", (int)status);
        exit(1);
    }
}

static void *upload(const void *host, size_t bytes)
{
    void *p;
    must(tsr_cuda_malloc(&p, bytes + 1, NULL));
    must(tsr_cuda_to_device(p, host, bytes, NULL));
    return p;
}

/* ---- patterns ---- */

static int64_t length_of_row(test_case *t)
{
    return chance(t, 30) ? 0 : chance(t, 3) ? 200 + below(t, 1500) : chance(t, 20) ? below(t, 120) : below(t, 12);
}

static void upload_pattern(pattern *s)
{
    s->there = (tsr_cuda_csr){.nrows = s->nrows, .ncols = s->ncols, .nvals = s->p[s->nrows], .p = upload(s->p, (size_t)(s->nrows + 1) * sizeof *s->p),
                              .i = upload(s->i, (size_t)s->p[s->nrows] * sizeof *s->i)};
}

/* As windows want it: rows ascend. */
static pattern make_ascending(test_case *t)
{
    static const int percents[] = {0, 1, 5, 40, 100};
    pattern s = {.nrows = 1 + below(t, 40), .ncols = 1 + below(t, chance(t, 30) ? 700 : 90), .ascends = true};
    s.p = checked(calloc((size_t)s.nrows + 1, sizeof *s.p));
    s.i = checked(malloc((size_t)(s.nrows * s.ncols) * sizeof *s.i));
    for (int64_t r = 0, e = 0; r < s.nrows; r++) {
        const int percent = percents[below(t, 5)];
        for (int64_t column = 0; column < s.ncols; column++)
            if (chance(t, percent))
                s.i[e++] = (uint32_t)column;
        s.p[r + 1] = e;
    }
    upload_pattern(&s);
    return s;
}

static pattern make_pattern(test_case *t)
{
    if (chance(t, 50))
        return make_ascending(t);
    pattern s = {.nrows = chance(t, 5) ? 0 : 1 + below(t, 40), .ncols = 1 + below(t, 90)};
    s.p = checked(calloc((size_t)s.nrows + 1, sizeof *s.p));
    for (int64_t r = 0; r < s.nrows; r++)
        s.p[r + 1] = s.p[r] + length_of_row(t);
    s.i = checked(malloc(((size_t)s.p[s.nrows] + 1) * sizeof *s.i));
    for (int64_t e = 0; e < s.p[s.nrows]; e++)
        s.i[e] = (uint32_t)below(t, s.ncols);
    upload_pattern(&s);
    return s;
}

static pattern transpose(const pattern *s)
{
    pattern t = {.nrows = s->ncols, .ncols = s->nrows};
    t.p = checked(calloc((size_t)t.nrows + 2, sizeof *t.p));
    t.i = checked(malloc(((size_t)s->p[s->nrows] + 1) * sizeof *t.i));
    for (int64_t e = 0; e < s->p[s->nrows]; e++)
        t.p[s->i[e] + 2]++;
    for (int64_t c = 0; c < t.nrows; c++)
        t.p[c + 2] += t.p[c + 1];
    for (int64_t r = 0; r < s->nrows; r++)
        for (int64_t e = s->p[r]; e < s->p[r + 1]; e++)
            t.i[t.p[s->i[e] + 1]++] = (uint32_t)r;
    upload_pattern(&t);
    return t;
}

static void free_pattern(pattern *s)
{
    tsr_cuda_free(s->there.p, NULL);
    tsr_cuda_free(s->there.i, NULL);
    tsr_cuda_attention_cut_free(&s->cut, NULL);
    free(s->p);
    free(s->i);
}

static tsr_view view_of(const pattern *s)
{
    return (tsr_view){.format = TSR_SPARSE, .index_size = 4, .nrows = s->nrows, .ncols = s->ncols, .nvec = s->nrows, .vlen = s->ncols,
                      .nvals = s->p[s->nrows], .p = s->p, .i = s->i};
}

/* ---- operands ---- */

static void *element(const operand *o, int64_t row, int64_t head, int64_t c, const void *base)
{
    const size_t size = o->heads.type == TSR_FP32 ? 4 : 2;
    return (char *)(uintptr_t)base + (size_t)(row * o->heads.ld + head * o->heads.head_stride + c) * size;
}

/* Rows of heads or heads of rows, with or without padding that keeps 16 bytes aligned. */
static void lay_out(test_case *t, operand *o, int64_t rows, bool may_share)
{
    const int64_t pad = chance(t, 60) ? 0 : chance(t, 50) ? 8 : 1 + below(t, 3), wide = t->width + pad;
    o->heads = (tsr_heads){.type = t->type, .rows = rows, .heads = t->heads, .width = t->width};
    if (t->beside) {
        o->heads.head_stride = t->width;
        o->heads.ld = t->heads * t->width;
    } else if (may_share && chance(t, 15)) {
        o->heads.head_stride = 0;
        o->heads.ld = wide;
    } else if (chance(t, 50)) {
        o->heads.head_stride = wide;
        o->heads.ld = t->heads * wide;
    } else {
        o->heads.ld = wide;
        o->heads.head_stride = (rows + 1) * wide;
    }
    o->count = (size_t)(rows * o->heads.ld + t->heads * o->heads.head_stride + wide);
}

static double draw(test_case *t)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    return t->wild && chance(t, 1) && chance(t, 20) ? odd[below(t, 3)] : uniform(t);
}

static void make_operand(test_case *t, operand *o, int64_t rows, bool filled)
{
    lay_out(t, o, rows, filled);
    o->host = checked(malloc(o->count * size_of(t)));
    memset(o->host, POISON, o->count * size_of(t));
    for (int64_t r = 0; filled && r < rows; r++)
        for (int64_t h = 0; h < t->heads; h++)
            for (int64_t c = 0; c < t->width; c++) {
                const double x = draw(t);
                tsr_round_values(element(o, r, h, c, o->host), tsr_number_of(t->type), &x, TSR_FP64, 1, 1);
            }
    o->there = upload(o->host, o->count * size_of(t));
}

static test_case make_case(uint64_t seed)
{
    static const int64_t widths[] = {1, 3, 8, 16, 24, 32, 40, 64, 100, 128, 136, 200, 256};
    static const tsr_type types[] = {TSR_FP32, TSR_FP16, TSR_BF16};
    test_case t = {.seed = seed, .state = seed};
    t.type = types[below(&t, 3)];
    t.heads = chance(&t, 40) ? 1 : 1 + below(&t, 8);
    t.width = widths[below(&t, 13)];
    t.beside = chance(&t, 15);
    if (t.beside) {
        t.heads = 2 + 2 * below(&t, 3);
        t.width = 32;
    }
    t.variant = chance(&t, 50) ? 0 : (int)below(&t, 8);
    t.variant = t.variant % 4 == 3 ? 0 : t.variant;
    t.scale = (chance(&t, 70) ? 1 : chance(&t, 80) ? 30 : chance(&t, 50) ? 0 : -3) / sqrt((double)t.width);
    t.wild = chance(&t, 20);
    t.s = make_pattern(&t);
    t.columns = transpose(&t.s);
    make_operand(&t, &t.q, t.s.nrows, true);
    make_operand(&t, &t.k, t.s.ncols, true);
    make_operand(&t, &t.v, t.s.ncols, true);
    make_operand(&t, &t.o, t.s.nrows, false);
    make_operand(&t, &t.grad_o, t.s.nrows, true);
    for (int k = 0; k < GRADIENTS; k++)
        make_operand(&t, &t.grad[k], k == OF_Q ? t.s.nrows : t.s.ncols, false);
    const size_t rows = (size_t)(t.s.nrows * t.heads);
    t.lse = checked(malloc((rows + 1) * sizeof *t.lse));
    t.lse_there = upload(t.lse, rows * sizeof *t.lse);
    return t;
}

static void free_case(test_case *t)
{
    operand *const all[] = {&t->q, &t->k, &t->v, &t->o, &t->grad_o, &t->grad[OF_Q], &t->grad[OF_K], &t->grad[OF_V]};
    for (int k = 0; k < 8; k++) {
        tsr_cuda_free(all[k]->there, NULL);
        free(all[k]->host);
    }
    tsr_cuda_free(t->lse_there, NULL);
    free(t->lse);
    free_pattern(&t->s);
    free_pattern(&t->columns);
}

static tsr_heads heads_of(const operand *o, bool there)
{
    tsr_heads h = o->heads;
    h.data = there ? o->there : o->host;
    return h;
}

static tsr_attention_operands operands_of(const test_case *t, bool there)
{
    return (tsr_attention_operands){.q = heads_of(&t->q, there), .k = heads_of(&t->k, there), .v = heads_of(&t->v, there), .o = heads_of(&t->o, there),
                                    .lse = there ? t->lse_there : t->lse, .scale = t->scale, .grad_o = heads_of(&t->grad_o, there),
                                    .grad_q = heads_of(&t->grad[OF_Q], there), .grad_k = heads_of(&t->grad[OF_K], there),
                                    .grad_v = heads_of(&t->grad[OF_V], there)};
}

/* ---- one result ---- */

typedef struct outcome {
    void *o;
    float *lse;
} outcome;

static outcome take(const test_case *t)
{
    const size_t bytes = t->o.count * size_of(t), rows = (size_t)(t->s.nrows * t->heads) * sizeof(float);
    outcome r = {checked(malloc(bytes)), checked(malloc(rows + 1))};
    memcpy(r.o, t->o.host, bytes);
    memcpy(r.lse, t->lse, rows);
    memset(t->o.host, POISON, bytes);
    memset(t->lse, POISON, rows);
    return r;
}

static void drop(outcome *r)
{
    free(r->o);
    free(r->lse);
}

static tsr_status run_by_rows(test_case *t, const tsr_attention_operands *o)
{
    void *partial = NULL;
    tsr_cuda_attention_cut_free(&t->s.cut, NULL);
    const tsr_status status = tsr_cuda_attention_cut_rows(&t->s.cut, &t->s.there, o, NULL);
    if (status != TSR_OK)
        return status;
    must(tsr_cuda_malloc(&partial, tsr_cuda_attention_bytes(&t->s.cut, o) + 1, NULL));
    must(tsr_cuda_attention(&t->s.there, &t->s.cut, o, partial, t->variant));
    tsr_cuda_free(partial, NULL);
    return TSR_OK;
}

static tsr_status run_by_windows(test_case *t, const tsr_attention_operands *o)
{
    const tsr_cuda_device device = {.sms = 1}; /* few processors: windows are cut by the least size only */
    tsr_cuda_attention_windows windows;
    void *partial = NULL;
    if (!t->s.ascends || !tsr_cuda_attention_windows_fit(&t->s.there, o))
        return TSR_DECLINED;
    must(tsr_cuda_attention_windows_make(&windows, &t->s.there, o, &device, NULL));
    must(tsr_cuda_malloc(&partial, tsr_cuda_attention_windows_bytes(&windows, o) + 1, NULL));
    must(tsr_cuda_attention_by_windows(&windows, o, partial));
    tsr_cuda_free(partial, NULL);
    tsr_cuda_attention_windows_free(&windows, NULL);
    return TSR_OK;
}

static tsr_status run_there(test_case *t, bool windows)
{
    const size_t bytes = t->o.count * size_of(t), rows = (size_t)(t->s.nrows * t->heads) * sizeof(float);
    const tsr_attention_operands o = operands_of(t, true);
    const tsr_status status = windows ? run_by_windows(t, &o) : run_by_rows(t, &o);
    if (status != TSR_OK)
        return status;
    must(tsr_cuda_to_host(t->o.host, t->o.there, bytes, NULL));
    must(tsr_cuda_to_host(t->lse, t->lse_there, rows, NULL));
    must(tsr_cuda_wait(NULL));
    must(tsr_cuda_set(t->o.there, POISON, bytes, NULL));
    return TSR_OK;
}

/* Both NaN, or near: what weights lose by rounded scores, values by their own number. */
static bool is_near(double x, double exact, double scale, double size, double unit)
{
    if (isnan(exact) || isinf(exact))
        return isnan(exact) ? isnan(x) || isinf(x) : x == exact || isnan(x);
    return fabs(x - exact) <= size * (1e-6 + 3e-7 * fabs(scale)) * 4 + unit * fabs(exact) + 1e-7;
}

static bool right(const test_case *t, const outcome *r, const outcome *exact, const char *who)
{
    const double unit = t->type == TSR_FP32 ? 0 : t->type == TSR_FP16 ? 0x1p-10 : 0x1p-7, scale = fabs(t->scale) * (double)t->width;
    const tsr_number number = tsr_number_of(t->type);
    for (int64_t row = 0; row < t->s.nrows; row++)
        for (int64_t h = 0; h < t->heads; h++) {
            const int64_t at = row * t->heads + h;
            bool ok = is_near(r->lse[at], exact->lse[at], scale, scale, 1e-6);
            for (int64_t c = 0; c < t->width && ok; c++) {
                const double x = tsr_ref_number(element(&t->o, row, h, c, r->o), number, 0);
                ok = is_near(x, tsr_ref_number(element(&t->o, row, h, c, exact->o), number, 0), scale, 1, unit);
            }
            if (!ok) {
                printf("FAIL %llu %s: row %lld head %lld of %lld x %lld, width %lld, type %d, variant %d, %lld entries; lse %g, not %g\n",
                       (unsigned long long)t->seed, who, (long long)row, (long long)h, (long long)t->s.nrows, (long long)t->s.ncols,
                       (long long)t->width, (int)t->type, t->variant, (long long)(t->s.p[row + 1] - t->s.p[row]), (double)r->lse[at],
                       (double)exact->lse[at]);
                return false;
            }
        }
    return true;
}

/* Every byte between the rows is as it was. */
static bool untouched(const test_case *t, const operand *o, const void *x)
{
    const size_t bytes = o->count * size_of(t);
    unsigned char *copy = checked(malloc(bytes));
    memcpy(copy, x, bytes);
    for (int64_t row = 0; row < o->heads.rows; row++)
        for (int64_t h = 0; h < t->heads; h++)
            memset(element(o, row, h, 0, copy), POISON, (size_t)t->width * size_of(t));
    bool same = true;
    for (size_t k = 0; k < bytes; k++)
        same = same && copy[k] == POISON;
    free(copy);
    return same;
}

static bool check(const test_case *t, const outcome *exact, const char *who)
{
    outcome r = take(t);
    const bool ok = right(t, &r, exact, who), clean = untouched(t, &t->o, r.o);
    if (!clean)
        printf("FAIL %llu %s: wrote outside of o\n", (unsigned long long)t->seed, who);
    drop(&r);
    return ok && clean;
}

static bool check_device(test_case *t, const outcome *exact, bool windows)
{
    const size_t bytes = t->o.count * size_of(t);
    const tsr_status status = run_there(t, windows);
    if (status == TSR_DECLINED)
        return windows || t->width * (int64_t)size_of(t) > 1024 || t->width > 256;
    outcome first = take(t);
    memcpy(t->o.host, first.o, bytes);
    memcpy(t->lse, first.lse, (size_t)(t->s.nrows * t->heads) * sizeof(float));
    bool ok = check(t, exact, windows ? "windows" : "device");
    must(run_there(t, windows));
    outcome second = take(t);
    if (memcmp(first.o, second.o, bytes) != 0) {
        printf("FAIL %llu: other bits the second time\n", (unsigned long long)t->seed);
        ok = false;
    }
    drop(&first);
    drop(&second);
    return ok;
}

/* ---- gradients ---- */

static double largest(const test_case *t, const operand *g, const void *x)
{
    double most = 0;
    for (int64_t row = 0; row < g->heads.rows; row++)
        for (int64_t h = 0; h < t->heads; h++)
            for (int64_t c = 0; c < t->width; c++) {
                const double y = fabs(tsr_ref_number(element(g, row, h, c, x), tsr_number_of(t->type), 0));
                most = isfinite(y) && y > most ? y : most;
            }
    return most;
}

/* Relative to the largest of them: terms cancel. */
static bool right_gradient(const test_case *t, const operand *g, const void *exact, const char *who)
{
    const double unit = t->type == TSR_FP32 ? 1e-6 : t->type == TSR_FP16 ? 0x1p-10 : 0x1p-7, scale = fabs(t->scale) * (double)t->width;
    const tsr_number number = tsr_number_of(t->type);
    const double size = largest(t, g, exact) + 1;
    for (int64_t row = 0; row < g->heads.rows; row++)
        for (int64_t h = 0; h < t->heads; h++)
            for (int64_t c = 0; c < t->width; c++) {
                const double x = tsr_ref_number(element(g, row, h, c, g->host), number, 0), y = tsr_ref_number(element(g, row, h, c, exact), number, 0);
                if (!is_near(x, y, scale, size, unit)) {
                    printf("FAIL %llu %s: gradient %d, row %lld head %lld column %lld: %g, not %g\n", (unsigned long long)t->seed, who,
                           (int)(g - t->grad), (long long)row, (long long)h, (long long)c, x, y);
                    return false;
                }
            }
    return untouched(t, g, g->host);
}

static bool check_gradients(test_case *t, void *const exact[GRADIENTS], const char *who)
{
    bool ok = true;
    for (int k = 0; k < GRADIENTS; k++) {
        ok = ok && right_gradient(t, &t->grad[k], exact[k], who);
        memset(t->grad[k].host, POISON, t->grad[k].count * size_of(t));
    }
    return ok;
}

/* O and lse are those of the oracle. */
static bool gradients_there(test_case *t, const outcome *forward, void *const exact[GRADIENTS])
{
    const tsr_attention_operands o = operands_of(t, true);
    void *scratch = NULL;
    if (tsr_cuda_attention_cut_rows(&t->columns.cut, &t->columns.there, &o, NULL) != TSR_OK)
        return true;
    must(tsr_cuda_to_device(t->o.there, forward->o, t->o.count * size_of(t), NULL));
    must(tsr_cuda_to_device(t->lse_there, forward->lse, (size_t)(t->s.nrows * t->heads) * sizeof(float), NULL));
    must(tsr_cuda_malloc(&scratch, tsr_cuda_attention_backward_bytes(&t->s.there, &t->s.cut, &t->columns.cut, &o) + 1, NULL));
    must(tsr_cuda_attention_backward(&t->s.there, &t->s.cut, &t->columns.there, &t->columns.cut, &o, scratch));
    for (int k = 0; k < GRADIENTS; k++)
        must(tsr_cuda_to_host(t->grad[k].host, t->grad[k].there, t->grad[k].count * size_of(t), NULL));
    must(tsr_cuda_wait(NULL));
    tsr_cuda_free(scratch, NULL);
    return check_gradients(t, exact, "device");
}

static bool test_gradients(test_case *t, const outcome *forward)
{
    const tsr_view s = view_of(&t->s), columns = view_of(&t->columns);
    const tsr_attention_operands host = operands_of(t, false);
    void *exact[GRADIENTS];
    memcpy(t->o.host, forward->o, t->o.count * size_of(t));
    memcpy(t->lse, forward->lse, (size_t)(t->s.nrows * t->heads) * sizeof(float));
    must(tsr_ref_attention_backward(&s, &host));
    for (int k = 0; k < GRADIENTS; k++) {
        exact[k] = checked(malloc(t->grad[k].count * size_of(t)));
        memcpy(exact[k], t->grad[k].host, t->grad[k].count * size_of(t));
        memset(t->grad[k].host, POISON, t->grad[k].count * size_of(t));
    }
    bool ok = gradients_there(t, forward, exact);
    for (int isa = TSR_ISA_BASELINE; isa <= TSR_ISA_AVX512; isa++) {
        tsr_cpu_limit_isa((tsr_isa)isa);
        must(tsr_cpu_attention_backward(&s, &columns, &host, 2));
        ok = check_gradients(t, exact, tsr_isa_name((tsr_isa)isa)) && ok;
    }
    for (int k = 0; k < GRADIENTS; k++)
        free(exact[k]);
    return ok;
}

static int run(uint64_t seed)
{
    test_case t = make_case(seed);
    const tsr_view s = view_of(&t.s);
    const tsr_attention_operands host = operands_of(&t, false);
    must(tsr_ref_attention(&s, &host));
    outcome exact = take(&t);
    bool ok = check_device(&t, &exact, true);
    ok = check_device(&t, &exact, false) && ok;
    for (int isa = TSR_ISA_BASELINE; isa <= TSR_ISA_AVX512; isa++) {
        tsr_cpu_limit_isa((tsr_isa)isa);
        must(tsr_cpu_attention(&s, &host, 1 + (int)(seed % 3)));
        ok = check(&t, &exact, tsr_isa_name((tsr_isa)isa)) && ok;
    }
    ok = test_gradients(&t, &exact) && ok;
    drop(&exact);
    free_case(&t);
    return !ok;
}

/* Where narrow heads lie side by side and few rows share a column, rows are as good. */
static void check_choice(void)
{
    const tsr_attention_operands narrow = {.q = {.heads = 8, .width = 24}}, one = {.q = {.heads = 1, .width = 32}}, wide = {.q = {.heads = 8, .width = 64}};
    if (tsr_cuda_attention_windows_pay(990, 1000, &narrow) || !tsr_cuda_attention_windows_pay(560, 1000, &narrow) ||
        !tsr_cuda_attention_windows_pay(990, 1000, &one) || !tsr_cuda_attention_windows_pay(990, 1000, &wide)) {
        printf("FAIL: windows of 16 rows are chosen where they do not pay, or the other way round\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    check_choice();
    return run_seeds(argc, argv, "attention", 200, run);
}
