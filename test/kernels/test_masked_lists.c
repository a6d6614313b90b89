/* Masked dot products, of which only the number of products counts or their values are added, against going through pairs one by one: lengths
 * around the blocks in which lists are compared, lists far longer than others, two that have more in common than is found at once, products and
 * masks that are symmetric or nearly so, indices and offsets of both widths, masks with values and with empty rows, every instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, K = 120, LONGEST = 26, MASKED = 40, ROUNDS = 60, FAR_ROUNDS = 8, HUB = 17, NEAR_FULL = 290, SPREAD = 64, COLUMNS = 600, MOST = N * 128 };

/* Rows of ascending indices. */
typedef struct lists {
    int64_t p[N + 1], wide[MOST], h[N], weight[MOST];
    uint32_t narrow[MOST], narrow_p[N + 1];
    int8_t value[MOST];
    int64_t nvec;
} lists;

static const tsr_semiring semirings[] = {{TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR}, {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_PAIR},
                                         {TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR},   {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_TIMES},
                                         {TSR_INT64, TSR_ADD_MIN, TSR_MUL_PLUS},  {TSR_INT64, TSR_ADD_MAX, TSR_MUL_FIRST}};
enum { SEMIRINGS = sizeof semirings / sizeof *semirings };
static enum { WIDE, NARROW, EITHER } offsets; /* of the operands */
static uint64_t state;

static int64_t below(int64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)bound);
}

static int64_t length(int64_t most)
{
    static const int64_t edges[] = {0, 1, 2, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25};
    const int64_t n = below(2) ? edges[below(13)] : below(6);
    return n < most ? n : most;
}

/* Each of `columns` as likely as the next. */
static void fill_row(lists *l, int64_t v, int64_t n, int64_t columns)
{
    int64_t at = l->p[v], left = n;
    for (int64_t c = 0; c < columns && left > 0; c++)
        if (below(columns - c) < left) {
            l->wide[at] = c;
            l->narrow[at] = (uint32_t)c;
            l->weight[at] = below(1000) - 500;
            l->value[at++] = (int8_t)(below(4) != 0);
            left--;
        }
    l->p[v + 1] = at;
}

static void fill(lists *l, int64_t nvec, int64_t most, int64_t columns)
{
    l->nvec = nvec;
    for (int64_t v = 0; v < nvec; v++) {
        l->h[v] = v * N / nvec;
        fill_row(l, v, length(most), columns);
    }
}

static tsr_view view(lists *l, bool narrow, int64_t nrows, int64_t ncols)
{
    const bool narrow_p = offsets == EITHER ? below(2) : offsets == NARROW;
    for (int64_t v = 0; v <= l->nvec; v++)
        l->narrow_p[v] = (uint32_t)l->p[v];
    return (tsr_view){.format = l->nvec < nrows ? TSR_HYPERSPARSE : TSR_SPARSE, .type = TSR_INT8, .index_size = narrow ? 4 : 8, .nrows = nrows,
                      .ncols = ncols, .nvec = l->nvec, .vlen = ncols, .nvals = l->p[l->nvec],
                      .p = narrow_p ? (const void *)l->narrow_p : l->p, .narrow_offsets = narrow_p, .h = l->nvec < nrows ? l->h : NULL,
                      .i = narrow ? (const void *)l->narrow : l->wide, .x = l->value};
}

static int64_t common(const lists *a, int64_t r, const lists *b, int64_t c)
{
    int64_t count = 0;
    for (int64_t s = a->p[r]; s < a->p[r + 1]; s++)
        for (int64_t t = b->p[c]; t < b->p[c + 1]; t++)
            count += a->wide[s] == b->wide[t];
    return count;
}

static tsr_view weighted(const lists *l, tsr_view v)
{
    v.type = TSR_INT64;
    v.x = l->weight;
    return v;
}

