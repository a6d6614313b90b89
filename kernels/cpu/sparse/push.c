/* Few sparse vectors times a matrix, entry by entry of the vectors (push).  The loop over the entries of A has no branch: on a frontier
 * of a graph nobody can tell which neighbours are new.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/sparse/products.h"
#include "kernels/cpu/sparse/scratch.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

#define AHEAD 12     /* entries of U between asking for a row of A and reading it */
#define SIEVED 256     /* products that a mask let pass, before they are added */
#define PARALLEL 65536 /* multiply-adds below which vectors are not dealt out to threads */

/* Does it not matter which products a sum has? */
static bool takes_any(const tsr_push *p)
{
    return p->pattern || p->semiring.add == TSR_REDUCE_ANY;
}

/* ---- one vector ---- */

typedef struct lane {
    const tsr_push *p;
    tsr_scratch *s;
    int64_t r, first;   /* its entries in the lists begin there */
    tsr_gate gate;
    uint8_t was, found; /* marks: entries of a sparse mask `was`, then places with a result `found`.  Of any product, under no or a
                         * complemented sparse mask, both are the same: a place is new when (its mark == was) == listed */
    bool listed;
} lane;

static void begin(lane *w)
{
    const bool plain = tsr_is_listed(w->p) && !w->p->mask_complement;
    w->gate = tsr_gate_of(w->p, w->r);
    w->listed = plain;
    w->was = tsr_scratch_generation(w->s, 2);
    w->found = (uint8_t)(w->was + (plain || !takes_any(w->p)));
    if (tsr_is_listed(w->p))
        tsr_mark_true(w->s, w->p->mask, w->r, !tsr_mask_has_values(w->p), w->was); /* open ones of a plain mask, closed ones else */
}

static inline void ask_ahead(const tsr_push *p, const int64_t *k, int64_t t, int64_t end)
{
    const int64_t far = t + 2 * AHEAD < end ? t + 2 * AHEAD : end - 1, near = t + AHEAD < end ? t + AHEAD : end - 1;
    __builtin_prefetch(&p->a.p[k[far]]);
    __builtin_prefetch((const int64_t *)p->a.i + p->a.p[k[near]]);
}

/* Any product will do: only where the first one of each place comes from is listed.  `lists`: 0 nothing, 1 entry of U, 2 of A as well. */
static inline __attribute__((always_inline)) int64_t find_first(const lane *w, const int lists)
{
    const tsr_push *p = w->p;
    const int64_t *restrict k = p->u.i, *restrict start = p->a.p, *restrict indices = p->a.i, end = p->u.p[w->r + 1], all = w->gate.all;
    const uint8_t *restrict open = w->gate.open, was = w->was, found = w->found;
    uint8_t *restrict marks = w->s->marks;
    const bool differs = !w->listed, closed = w->gate.closed;
    int64_t *restrict i = w->s->i + w->first, *restrict from = w->s->from + w->first, *restrict at = w->s->at + w->first, count = 0;
    for (int64_t t = p->u.p[w->r]; t < end; t++) {
        ask_ahead(p, k, t, end);
        for (int64_t e = start[k[t]]; e < start[k[t] + 1]; e++) {
            const int64_t j = indices[e];
            const bool fresh = ((marks[j] == was) != differs) & ((open[j & all] != 0) != closed);
            marks[j] = found;
            i[count] = j;
            if (lists > 0)
                from[count] = t;
            if (lists > 1)
                at[count] = e;
            count += fresh;
        }
    }
    return count;
}

static int64_t find_places(const lane *w) { return find_first(w, 0); }
static int64_t find_from(const lane *w) { return find_first(w, 1); }
static int64_t find_both(const lane *w) { return find_first(w, 2); }

/* ---- sums ---- */

/* Places that a mask lets pass: j where (table[j & all] - base <= span, as bytes) != inverted. */
typedef struct sieve {
    const uint8_t *table;
    int64_t all;
    uint8_t base, span;
    bool inverted;
} sieve;

static sieve sieve_of(const lane *w)
{
    if (tsr_is_listed(w->p))
        return (sieve){w->s->marks, -1, w->was, w->listed, !w->listed};
    return (sieve){w->gate.open, w->gate.all, 1, UINT8_MAX - 1, w->gate.closed};
}

/* Does it keep anything back? */
static bool has_sieve(const lane *w)
{
    return w->p->mask && !w->gate.later;
}

