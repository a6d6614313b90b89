/* The sums of a push.  On a frontier of a graph nobody can tell which neighbours are new, nor which a mask lets pass: no branch asks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/lane.h"
#include "kernels/cpu/sparse/products.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { SIEVED = 256 }; /* products that a mask let pass, before they are added */

/* Places that a mask lets pass: j where (table[j & all] - base <= span, as bytes) != inverted. */
typedef struct sieve {
    const uint8_t *table;
    int64_t all;
    uint8_t base, span;
    bool inverted;
} sieve;

static sieve sieve_of(const tsr_lane *w)
{
    if (tsr_is_listed(w->p))
        return (sieve){w->s->marks, -1, w->was, w->listed, !w->listed};
    return (sieve){w->gate.open, w->gate.all, 1, UINT8_MAX - 1, w->gate.closed};
}

/* Does it keep anything back? */
static bool has_sieve(const tsr_lane *w)
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
    tsr_c_##type *restrict sums = w->sums;                                        \
    uint8_t *restrict marks = w->s->marks, found = w->found;                      \
    int64_t *restrict i = w->s->i + w->first;

/* To n places, step 0: one product for all; and all of U's entries, whose products do not depend on A: what a mask keeps back costs but
 * the look at its place. */
#define ADD(name, type, sum)                                                                                                    \
    static int64_t name##_all_##type(const tsr_lane *w, const int64_t *restrict place, const void *product, int64_t step, int64_t n, int64_t count) \
    {                                                                                                                           \
        const tsr_c_##type *restrict z = product;                                                                               \
        ADD_BEGIN(type)                                                                                                         \
        for (int64_t e = 0; e < n; e++) {                                                                                       \
            const int64_t j = place[e];                                                                                         \
            ADD_ONE(type, z[e & step], sum)                                                                                     \
        }                                                                                                                       \
        return count;                                                                                                           \
    }                                                                                                                           \
    static int64_t name##_##type(const tsr_lane *w, const int64_t *restrict place, const void *product, int64_t step, int64_t n, int64_t count) \
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
    static inline __attribute__((always_inline)) int64_t name##_sieved_##type(const tsr_lane *w, const tsr_c_##type *restrict z,   \
                                                                              int64_t step, const bool narrow)                  \
    {                                                                                                                           \
        const tsr_push *p = w->p;                                                                                               \
        const int64_t *restrict k = p->u.i, end = p->u.p[w->r + 1];                                                             \
        const void *restrict starts = p->starts, *restrict indices = p->a.i;                                                    \
        const sieve s = sieve_of(w);                                                                                            \
        int64_t passed[SIEVED + 1], kept = 0, count = 0;                                                                        \
        tsr_c_##type of_passed[SIEVED + 1];                                                                                     \
        for (int64_t t = p->u.p[w->r]; t < end; t++) {                                                                          \
            tsr_ask_ahead(p, k, t, end);                                                                                            \
            const tsr_c_##type one = z[t & step];                                                                               \
            const int64_t stop = tsr_push_at(starts, k[t] + 1, narrow);                                                         \
            for (int64_t e = tsr_push_at(starts, k[t], narrow); e < stop;) {                                                    \
                const int64_t last = stop - e < SIEVED - kept ? stop : e + SIEVED - kept;                                       \
                for (; e < last; e++) {                                                                                         \
                    const int64_t j = tsr_push_at(indices, e, narrow);                                                          \
                    passed[kept] = j;                                                                                           \
                    of_passed[kept] = one;                                                                                      \
                    kept += passes(&s, j);                                                                                      \
                }                                                                                                               \
                if (kept > SIEVED - SIEVED / 4) {                                                                               \
                    count = name##_all_##type(w, passed, of_passed, -1, kept, count);                                           \
                    kept = 0;                                                                                                   \
                }                                                                                                               \
            }                                                                                                                   \
        }                                                                                                                       \
        return name##_all_##type(w, passed, of_passed, -1, kept, count);                                                        \
    }                                                                                                                           \
    static inline __attribute__((always_inline)) int64_t name##_rows_in_##type(const tsr_lane *w, const void *products,         \
                                                                               int64_t step, const bool narrow)                 \
    {                                                                                                                           \
        if (has_sieve(w))                                                                                                       \
            return name##_sieved_##type(w, products, step, narrow);                                                             \
        const tsr_push *p = w->p;                                                                                               \
        const int64_t *restrict k = p->u.i, end = p->u.p[w->r + 1];                                                             \
        const void *restrict starts = p->starts, *restrict indices = p->a.i;                                                    \
        const tsr_c_##type *restrict z = products;                                                                              \
        int64_t count = 0;                                                                                                      \
        ADD_BEGIN(type)                                                                                                         \
        for (int64_t t = p->u.p[w->r]; t < end; t++) {                                                                          \
            tsr_ask_ahead(p, k, t, end);                                                                                            \
            const tsr_c_##type one = z[t & step];                                                                               \
            const int64_t stop = tsr_push_at(starts, k[t] + 1, narrow);                                                         \
            for (int64_t e = tsr_push_at(starts, k[t], narrow); e < stop; e++) {                                                \
                const int64_t j = tsr_push_at(indices, e, narrow);                                                              \
                ADD_ONE(type, one, sum)                                                                                         \
            }                                                                                                                   \
        }                                                                                                                       \
        return count;                                                                                                           \
    }                                                                                                                           \
    static int64_t name##_rows_##type(const tsr_lane *w, const void *products, int64_t step)                                    \
    {                                                                                                                           \
        return tsr_push_is_narrow(w->p) ? name##_rows_in_##type(w, products, step, true)                                        \
                                        : name##_rows_in_##type(w, products, step, false);                                      \
    }
