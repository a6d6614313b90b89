/* Pushes of all vectors together: long lists in many buckets, more contributions than wait at one time, any number of threads, types, products
 * and masks.  Every place sums in the order of A's rows, so that results equal, bit for bit, those of plain loops.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sparse_vectors.h"
#include "src/base/types.h"

enum { K = 30000, N = 70000, DEGREE = 150, VECTORS = 8 };
#define ENTRIES ((int64_t)K * DEGREE)

static uint64_t state = 12345;

static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

static int64_t a_p[K + 1], a_i[ENTRIES], u_p[VECTORS + 1], u_i[VECTORS * K], m_p[VECTORS + 1], m_i[VECTORS * N];
static uint32_t narrow_p[K + 1], narrow_i[ENTRIES];
static uint64_t a_x[ENTRIES], u_x[VECTORS * K], sums[VECTORS * N];
static int8_t bitmap[VECTORS * N], has[VECTORS * N];

/* A row's columns ascend, some rows' are neighbours: one bucket gets all of them. */
static void draw_a(void)
{
    for (int64_t k = 0; k < K; k++) {
        a_p[k + 1] = a_p[k] + DEGREE;
        const int64_t stride = k % 3 ? N / DEGREE : 1, first = below(N - (DEGREE - 1) * stride);
        for (int64_t e = 0; e < DEGREE; e++)
            a_i[a_p[k] + e] = first + e * stride;
    }
    for (int64_t k = 0; k <= K; k++) narrow_p[k] = (uint32_t)a_p[k];
    for (int64_t e = 0; e < ENTRIES; e++) narrow_i[e] = (uint32_t)a_i[e];
}

static void draw_u(int64_t nvec)
{
    u_p[0] = 0;
    for (int64_t r = 0; r < nvec; r++) {
        const int64_t percent = r == 2 ? 0 : 30 + 20 * (r % 4);
        int64_t at = u_p[r];
        for (int64_t k = 0; k < K; k++)
            if (below(100) < percent)
                u_i[at++] = k;
        u_p[r + 1] = at;
    }
}

static void draw_mask(int64_t nvec)
{
    for (int64_t r = 0; r < nvec; r++) {
        m_p[r + 1] = m_p[r];
        for (int64_t j = 0; j < N; j++)
            if ((bitmap[r * N + j] = below(3) == 0))
                m_i[m_p[r + 1]++] = j;
    }
}

/* Multiplications are exact: factors of A are powers of two, or infinite. */
#define TYPE(name, T, of_u, of_a)                                                                                        \
    static void fill_##name(void)                                                                                        \
    {                                                                                                                    \
        for (int64_t t = 0; t < VECTORS * K; t++) ((T *)u_x)[t] = (T)(of_u);                                             \
        for (int64_t t = 0; t < ENTRIES; t++) ((T *)a_x)[t] = (T)(of_a);                                                 \
    }                                                                                                                    \
    static void expect_##name(const tsr_push *p, bool masked)                                                            \
    {                                                                                                                    \
        T *z = (T *)sums;                                                                                                \
        memset(has, 0, sizeof has);                                                                                      \
        for (int64_t r = 0; r < p->u.nvec; r++)                                                                          \
            for (int64_t t = u_p[r]; t < u_p[r + 1]; t++)                                                                \
                for (int64_t e = a_p[u_i[t]]; e < a_p[u_i[t] + 1]; e++) {                                                \
                    const int64_t at = r * N + a_i[e];                                                                   \
                    if (masked && (bitmap[at] != 0) == p->mask_complement)                                               \
                        continue;                                                                                        \
                    const T u = tsr_push_reads_u(&p->semiring) ? ((T *)u_x)[p->u.iso ? 0 : t] : (T)1;                    \
                    const T a = tsr_push_reads_a(&p->semiring) ? ((T *)a_x)[p->a.iso ? 0 : e] : (T)1, one = (T)(u * a);  \
                    z[at] = has[at] ? (T)(z[at] + one) : one;                                                            \
                    has[at] = 1;                                                                                         \
                }                                                                                                        \
    }
TYPE(fp32, float, t % 97 ? .1F * (float)(t % 1001) : -0.0F, t % 50021 == 7 ? INFINITY : t % 3 ? .5F : -2.F)
TYPE(fp64, double, t % 97 ? .1 * (double)(t % 1001) : -0.0, t % 50021 == 7 ? (double)INFINITY : t % 3 ? .5 : -2.)
TYPE(int32, int32_t, t % 1001 - 500, t % 7 - 3)
TYPE(uint64, uint64_t, (uint64_t)t << 40, (uint64_t)t % 7)