static inline bool passes(const sieve *s, int64_t j)
{
    return ((uint8_t)(s->table[j & s->all] - s->base) <= s->span) != s->inverted;
}

/* Adds a product to the sum of place j; a place that is not marked yet begins with it, and is not computed with: as a number it may be a
 * denormal one, which takes long.  Places that are new are listed. */
#define ADD_ONE(type, product, sum)                                               \
    const bool fresh = marks[j] != found;                                         \
    const tsr_c_##type y = (product), x = fresh ? y : sums[j];                    \
    sums[j] = fresh ? y : (tsr_c_##type)(sum);                                    \
    marks[j] = found;                                                             \
    i[count] = j;                                                                 \
    count += fresh;

#define ADD_BEGIN(type)                                                           \
    tsr_c_##type *restrict sums = w->s->sums;                                     \
    uint8_t *restrict marks = w->s->marks, found = w->found;                      \
    int64_t *restrict i = w->s->i + w->first;

/* To n places, step 0: one product for all; and all of U's entries, whose products do not depend on A: what a mask keeps back costs but
 * the look at its place. */
#define ADD(name, type, sum)                                                                                                    \
    static int64_t name##_all_##type(const lane *w, const int64_t *restrict place, const void *product, int64_t step, int64_t n, int64_t count) \
    {                                                                                                                           \
        const tsr_c_##type *restrict z = product;                                                                               \
        ADD_BEGIN(type)                                                                                                         \
        for (int64_t e = 0; e < n; e++) {                                                                                       \
            const int64_t j = place[e];                                                                                         \
            ADD_ONE(type, z[e & step], sum)                                                                                     \
        }                                                                                                                       \
        return count;                                                                                                           \
    }                                                                                                                           \
    static int64_t name##_##type(const lane *w, const int64_t *restrict place, const void *product, int64_t step, int64_t n, int64_t count) \
    {                                                                                                                           \
        if (!has_sieve(w))                                                                                                      \
            return name##_all_##type(w, place, product, step, n, count);                                                        \
        const sieve s = sieve_of(w);                                                                                            \
        const tsr_c_##type *restrict z = product;                                                                               \
        int64_t passed[TSR_PRODUCTS], kept = 0;                                                                                 \
        tsr_c_##type of_passed[TSR_PRODUCTS];                                                                                   \
        for (int64_t e = 0; e < n; e++) {                                                                                       \
            passed[kept] = place[e];                                                                                            \
            of_passed[kept] = z[e & step];                                                                                      \
            kept += passes(&s, place[e]);                                                                                       \
        }                                                                                                                       \
        return name##_all_##type(w, passed, of_passed, -1, kept, count);                                                        \
    }                                                                                                                           \
    static int64_t name##_sieved_##type(const lane *w, const tsr_c_##type *restrict z, int64_t step)                            \
    {                                                                                                                           \
        const tsr_push *p = w->p;                                                                                               \
        const int64_t *restrict k = p->u.i, *restrict start = p->a.p, *restrict indices = p->a.i, end = p->u.p[w->r + 1];       \
        const sieve s = sieve_of(w);                                                                                            \
        int64_t passed[SIEVED + 1], kept = 0, count = 0;                                                                        \
        tsr_c_##type of_passed[SIEVED + 1];                                                                                     \
        for (int64_t t = p->u.p[w->r]; t < end; t++) {                                                                          \
            ask_ahead(p, k, t, end);                                                                                            \
            const tsr_c_##type one = z[t & step];                                                                               \
            for (int64_t e = start[k[t]], stop = start[k[t] + 1]; e < stop;) {                                                  \
                const int64_t last = stop - e < SIEVED - kept ? stop : e + SIEVED - kept;                                       \
                for (; e < last; e++) {                                                                                         \
                    passed[kept] = indices[e];                                                                                  \
                    of_passed[kept] = one;                                                                                      \
                    kept += passes(&s, indices[e]);                                                                             \
                }                                                                                                               \
                if (kept > SIEVED - SIEVED / 4) {                                                                               \
                    count = name##_all_##type(w, passed, of_passed, -1, kept, count);                                           \
                    kept = 0;                                                                                                   \
                }                                                                                                               \
            }                                                                                                                   \
        }                                                                                                                       \
        return name##_all_##type(w, passed, of_passed, -1, kept, count);                                                        \
    }                                                                                                                           \
    static int64_t name##_rows_##type(const lane *w, const void *products, int64_t step)                                        \
    {                                                                                                                           \
        if (has_sieve(w))                                                                                                       \
            return name##_sieved_##type(w, products, step);                                                                     \
        const tsr_push *p = w->p;                                                                                               \
        const int64_t *restrict k = p->u.i, *restrict start = p->a.p, *restrict indices = p->a.i, end = p->u.p[w->r + 1];       \
        const tsr_c_##type *restrict z = products;                                                                              \
        int64_t count = 0;                                                                                                      \
        ADD_BEGIN(type)                                                                                                         \
        for (int64_t t = p->u.p[w->r]; t < end; t++) {                                                                          \
            ask_ahead(p, k, t, end);                                                                                            \
            const tsr_c_##type one = z[t & step];                                                                               \
            for (int64_t e = start[k[t]]; e < start[k[t] + 1]; e++) {                                                           \
                const int64_t j = indices[e];                                                                                   \
                ADD_ONE(type, one, sum)                                                                                         \
            }                                                                                                                   \
        }                                                                                                                       \
        return count;                                                                                                           \
    }
#define ADD_NUMBERS(type, wide)                    \
    ADD(plus, type, tsr_add_plus_##type(x, y))     \
    ADD(times, type, tsr_mul_times_##type(x, y))   \
    ADD(min, type, tsr_add_min_##type(x, y))       \
    ADD(max, type, tsr_add_max_##type(x, y))
TSR_FOR_NUMBERS(ADD_NUMBERS)
ADD(lor, bool, x | y)
ADD(land, bool, x & y)
ADD(lxor, bool, x ^ y)
ADD(eq, bool, x == y)

typedef struct adder {
    int64_t (*some)(const lane *w, const int64_t *place, const void *product, int64_t step, int64_t n, int64_t count);
    int64_t (*rows)(const lane *w, const void *products, int64_t step);
} adder;
#define ADDER(name, type) ((adder){name##_##type, name##_rows_##type})

static adder adder_on_bool(tsr_reduce_op add)
{
    switch (add) {
    case TSR_REDUCE_LOR: return ADDER(lor, bool);
    case TSR_REDUCE_LAND: return ADDER(land, bool);
    case TSR_REDUCE_LXOR: return ADDER(lxor, bool);
    case TSR_REDUCE_EQ: return ADDER(eq, bool);
    default: return (adder){NULL, NULL};
    }
}

#define ADDERS(type, wide)                                             \
    static adder adder_on_##type(tsr_reduce_op add)                    \
    {                                                                  \
        switch (add) {                                                 \
        case TSR_REDUCE_PLUS: return ADDER(plus, type);                      \
        case TSR_REDUCE_TIMES: return ADDER(times, type);                    \
        case TSR_REDUCE_MIN: return ADDER(min, type);                        \
        case TSR_REDUCE_MAX: return ADDER(max, type);                        \
        default: return (adder){NULL, NULL};                           \
        }                                                              \
    }
TSR_FOR_NUMBERS(ADDERS)

static adder find_adder(const tsr_push_semiring *s)
{
    switch (s->result) {
    case TSR_BOOL: return adder_on_bool(s->add);
    case TSR_INT8: return adder_on_int8(s->add);
    case TSR_INT16: return adder_on_int16(s->add);
    case TSR_INT32: return adder_on_int32(s->add);
    case TSR_INT64: return adder_on_int64(s->add);
    case TSR_UINT8: return adder_on_uint8(s->add);
    case TSR_UINT16: return adder_on_uint16(s->add);
    case TSR_UINT32: return adder_on_uint32(s->add);
    case TSR_UINT64: return adder_on_uint64(s->add);
    case TSR_FP32: return adder_on_fp32(s->add);
    default: return adder_on_fp64(s->add);
    }
}

/* Every product joins the sum of its place. */
static int64_t add_all(const lane *w, adder add)
{
    const tsr_push *p = w->p;
    const tsr_push_semiring *s = &p->semiring;
    if (tsr_push_reads_u(s) && !tsr_push_reads_a(s))
        return add.rows(w, p->u.x, p->u.iso ? 0 : -1);
    const int64_t *k = p->u.i, *indices = p->a.i, end = p->u.p[w->r + 1];
    tsr_products products;
    tsr_products_begin(&products, s, w->r);
    int64_t count = 0;
    for (int64_t t = p->u.p[w->r]; t < end; t++) {
        ask_ahead(p, k, t, end);
        const int64_t stop = p->a.p[k[t] + 1];
        tsr_products_row(&products, &p->u, t, k[t]);
        for (int64_t e = p->a.p[k[t]]; e < stop; e += TSR_PRODUCTS) {
            const int64_t n = stop - e < TSR_PRODUCTS ? stop - e : TSR_PRODUCTS;
            const void *z = tsr_products_make(&products, &p->a, e, indices + e, n);
            count = add.some(w, indices + e, z, products.step, n, count);
        }
    }
    return count;
}

/* Of a plain sparse mask: its entries, where there is a sum. */
static int64_t list_found(const lane *w)
{
    const tsr_view *m = w->p->mask;
    const int64_t *at = m->i;
    int64_t *i = w->s->i + w->first, count = 0;
    for (int64_t t = m->p[w->r]; t < m->p[w->r + 1]; t++) {
        i[count] = at[t];
        count += w->s->marks[at[t]] == w->found;
    }
    return count;
}

/* Of many places: they are found in order by walking over all marks. */
static int64_t list_in_order(const lane *w)
{
    const int64_t n = w->p->a.vlen;
    const uint8_t *restrict marks = w->s->marks, found = w->found;
    int64_t *restrict i = w->s->i + w->first, count = 0;
    for (int64_t j = 0; j < n; j++) {
        i[count] = j;
        count += marks[j] == found;
    }
    return count;
}

/* ---- the entries of the result ---- */

/* The mask's values say what stays. */
static int64_t filter(const lane *w, int64_t count)
{
    const tsr_view *m = w->p->mask;
    const int64_t start = w->r * m->ld;
    int64_t *i = w->s->i + w->first, *from = w->s->from + w->first, *at = w->s->at + w->first, kept = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t place = start + i[t];
        const bool open = (!m->b || m->b[place]) && tsr_is_true(m, place);
        i[kept] = i[t];
        from[kept] = from[t];
        at[kept] = at[t];
        kept += open != w->p->mask_complement;
    }
    return kept;
}

static void *values_at(const lane *w)
{
    return (char *)w->s->x + (size_t)w->first * tsr_type_size(w->p->semiring.result);
}

static int64_t push_any(const lane *w)
{
    const tsr_push_semiring *s = &w->p->semiring;
    const bool values = !w->p->pattern && s->factor == TSR_FACTOR_VALUES, middle = !w->p->pattern && s->factor == TSR_FACTOR_MIDDLE;
    const bool both = values && tsr_push_reads_a(s), later = w->gate.later;
    int64_t count = both ? find_both(w) : values || middle ? find_from(w) : find_places(w);
    if (later)
        count = filter(w, count);
    if (!w->p->pattern)
        tsr_products_list(values_at(w), w->p, w->r, w->s->i + w->first, w->s->from + w->first, w->s->at + w->first, count);
    return count;
}

/* So many that they are sooner walked to than sorted later; closed places of a sparse mask are marked as well. */
static bool is_many(const lane *w, int64_t count)
{
    return count > w->p->a.vlen / 16 && !tsr_is_listed(w->p);
}

static int64_t push_sums(lane *w, adder add)
{
    const bool plain = w->listed;
    int64_t count = add_all(w, add);
    if (plain)
        count = list_found(w);
    else if (is_many(w, count))
        count = list_in_order(w);
    if (!plain && w->gate.later)
        count = filter(w, count);
    tsr_take(values_at(w), w->s->sums, w->s->i + w->first, count, tsr_type_size(w->p->semiring.result));
    return count;
}

static tsr_few_vector compute(lane *w)
{
    const tsr_push *p = w->p;
    begin(w);
    tsr_few_vector v = {.sorted = w->listed && !takes_any(p) && !p->mask->jumbled};
    v.count = takes_any(p) ? push_any(w) : push_sums(w, find_adder(&p->semiring));
    v.sorted |= !takes_any(p) && is_many(w, v.count) && !w->gate.later;
    v.sorted |= v.count < 2;
    v.i = w->s->i + w->first;
    v.x = p->pattern ? NULL : values_at(w);
    return v;
}

/* ---- all vectors ---- */

static int64_t entries_of_mask(const tsr_push *p, int64_t r)
{
    return tsr_is_listed(p) ? p->mask->p[r + 1] - p->mask->p[r] : 0;
}

/* The most that one vector writes to the lists. */
static int64_t room(const tsr_push *p, int64_t r, int64_t work)
{
    const int64_t most = work < p->a.vlen ? work : p->a.vlen, listed = entries_of_mask(p, r);
    return (most > listed ? most : listed) + 1;
}

static tsr_status push_one_by_one(const tsr_push *p, int64_t work, tsr_few *result)
{
    lane w = {.p = p};
    for (int64_t r = 0; r < p->u.nvec; r++) {
        w.r = r;
        w.s = r == 0 ? tsr_scratch_get(p->a.vlen, room(p, r, work)) : w.s;
        if (!w.s || !tsr_scratch_grow(w.s, w.first, w.first + room(p, r, work)))
            return TSR_OUT_OF_MEMORY;
        result->vectors[r] = compute(&w);
        w.first += result->vectors[r].count;
    }
    /* the lists may have moved */
    int64_t first = 0;
    for (int64_t r = 0; r < p->u.nvec; r++) {
        tsr_few_vector *v = &result->vectors[r];
        v->i = w.s->i + first;
        v->x = v->x ? (char *)w.s->x + (size_t)first * tsr_type_size(p->semiring.result) : NULL;
        first += v->count;
    }
    return TSR_OK;
}

/* Another thread's lists are its own. */
static bool own(tsr_few_vector *v, size_t size)
{
    const size_t indices = (size_t)v->count * sizeof *v->i, values = v->x ? (size_t)v->count * size : 0;
    char *block = malloc(indices + values + 1);
    if (!block)
        return false;
    memcpy(block, v->i, indices);
    if (v->x)
        v->x = memcpy(block + indices, v->x, values);
    v->i = (const int64_t *)block;
    v->owned = block;
    return true;
}

static tsr_status push_at_once(const tsr_push *p, int64_t work, tsr_few *result)
{
    const size_t size = tsr_type_size(p->semiring.result);
    const int nthreads = p->nthreads < p->u.nvec ? p->nthreads : (int)p->u.nvec;
    bool failed = false;
#pragma omp parallel for num_threads(nthreads) schedule(dynamic, 1) reduction(|| : failed)
    for (int64_t r = 0; r < p->u.nvec; r++) {
        lane w = {.p = p, .s = tsr_scratch_get(p->a.vlen, room(p, r, work)), .r = r};
        if (w.s)
            result->vectors[r] = compute(&w);
        failed = failed || !w.s || !own(&result->vectors[r], size);
    }
    if (failed)
        tsr_few_release(result);
    return failed ? TSR_OUT_OF_MEMORY : TSR_OK;
}

int64_t tsr_push_work(const tsr_push *p, int64_t most)
{
    const int64_t *k = p->u.i, end = p->u.p[p->u.nvec];
    int64_t work = 0;
    for (int64_t t = p->u.p[0]; t < end && work <= most; t++) {
        __builtin_prefetch(&p->a.p[k[t + 2 * AHEAD < end ? t + 2 * AHEAD : t]]);
        work += p->a.p[k[t] + 1] - p->a.p[k[t]];
    }
    return work;
}

static bool takes(const tsr_push *p)
{
    const tsr_push_semiring *s = &p->semiring;
    const bool mask = !p->mask || p->mask->format != TSR_HYPERSPARSE;
    return p->u.format == TSR_SPARSE && p->a.format == TSR_SPARSE && p->a.index_size == 8 && p->u.index_size == 8 && mask &&
           p->u.nvec <= TSR_FEW && (takes_any(p) || find_adder(s).some);
}

tsr_status tsr_cpu_push(const tsr_push *p, int64_t work, tsr_few *result)
{
    tsr_few_begin(result, p->u.nvec);
    if (!takes(p))
        return TSR_DECLINED;
    const bool parallel = p->nthreads > 1 && p->u.nvec > 1 && work >= PARALLEL;
    const tsr_status status = parallel ? push_at_once(p, work, result) : push_one_by_one(p, work, result);
    for (int64_t r = 0; status == TSR_OK && r < result->nvec; r++) {
        result->nvals += result->vectors[r].count;
        result->sorted &= result->vectors[r].sorted;
    }
    return status;
}