TSR_FOR_MONOIDS(ADD)

typedef struct adder {
    int64_t (*some)(const tsr_lane *w, const int64_t *place, const void *product, int64_t step, int64_t n, int64_t count);
    int64_t (*rows)(const tsr_lane *w, const void *products, int64_t step);
} adder;
#define ADDER(name, type) ((adder){name##_##type, name##_rows_##type})

static adder find_adder(const tsr_push_semiring *s)
{
    TSR_RETURN_OF_MONOID(s->result, s->add, ADDER)
    return (adder){NULL, NULL};
}

/* Of n entries of A from e on. */
static const int64_t *indices_of(const tsr_push *p, int64_t e, int64_t n, int64_t *widened)
{
    if (!tsr_push_is_narrow(p))
        return (const int64_t *)p->a.i + e;
    for (int64_t t = 0; t < n; t++)
        widened[t] = ((const uint32_t *)p->a.i)[e + t];
    return widened;
}

/* Every product joins the sum of its place. */
static int64_t add_all(const tsr_lane *w, adder add)
{
    const tsr_push *p = w->p;
    const tsr_push_semiring *s = &p->semiring;
    if (tsr_push_reads_u(s) && !tsr_push_reads_a(s))
        return add.rows(w, p->u.x, p->u.iso ? 0 : -1);
    const int64_t *k = p->u.i, end = p->u.p[w->r + 1];
    int64_t widened[TSR_PRODUCTS];
    tsr_products products;
    tsr_products_begin(&products, s, w->r);
    int64_t count = 0;
    for (int64_t t = p->u.p[w->r]; t < end; t++) {
        tsr_ask_ahead(p, k, t, end);
        const int64_t stop = tsr_push_start(p, k[t] + 1);
        tsr_products_row(&products, &p->u, t, k[t]);
        for (int64_t e = tsr_push_start(p, k[t]); e < stop; e += TSR_PRODUCTS) {
            const int64_t n = stop - e < TSR_PRODUCTS ? stop - e : TSR_PRODUCTS, *j = indices_of(p, e, n, widened);
            const void *z = tsr_products_make(&products, &p->a, e, j, n);
            count = add.some(w, j, z, products.step, n, count);
        }
    }
    return count;
}

/* Of a plain sparse mask: its entries, where there is a sum. */
static int64_t list_found(const tsr_lane *w)
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

/* Of very many places: they are found in order by walking over all marks. */
static int64_t list_in_order(const tsr_lane *w)
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

bool tsr_lane_has_sums(const tsr_push_semiring *semiring)
{
    return find_adder(semiring).some;
}

/* Those that nobody wants in order only where they are all. */
static bool is_listed_in_order(const tsr_lane *w, int64_t count)
{
    const int64_t n = w->p->a.vlen;
    return !w->listed && count > (tsr_lane_has_many(w, count) ? n - 1 : n / 4);
}

int64_t tsr_lane_sum(const tsr_lane *w, bool *ascending)
{
    const int64_t count = add_all(w, find_adder(&w->p->semiring));
    const bool dense = is_listed_in_order(w, count);
    *ascending = w->listed ? !w->p->mask->jumbled : dense || tsr_lane_order(w, count);
    return w->listed ? list_found(w) : dense ? list_in_order(w) : count;
}