static const struct {
    tsr_type type;
    void (*fill)(void);
    void (*expect)(const tsr_push *p, bool masked);
} types[] = {{TSR_FP32, fill_fp32, expect_fp32}, {TSR_FP64, fill_fp64, expect_fp64}, {TSR_INT32, fill_int32, expect_int32},
             {TSR_UINT64, fill_uint64, expect_uint64}};

static bool same(const tsr_push *p, const tsr_few *t)
{
    const size_t size = tsr_type_size(p->semiring.result);
    int64_t entries = 0;
    for (int64_t at = 0; at < p->u.nvec * N; at++)
        entries += has[at];
    for (int64_t r = 0; r < t->nvec; r++) {
        const tsr_few_vector *v = &t->vectors[r];
        for (int64_t e = 0; e < v->count; e++) {
            const int64_t at = r * N + v->i[e];
            const bool ascends = e == 0 || v->i[e - 1] < v->i[e];
            if (!ascends || !has[at] || memcmp((const char *)v->x + (size_t)e * size, (const char *)sums + (size_t)at * size, size) != 0)
                return false;
        }
    }
    return t->nvals == entries;
}

/* mask: 0 none, 1 a bitmap, 2 its complement, 3 a list, 4 the list's complement. */
static bool check(int64_t nvec, int which, tsr_ewise_op mul, int mask, bool iso, int nthreads, bool narrow)
{
    const tsr_type type = types[which].type;
    tsr_push p = {.semiring = {.add = TSR_REDUCE_PLUS, .mul = mul, .type = type, .result = type}, .mask_structural = true,
                  .mask_complement = mask == 2 || mask == 4, .nthreads = nthreads, .starts = narrow ? (void *)narrow_p : a_p};
    draw_u(nvec);
    draw_mask(nvec);
    types[which].fill();
    p.u = (tsr_view){.format = TSR_SPARSE, .type = type, .index_size = 8, .nvec = nvec, .vlen = K, .nvals = u_p[nvec], .p = u_p, .i = u_i, .x = u_x,
                     .iso = iso};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = type, .index_size = narrow ? 4 : 8, .nvec = K, .vlen = N, .nvals = ENTRIES, .p = narrow ? NULL : a_p,
                     .i = narrow ? (void *)narrow_i : a_i, .x = a_x, .iso = iso};
    const tsr_view m = {.format = mask < 3 ? TSR_BITMAP : TSR_SPARSE, .type = TSR_BOOL, .index_size = 8, .nvec = nvec, .vlen = N, .ld = N,
                        .nvals = m_p[nvec], .b = bitmap, .p = m_p, .i = m_i};
    p.mask = mask ? &m : NULL;
    types[which].expect(&p, mask);
    tsr_few t;
    const int64_t work = tsr_push_work(&p, INT64_MAX / 2);
    if (!tsr_push_is_joint(&p, work) || tsr_cpu_push(&p, work, &t) != TSR_OK)
        return false;
    const bool equal = same(&p, &t);
    tsr_few_release(&t);
    return equal;
}

int main(void)
{
    static const int64_t vectors[] = {1, 2, 3, 4, 6, 8};
    static const tsr_ewise_op muls[] = {TSR_EWISE_FIRST, TSR_EWISE_TIMES, TSR_EWISE_SECOND, TSR_EWISE_PAIR};
    int failed = 0;
    draw_a();
    for (int which = 0; which < 4; which++)
        for (int v = 0; v < 6; v++)
            for (int mul = 0; mul < 4; mul++) {
                const int mask = (which + v + mul) % 5, nthreads = vectors[v] == 1 ? 3 : mask == 0 ? 9 : (int[]){1, 2, 7}[(v + mul) % 3];
                const bool iso = (v + mul) % 4 == 3;
                if (check(vectors[v], which, muls[mul], mask, iso, nthreads, v % 2))
                    continue;
                printf("FAIL %s, %lld vectors, product %d, mask %d, iso %d, %d threads\n", tsr_type_name(types[which].type), (long long)vectors[v],
                       mul, mask, iso, nthreads);
                failed++;
            }
    printf("%d failed\n", failed);
    return failed > 0;
}
