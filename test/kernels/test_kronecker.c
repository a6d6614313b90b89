/* Kronecker products against the reference: every operator, type and form of operands; threads that share a vector.
 *     test_kronecker [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "kernels/kronecker.h"
#include "kernels/ref/value.h"
#include "src/base/types.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"
#include "test/numbered_cases.h"
#include "test/unit/failing_memory.h"

/* ---- operands ---- */

static int64_t draw_vectors(rng *r, bool large)
{
    static const int64_t counts[] = {1, 1, 2, 3, 4, 7, 8, 9, 20};
    return large && rng_chance(r, 50) ? 100 + rng_below(r, 200) : counts[rng_below(r, 9)];
}

static int64_t draw_length(rng *r, bool large)
{
    static const int64_t lengths[] = {1, 2, 4, 7, 8, 9, 16, 33, 64, 65, 130};
    return large ? 500 + rng_below(r, 1500) : lengths[rng_below(r, 11)];
}

/* Each place with a chance of its vector's own: empty ones, whole ones. */
static void draw_lists(rng *r, tsr_view *v, bool narrow_offsets)
{
    int64_t *p = take((size_t)(v->nvec + 1) * sizeof *p), *i = take((size_t)(v->nvec * v->vlen) * sizeof *i);
    p[0] = 0;
    for (int64_t k = 0; k < v->nvec; k++) {
        const int percent = rng_chance(r, 20) ? 0 : rng_chance(r, 20) ? 100 : 1 + (int)rng_below(r, 60);
        p[k + 1] = p[k];
        for (int64_t l = 0; l < v->vlen; l++)
            if (rng_chance(r, percent))
                i[p[k + 1]++] = l;
    }
    if (p[v->nvec] == 0) {
        i[0] = rng_below(r, v->vlen);
        p[v->nvec] = 1;
    }
    v->nvals = p[v->nvec];
    for (int64_t k = 0; narrow_offsets && k <= v->nvec; k++)
        ((uint32_t *)p)[k] = (uint32_t)p[k];
    for (int64_t e = 0; v->index_size == 4 && e < v->nvals; e++)
        ((uint32_t *)i)[e] = (uint32_t)i[e];
    v->narrow_offsets = narrow_offsets;
    v->p = p;
    v->i = i;
}

static void name_vectors(rng *r, tsr_view *v)
{
    int64_t *h = take((size_t)v->nvec * sizeof *h);
    for (int64_t k = 0; k < v->nvec; k++)
        h[k] = 3 * k + rng_below(r, 3);
    v->h = h;
    v->nrows = 3 * v->nvec;
}

static tsr_view draw_matrix(rng *r, tsr_type type, bool reads, bool large)
{
    static const tsr_format formats[] = {TSR_SPARSE, TSR_SPARSE, TSR_HYPERSPARSE, TSR_FULL};
    tsr_view v = {.format = formats[rng_below(r, 4)], .type = type, .iso = rng_chance(r, 25), .nvec = draw_vectors(r, large)};
    v.vlen = v.ld = draw_length(r, large && v.nvec < 10);
    v.nrows = v.nvec;
    v.index_size = rng_chance(r, 50) ? 4 : 8;
    v.nvals = v.nvec * v.vlen;
    if (v.format != TSR_FULL)
        draw_lists(r, &v, rng_chance(r, 30));
    if (v.format == TSR_HYPERSPARSE)
        name_vectors(r, &v);
    v.ncols = v.vlen;
    v.x = reads ? draw_array(r, type, v.iso ? 1 : v.nvals) : NULL;
    return v;
}