/* What entry (r, c) becomes. */
static int64_t folded(tsr_semiring semiring, const lists *a, int64_t r, const lists *b, int64_t c)
{
    int64_t sum = semiring.add == TSR_ADD_PLUS ? 0 : semiring.add == TSR_ADD_MIN ? INT64_MAX : INT64_MIN;
    for (int64_t s = a->p[r]; s < a->p[r + 1]; s++)
        for (int64_t t = b->p[c]; t < b->p[c + 1]; t++) {
            if (a->wide[s] != b->wide[t])
                continue;
            const int64_t x = a->weight[s], y = b->weight[t];
            const int64_t z = semiring.mul == TSR_MUL_TIMES ? x * y : semiring.mul == TSR_MUL_PLUS ? x + y : semiring.mul == TSR_MUL_FIRST ? x : 1;
            sum = semiring.add == TSR_ADD_PLUS ? sum + z : (semiring.add == TSR_ADD_MIN) == (z < sum) ? z : sum;
        }
    return sum;
}

/* One product as it should be; how often it is not. */
static int check(const tsr_product *p, const lists *a, const lists *b, const lists *m)
{
    static int64_t x[MOST];
    static int8_t present[MOST];
    memset(x, 0x5a, sizeof x);
    tsr_result result = {.x = x, .b = present};
    if (tsr_cpu_masked_dot(p, &result) != TSR_OK)
        return 1;
    int wrong = 0;
    for (int64_t v = 0; v < m->nvec; v++)
        for (int64_t e = m->p[v]; e < m->p[v + 1]; e++) {
            const bool open = p->mask_structural || m->value[e];
            const int64_t expected = open ? common(a, p->mask.h ? m->h[v] : v, b, m->wide[e]) : 0;
            wrong += present[e] != (expected != 0);
            if (expected && p->semiring.type == TSR_INT64)
                wrong += x[e] != folded(p->semiring, a, p->mask.h ? m->h[v] : v, b, m->wide[e]);
            else if (expected && p->semiring.type == TSR_FP32)
                wrong += ((float *)x)[e] != (float)expected;
            else if (expected)
                wrong += ((uint8_t *)x)[e] != 1;
        }
    return wrong;
}

static int round_of(int round)
{
    static lists a, b, m;
    const bool narrow = round & 1;
    fill(&a, N, LONGEST, K);
    fill(&b, N, LONGEST, K);
    fill(&m, round & 2 ? N : N / 3, MASKED, N);
    tsr_product p = {.op = TSR_OP_MASKED_DOT, .semiring = semirings[below(SEMIRINGS)], .m = N, .n = N, .k = K, .nthreads = 1 + round % 4,
                     .mask_structural = round & 4, .a = weighted(&a, view(&a, narrow, N, K)), .mask = view(&m, narrow, N, N)};
    p.b = tsr_view_transposed(weighted(&b, view(&b, narrow, N, K)));
    return check(&p, &a, &b, &m);
}

/* Every HUB-th row is long, the others have few indices; too far apart for bits. */
static void fill_unequal(lists *l)
{
    l->nvec = N;
    for (int64_t v = 0; v < N; v++)
        fill_row(l, v, v % HUB == 5 ? NEAR_FULL - below(120) : below(9), N);
    for (int64_t e = 0; e < l->p[N]; e++)
        l->narrow[e] = (uint32_t)(l->wide[e] *= SPREAD);
}

/* Symmetric, but for about one entry of `holes` (0: none). */
static void fill_symmetric(lists *l, int64_t holes)
{
    static bool is[N][N];
    for (int64_t r = 0; r < N; r++)
        for (int64_t c = 0; c <= r; c++)
            is[r][c] = is[c][r] = below(r % HUB == 5 || c % HUB == 5 ? 2 : 12) == 0;
    l->nvec = N;
    for (int64_t r = 0, at = 0; r < N; l->p[++r] = at)
        for (int64_t c = 0; c < N; c++)
            if (is[r][c] && !(holes && below(holes) == 0)) {
                l->wide[at] = c;
                l->narrow[at] = (uint32_t)c;
                l->value[at++] = (int8_t)(below(4) != 0);
            }
}

/* A A' or A B' with hubs, under a mask that is symmetric or not. */
static int unequal_round(int round)
{
    static lists a, b, m;
    const bool narrow = round & 1, same = round & 2;
    fill_unequal(&a);
    fill_unequal(&b);
    if (round & 8)
        fill_symmetric(&m, round & 16 ? 40 : 0);
    else
        fill(&m, N, MASKED, N);
    tsr_product p = {.op = TSR_OP_MASKED_DOT, .semiring = semirings[below(SEMIRINGS)], .m = N, .n = N, .k = N * SPREAD, .nthreads = 1 + round % 4,
                     .mask_structural = round & 4, .a = weighted(&a, view(&a, narrow, N, N * SPREAD)), .mask = view(&m, false, N, N)};
    p.b = tsr_view_transposed(same ? p.a : weighted(&b, view(&b, narrow, N, N * SPREAD)));
    return check(&p, &a, same ? &a : &b, &m);
}

/* Short lists but for a few of hundreds of entries. */
static int long_round(int round)
{
    static lists a, m;
    a.nvec = N;
    for (int64_t v = 0; v < N; v++)
        fill_row(&a, v, v % 100 == 7 ? COLUMNS - below(300) : below(6), COLUMNS);
    fill(&m, N, MASKED, N);
    const bool narrow = round & 1;
    tsr_product p = {.op = TSR_OP_MASKED_DOT, .semiring = semirings[below(SEMIRINGS)], .m = N, .n = N, .k = COLUMNS, .nthreads = 1 + round % 4,
                     .mask_structural = round & 4, .a = weighted(&a, view(&a, narrow, N, COLUMNS)), .mask = view(&m, narrow, N, N)};
    p.b = tsr_view_transposed(p.a);
    return check(&p, &a, &a, &m);
}

/* More lists of B than caches hold offsets of: one of STEP has entries. */
static int far_round(int round)
{
    enum { STEP = 14000 };
    static lists a, b, m, apart;
    static int64_t p_of_b[(int64_t)N * STEP + 1];
    const bool narrow = round & 1;
    fill(&a, N, 10, K);
    fill(&b, N, 10, K);
    fill(&m, N, MASKED, N);
    apart = m;
    for (int64_t e = 0; e < m.p[N]; e++)
        apart.narrow[e] = (uint32_t)(apart.wide[e] *= STEP);
    for (int64_t c = 0; c < (int64_t)N * STEP; c++)
        p_of_b[c + 1] = b.p[c / STEP + 1];
    tsr_product p = {.op = TSR_OP_MASKED_DOT, .semiring = semirings[below(SEMIRINGS)], .m = N, .n = (int64_t)N * STEP, .k = K, .nthreads = 1 + round % 4,
                     .mask_structural = round & 4, .a = weighted(&a, view(&a, narrow, N, K)), .mask = view(&apart, narrow, N, (int64_t)N * STEP)};
    tsr_view v = weighted(&b, view(&b, narrow, N, K));
    v.p = p_of_b;
    v.narrow_offsets = false;
    v.nvec = v.nrows = p.n;
    p.b = tsr_view_transposed(v);
    return check(&p, &a, &b, &m);
}

int main(void)
{
    const char *given = getenv("TESSERA_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : 20261124;
    int failed = 0;
    tsr_cpu_limit_isa(TSR_ISA_AVX512);
    const tsr_isa best = tsr_cpu_isa();
    for (int isa = TSR_ISA_BASELINE; isa <= (int)best; isa++) {
        tsr_cpu_limit_isa((tsr_isa)isa);
        for (int round = 0; round < ROUNDS; round++) {
            state = seed + (uint64_t)round;
            offsets = round / 4 % 3;
            const int wrong = round_of(round) + unequal_round(round) + long_round(round) + (round < FAR_ROUNDS ? far_round(round) : 0);
            if (wrong)
                printf("%s, seed %llu, round %d: %d wrong\n", tsr_isa_name((tsr_isa)isa), (unsigned long long)seed, round, wrong);
            failed += wrong != 0;
        }
    }
    printf("seed %llu: %d failed\n", (unsigned long long)seed, failed);
    return failed != 0;
}