static tsr_kronecker draw_product(rng *r)
{
    const bool large_a = rng_chance(r, 4), large_b = !large_a && rng_chance(r, 4);
    tsr_kronecker k = {.type = (tsr_type)rng_below(r, TSR_TYPE_COUNT), .narrow = rng_chance(r, 50), .nthreads = 1 + (int)rng_below(r, 4)};
    k.op = (tsr_ewise_op)(TSR_EWISE_FIRST + rng_below(r, TSR_EWISE_COUNT - TSR_EWISE_FIRST));
    k.result = tsr_ewise_compares(k.op) ? TSR_BOOL : k.type;
    k.c_type = rng_chance(r, 70) ? k.result : (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    k.a = draw_matrix(r, k.type, tsr_kronecker_reads_a(k.op), large_a);
    k.b = draw_matrix(r, k.type, tsr_kronecker_reads_b(k.op), large_b);
    return k;
}

/* ---- results ---- */

typedef struct sizes {
    size_t p, h, i, x; /* bytes; 0: none */
} sizes;

static sizes sizes_of(const tsr_kronecker *k, bool values)
{
    const size_t vectors = (size_t)(k->a.nvec * k->b.nvec), entries = (size_t)(k->a.nvals * k->b.nvals);
    const bool lists = k->a.format != TSR_FULL || k->b.format != TSR_FULL;
    return (sizes){lists ? (vectors + 1) * 8 : 0, k->a.h || k->b.h ? vectors * 8 : 0, lists ? entries * (k->narrow ? 4 : 8) : 0,
                   values ? entries * type_size(k->c_type) : 0};
}

static void *take_if(size_t bytes)
{
    return bytes ? take(bytes) : NULL;
}

static tsr_kronecker_c room_for(const sizes *s)
{
    return (tsr_kronecker_c){take_if(s->p), take_if(s->h), take_if(s->i), take_if(s->x)};
}

/* Nor may anything behind them have been written. */
static bool same_numbers(const void *x, const void *want, size_t bytes)
{
    return !bytes || !memcmp(x, want, bytes + SPARE);
}

static bool same_values(tsr_type type, const char *x, const char *want, size_t bytes)
{
    for (int64_t k = 0; k < (int64_t)(bytes / type_size(type)); k++)
        if (!tsr_value_same(tsr_value_load(type, x, k), tsr_value_load(type, want, k)))
            return false;
    return !bytes || !memcmp(x + bytes, want + bytes, SPARE);
}

static bool check(uint64_t seed, int64_t number)
{
    rng r = {seed + (uint64_t)number * 0x9E3779B97F4A7C15u};
    const tsr_kronecker k = draw_product(&r);
    const sizes s = sizes_of(&k, rng_chance(&r, 85));
    const tsr_kronecker_c c = room_for(&s), want = room_for(&s);
    const bool right = tsr_cpu_kronecker(&k, &c) == TSR_OK && tsr_ref_kronecker(&k, &want) == TSR_OK && same_numbers(c.p, want.p, s.p) &&
                       same_numbers(c.h, want.h, s.h) && same_numbers(c.i, want.i, s.i) && same_values(k.c_type, c.x, want.x, s.x);
    free_all();
    return right;
}

/* ---- without memory ---- */

typedef struct attempt {
    tsr_kronecker k;
    tsr_kronecker_c c;
} attempt;

static tsr_status try(void *context)
{
    const attempt *a = context;
    return tsr_cpu_kronecker(&a->k, &a->c);
}

static bool fails_well(uint64_t seed)
{
    rng r = {seed};
    attempt a = {.k = {.op = TSR_EWISE_PLUS, .type = TSR_FP64, .result = TSR_FP64, .c_type = TSR_FP64, .nthreads = 1}};
    do {
        free_all();
        a.k.a = draw_matrix(&r, TSR_FP64, true, false);
        a.k.b = draw_matrix(&r, TSR_FP64, true, false);
    } while (a.k.a.format != TSR_FULL || a.k.b.format != TSR_SPARSE || !a.k.b.narrow_offsets || a.k.b.iso);
    const sizes s = sizes_of(&a.k, true);
    a.c = room_for(&s);
    const int failures = memory_failures(try, &a);
    free_all();
    return failures == 4; /* offsets of both, indices and values of B */
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 400);
    static const tsr_isa isas[] = {TSR_ISA_AVX512, TSR_ISA_AVX2, TSR_ISA_BASELINE};
    for (int k = 0; k < 3; k++) {
        tsr_cpu_limit_isa(isas[k]);
        if (!cases_are_right(&cases, check))
            return 1;
    }
    if (!fails_well(cases.seed)) {
        printf("without memory: --seed=%llu\n", cases.seed);
        return 1;
    }
    return 0;
}
