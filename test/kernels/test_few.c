/* Few sparse vectors: products against the oracle, elementwise operations and assignments against those of dense arrays; random shapes,
 * forms, masks, types and operators.  `test_few [--seed S] [--cases N]`; a failure prints its seed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/step.h"
#include "kernels/sparse_vectors.h"
#include "src/base/types.h"
#include "test/seed.h"

enum { MOST = 70, VECTORS = 5, PLACES = MOST * MOST };

static uint64_t state;

static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

/* ---- random operands ---- */

/* Vectors of one operand, dense as well as in the form that the view has. */
typedef struct operand {
    tsr_view view;
    int8_t present[PLACES];
    uint64_t dense[PLACES]; /* elements of the type */
    int64_t p[MOST + 1], i[PLACES];
    uint64_t x[PLACES];
    int8_t b[PLACES];
} operand;

static void put(void *x, tsr_type type, int64_t at, int64_t number)
{
    const tsr_value v = tsr_type_is_float(type) ? (tsr_value){.real = (long double)number} : (tsr_value){.bits = (uint64_t)number};
    tsr_value_store(type, x, at, v);
}

/* Quotients, sums and products of these are exact in any order. */
static int64_t any_number(void)
{
    static const int64_t numbers[] = {0, 1, 2, 4, -1, -2};
    return numbers[below(6)];
}

static void swap_entries(operand *o, int64_t s, int64_t t, size_t size)
{
    char *x = (char *)o->x, kept[8];
    const int64_t index = o->i[s];
    o->i[s] = o->i[t];
    o->i[t] = index;
    memcpy(kept, x + (size_t)s * size, size);
    memcpy(x + (size_t)s * size, x + (size_t)t * size, size);
    memcpy(x + (size_t)t * size, kept, size);
}

static void compress(operand *o, bool jumbled)
{
    tsr_view *v = &o->view;
    const size_t size = tsr_type_size(v->type);
    int64_t e = 0;
    for (int64_t r = 0; r < v->nvec; r++) {
        o->p[r] = e;
        for (int64_t k = 0; k < v->vlen; k++)
            if (o->present[r * v->vlen + k]) {
                memcpy((char *)o->x + (size_t)e * size, (char *)o->dense + (size_t)(r * v->vlen + k) * size, size);
                o->i[e++] = k;
            }
        for (int64_t t = e - 1; jumbled && t > o->p[r]; t--)
            swap_entries(o, t, o->p[r] + below(t - o->p[r] + 1), size);
    }
    o->p[v->nvec] = e;
}

static void draw(operand *o, tsr_type type, int64_t nvec, int64_t vlen, tsr_format format)
{
    static const int64_t densities[] = {0, 3, 20, 60, 100};
    const int64_t density = format == TSR_FULL ? 100 : densities[below(5)];
    const bool iso = below(5) == 0, jumbled = format == TSR_SPARSE && below(2) == 0;
    const int64_t one = any_number();
    int64_t nvals = 0;
    for (int64_t at = 0; at < nvec * vlen; at++) {
        o->present[at] = below(100) < density;
        o->b[at] = o->present[at];
        put(o->dense, type, at, iso ? one : any_number());
        nvals += o->present[at];
    }
    o->view = (tsr_view){.format = format, .type = type, .iso = iso, .jumbled = jumbled, .index_size = 8, .nrows = nvec, .ncols = vlen,
                         .nvec = nvec, .vlen = vlen, .ld = vlen, .nvals = nvals, .x = o->dense};
    if (format == TSR_BITMAP)
        o->view.b = o->b;
    if (format != TSR_SPARSE)
        return;
    compress(o, jumbled);
    o->view.p = o->p;
    o->view.i = o->i;
    o->view.x = o->x;
    if (iso)
        put(o->x, type, 0, one);
}

static tsr_format any_format(void)
{
    static const tsr_format formats[] = {TSR_SPARSE, TSR_BITMAP, TSR_FULL};
    return formats[below(3)];
}

static tsr_type any_type(void) { return (tsr_type)below(TSR_TYPE_COUNT); }

/* ---- comparison ---- */

static bool same(tsr_type type, const void *x, int64_t at, const void *y, int64_t bt)
{
    return tsr_value_same(tsr_value_load(type, x, at), tsr_value_load(type, y, bt));
}

/* Spread over dense arrays; false: an index twice, or not sorted where it says so. */
static bool spread(const tsr_few *few, int64_t vlen, tsr_type type, int8_t *present, void *x)
{
    const size_t size = tsr_type_size(type);
    memset(present, 0, (size_t)(few->nvec * vlen));
    for (int64_t r = 0; r < few->nvec; r++) {
        const tsr_few_vector *v = &few->vectors[r];
        for (int64_t t = 0; t < v->count; t++) {
            const int64_t at = r * vlen + v->i[t];
            if (present[at] || (v->sorted && t > 0 && v->i[t - 1] > v->i[t]))
                return false;
            present[at] = 1;
            if (v->x)
                memcpy((char *)x + (size_t)at * size, (const char *)v->x + (size_t)(v->by_place ? v->i[t] : t) * size, size);
        }
    }
    return true;
}

static bool agree(tsr_type type, int64_t places, const int8_t *b, const void *x, const int8_t *c, const void *y, bool values)
{
    for (int64_t at = 0; at < places; at++)
        if ((b && b[at] != 0) != (c && c[at] != 0) || (c && c[at] && values && !same(type, x, at, y, at)))
            return false;
    return true;
}

/* ---- products ---- */

static operand u, a, m, y, c;
static uint64_t got[PLACES], expected[PLACES];
static int8_t got_b[PLACES], expected_b[PLACES];

static bool is_numeric(tsr_reduce_op add) { return add <= TSR_REDUCE_MAX; }

static tsr_push_semiring any_semiring(void)
{
    tsr_push_semiring s = {.factor = below(3) ? TSR_FACTOR_VALUES : (tsr_factor)(1 + below(3)), .offset = below(2), .swapped = below(2),
                           .mul = (tsr_ewise_op)(TSR_EWISE_FIRST + below(TSR_EWISE_COUNT - TSR_EWISE_FIRST)), .type = any_type()};
    if (s.factor != TSR_FACTOR_VALUES)
        s.type = below(2) ? TSR_INT32 : TSR_INT64;
    s.result = s.factor == TSR_FACTOR_VALUES && tsr_ewise_compares(s.mul) ? TSR_BOOL : s.type;
    do
        s.add = (tsr_reduce_op)below(TSR_REDUCE_COUNT);
    while (s.add != TSR_REDUCE_ANY && is_numeric(s.add) == (s.result == TSR_BOOL));
    return s;
}

static void draw_mask(tsr_push *p, int64_t nvec, int64_t n)
{
    p->mask = NULL;
    p->mask_structural = below(2);
    p->mask_complement = below(2);
    draw(&m, any_type(), nvec, n, any_format());
    if (below(4))
        p->mask = &m.view;
    else
        p->mask_complement = false;
}

/* As it was drawn, or with integers of 32 bits. */
static void give_a(tsr_push *p)
{
    static uint32_t starts[MOST + 1], indices[MOST * MOST];
    p->a = a.view;
    p->starts = a.view.p;
    if (below(2))
        return;
    for (int64_t k = 0; k <= a.view.nvec; k++) starts[k] = (uint32_t)a.view.p[k];
    for (int64_t e = 0; e < a.view.p[a.view.nvec]; e++) indices[e] = (uint32_t)((const int64_t *)a.view.i)[e];
    p->starts = starts;
    p->a.i = indices;
    p->a.index_size = 4;
    p->a.p = NULL;
}

/* Nobody has to sort a pattern of many places afterwards.  Of a single one with so many that it is held place by place that needs no order. */
static bool many_ascend(const tsr_few *t, int64_t n)
{
    for (int64_t r = 0; r < t->nvec; r++)
        if (t->vectors[r].count > n / 32 && !t->vectors[r].sorted && !(t->nvec == 1 && t->vectors[r].count > n / 25))
            return false;
    return true;
}

static bool check_push(void)
{
    const int64_t nvec = 1 + below(below(4) ? VECTORS : TSR_FEW), k = 1 + below(MOST), n = 1 + below(MOST);
    static uint64_t sums[MOST];
    tsr_push p = {.semiring = any_semiring(), .pattern = below(3) == 0, .nthreads = 1 + (int)below(2), .many_by_place = below(2), .sums = below(2) ? sums : NULL};
    tsr_few t, r;
    draw(&u, p.semiring.type, nvec, k, TSR_SPARSE);
    draw(&a, p.semiring.type, k, n, TSR_SPARSE);
    draw_mask(&p, nvec, n);
    p.u = u.view;
    give_a(&p);
    const int64_t work = tsr_push_work(&p, INT64_MAX / 2) + (below(3) ? 0 : 200000);
    if (p.pattern && tsr_push_is_joint(&p, work)) { /* a bit for each vector: of dense ones as well */
        draw(&u, p.semiring.type, nvec, k, any_format());
        p.u = u.view;
    }
    if (tsr_cpu_push(&p, work, &t) != TSR_OK || !spread(&t, n, p.semiring.result, got_b, got) ||
        (p.pattern && !many_ascend(&t, n)) || tsr_ref_push(&p, 0, &r) != TSR_OK)
        return false;
    spread(&r, n, p.semiring.result, expected_b, expected);
    const bool equal = t.nvals == r.nvals && agree(p.semiring.result, nvec * n, got_b, got, expected_b, expected, !p.pattern);
    tsr_few_release(&t);
    tsr_few_release(&r);
    return equal;
}

static bool pulls_right(tsr_push *p, int64_t nvec, int64_t n)
{
    p->u = u.view;
    give_a(p);
    const int64_t nvals = tsr_cpu_pull(p, below(2) ? 0 : INT64_MAX, got_b, got);
    return nvals == tsr_ref_pull(p, expected_b, expected) &&
           agree(p->semiring.result, nvec * n, got_b, got, expected_b, expected, true);
}

static bool check_pull(void)
{
    const int64_t nvec = 1 + below(VECTORS < 8 ? VECTORS : 8), k = 1 + below(MOST), n = 1 + below(MOST);
    tsr_push p = {.semiring = any_semiring(), .nthreads = 1 + (int)below(2)};
    tsr_push_semiring *s = &p.semiring;
    s->factor = TSR_FACTOR_VALUES;
    s->mul = s->swapped ? TSR_EWISE_SECOND : TSR_EWISE_FIRST;
    s->result = s->type;
    do
        s->add = (tsr_reduce_op)below(TSR_REDUCE_ANY);
    while (is_numeric(s->add) == (s->result == TSR_BOOL));
    draw(&u, s->type, nvec, k, below(2) ? TSR_BITMAP : TSR_FULL);
    draw(&a, s->type, n, k, TSR_SPARSE);
    draw_mask(&p, nvec, n);
    return pulls_right(&p, nvec, n);
}

/* One sparse vector, any semiring or the pattern, any form of the mask. */
static bool check_pull_listed(void)
{
    const int64_t k = 1 + below(MOST), n = 1 + below(MOST);
    tsr_push p = {.semiring = any_semiring(), .nthreads = 1 + (int)below(3), .pattern = below(4) == 0};
    tsr_few t;
    draw(&u, p.semiring.type, 1, k, TSR_SPARSE);
    draw(&a, p.semiring.type, n, k, TSR_SPARSE);
    draw_mask(&p, 1, n);
    p.u = u.view;
    give_a(&p);
    if (tsr_cpu_pull_listed(&p, below(2) ? 0 : 1000000, &t) != TSR_OK || !spread(&t, n, p.semiring.result, got_b, got))
        return false;
    const bool equal = t.nvals == tsr_ref_pull(&p, expected_b, expected) && agree(p.semiring.result, n, got_b, got, expected_b, expected, !p.pattern);
    tsr_few_release(&t);
    return equal;
}

/* ---- steps ---- */

static tsr_ewise any_step(void)
{
    tsr_ewise e = {.op = (tsr_ewise_op)below(TSR_EWISE_COUNT), .type = any_type(), .replace = below(2), .mask_structural = below(2),
                   .mask_complement = below(2), .accumulates = below(2)};
    while (e.op == TSR_EWISE_SQRT || e.op == TSR_EWISE_LNOT)
        e.op = (tsr_ewise_op)below(TSR_EWISE_COUNT);
    e.select = tsr_ewise_compares(e.op) && below(2);
    e.result = tsr_ewise_compares(e.op) && !e.select ? TSR_BOOL : e.type;
    e.accum = (tsr_ewise_op)(TSR_EWISE_FIRST + below(TSR_EWISE_EQ - TSR_EWISE_FIRST));
    put(&e.x.scalar, e.type, 0, any_number());
    put(&e.y.scalar, e.type, 0, any_number());
    return e;
}

/* On dense arrays. */
static void expect(const tsr_few_step *s)
{
    tsr_ewise e = s->step;
    e.count = s->nvec * s->vlen;
    if (!s->has_c) {
        e.accumulates = false;
        e.replace = true;
    }
    e.mask = s->has_mask ? &m : NULL;
    e.mask_type = s->mask.type;
    const tsr_ewise_arrays arrays = {.x = {s->has_x ? u.dense : NULL, u.present}, .y = {s->has_y ? y.dense : NULL, y.present},
                                     .c = {s->has_c ? c.dense : NULL, c.present},
                                     .mask = {s->has_mask && !e.mask_structural ? m.dense : NULL, s->has_mask ? m.present : NULL},
                                     .z = expected, .z_present = expected_b};
    tsr_ewise_arrays given = arrays;
    if (!s->has_x)
        given.x = (tsr_elements){0};
    if (!s->has_y)
        given.y = (tsr_elements){0};
    memset(expected_b, 1, sizeof expected_b);
    if (tsr_ewise_is_full(&e, &given))
        given.z_present = NULL;
    tsr_ref_ewise(&e, &given);
}

/* By way of T, or place by place where that can be. */
static bool into_dense(const tsr_few_step *s, tsr_few *t)
{
    int64_t more = 0, before = s->c.nvals, after = 0;
    int8_t *b = s->c.format == TSR_BITMAP ? c.b : NULL;
    if (tsr_few_step_updates(s) && below(2))
        more = tsr_cpu_few_update(s, b, c.dense);
    else if (!tsr_cpu_few_scatter(s, t, b, c.dense, &more))
        return !b; /* a full C would lose entries */
    for (int64_t at = 0; at < s->nvec * s->vlen; at++)
        after += !b || b[at];
    memset(got_b, 1, sizeof got_b);
    return after == before + more && agree(s->step.result, s->nvec * s->vlen, b ? b : got_b, c.dense, expected_b, expected, true);
}

static bool check_step(void)
{
    tsr_few_step s = {.step = any_step(), .nvec = 1 + below(VECTORS), .vlen = 1 + below(MOST), .has_x = below(4), .has_mask = below(3),
                      .has_c = below(4)};
    s.has_y = !tsr_ewise_is_unary(s.step.op) && below(2);
    draw(&u, s.step.type, s.nvec, s.vlen, any_format());
    draw(&y, s.step.type, s.nvec, s.vlen, any_format());
    draw(&m, any_type(), s.nvec, s.vlen, any_format());
    draw(&c, s.step.result, s.nvec, s.vlen, any_format());
    s.x = u.view;
    s.y = y.view;
    s.mask = m.view;
    s.c = c.view;
    s.has_c &= c.view.nvals > 0;
    if (!tsr_few_step_takes(&s) || (s.has_c && c.view.format != TSR_SPARSE && c.view.iso))
        return true;
    expect(&s);
    tsr_few t, all;
    if (tsr_cpu_few_step(&s, &t) != TSR_OK)
        return false;
    const bool replaced = !s.has_c || (!s.step.accumulates && (!s.has_mask || s.step.replace));
    if (c.view.format != TSR_SPARSE && !replaced)
        return into_dense(&s, &t);
    if (tsr_cpu_few_merge(&s, &t, &all) != TSR_OK || !spread(&all, s.vlen, s.step.result, got_b, got))
        return false;
    const bool equal = agree(s.step.result, s.nvec * s.vlen, got_b, got, expected_b, expected, true);
    tsr_few_release(&t);
    return equal;
}

/* So many entries that they are dealt out to threads: C += X * Y and T = X * Y of every third place and a bitmap. */
static bool check_long(void)
{
    enum { ROWS = 3, LENGTH = 90000, ALL = ROWS * LENGTH, ENTRIES = ALL / 3 };
    int64_t *i = malloc(ENTRIES * sizeof *i), *x = malloc(ENTRIES * sizeof *x), *of_y = malloc(ALL * sizeof *of_y), *of_c = malloc(ALL * sizeof *of_c);
    int64_t p[ROWS + 1], wrong = 0, in_c = 0;
    int8_t *in_y = malloc(ALL), *b = malloc(ALL);
    for (int64_t r = 0; r <= ROWS; r++)
        p[r] = r * (LENGTH / 3);
    for (int64_t t = 0; t < ENTRIES; t++)
        x[t] = t, i[t] = t % (LENGTH / 3) * 3;
    for (int64_t at = 0; at < ALL; at++)
        of_y[at] = at, of_c[at] = 7, in_y[at] = at % 5 != 0, in_c += b[at] = at % 2 == 0;
    const tsr_view vectors = {.type = TSR_INT64, .nrows = ROWS, .ncols = LENGTH, .nvec = ROWS, .vlen = LENGTH, .ld = LENGTH, .index_size = 8};
    tsr_few_step s = {.step = {.op = TSR_EWISE_TIMES, .type = TSR_INT64, .result = TSR_INT64, .accumulates = true, .accum = TSR_EWISE_PLUS},
                      .x = vectors, .y = vectors, .c = vectors, .has_x = true, .has_y = true, .has_c = true, .nvec = ROWS, .vlen = LENGTH, .nthreads = 4};
    s.x.format = TSR_SPARSE, s.x.p = p, s.x.i = i, s.x.x = x, s.x.nvals = ENTRIES;
    s.y.format = TSR_BITMAP, s.y.b = in_y, s.y.x = of_y, s.y.nvals = ALL - ALL / 5;
    s.c.format = TSR_BITMAP, s.c.b = b, s.c.x = of_c, s.c.nvals = in_c;
    tsr_few t;
    if (!tsr_few_step_updates(&s) || tsr_cpu_few_step(&s, &t) != TSR_OK)
        return false;
    int64_t seen = 0, more = tsr_cpu_few_update(&s, b, of_c), joined = 0;
    for (int64_t at = 0; at < ALL; at++) {
        const int64_t r = at / LENGTH, j = at % LENGTH, product = (p[r] + j / 3) * at;
        const bool made = j % 3 == 0 && at % 5 != 0, was = at % 2 == 0;
        const tsr_few_vector *v = &t.vectors[r];
        seen = j == 0 ? 0 : seen;
        wrong += made && (v->i[seen] != j || ((const int64_t *)v->x)[seen] != product);
        wrong += b[at] != (was || made) || (b[at] && of_c[at] != (was ? 7 : 0) + (made ? product : 0));
        seen += made;
        joined += made && !was;
        wrong += j == LENGTH - 1 && v->count != seen;
    }
    tsr_few_release(&t);
    free(i), free(x), free(of_y), free(of_c), free(in_y), free(b);
    return wrong == 0 && more == joined;
}

/* So many entries of A that threads share the words of a push of patterns. */
static bool check_shared(void)
{
    enum { ROWS = 8, SIZE = 4096, DEGREE = 80, NAMED = SIZE / 4 };
    static int64_t starts[SIZE + 1], columns[SIZE * DEGREE], p[ROWS + 1], i[ROWS * NAMED];
    static int8_t reached[ROWS * SIZE];
    const tsr_view shape = {.format = TSR_SPARSE, .type = TSR_BOOL, .index_size = 8, .vlen = SIZE, .ncols = SIZE};
    tsr_push push = {.pattern = true, .u = shape, .a = shape, .starts = starts, .nthreads = 4,
                     .semiring = {.add = TSR_REDUCE_ANY, .mul = TSR_EWISE_PAIR, .type = TSR_BOOL, .result = TSR_BOOL}};
    tsr_few t;
    for (int64_t k = 0; k < SIZE; k++)
        for (int64_t d = 0; d < DEGREE; d++)
            columns[k * DEGREE + d] = (k * k % 31 + d * 101) % SIZE;
    for (int64_t k = 0; k <= SIZE; k++)
        starts[k] = k * DEGREE;
    for (int64_t r = 0; r < ROWS; r++) {
        p[r + 1] = p[r] + NAMED;
        for (int64_t n = 0; n < NAMED; n++) {
            const int64_t k = i[p[r] + n] = n * (1 + r % 4);
            for (int64_t d = 0; d < DEGREE; d++)
                reached[r * SIZE + columns[k * DEGREE + d]] = 1;
        }
    }
    push.u.nrows = push.u.nvec = ROWS, push.u.p = p, push.u.i = i, push.u.nvals = ROWS * NAMED;
    push.a.nrows = push.a.nvec = SIZE, push.a.p = starts, push.a.i = columns, push.a.nvals = SIZE * DEGREE;
    bool right = tsr_push_is_joint(&push, ROWS * NAMED * DEGREE) && tsr_cpu_push(&push, ROWS * NAMED * DEGREE, &t) == TSR_OK;
    for (int64_t r = 0; right && r < ROWS; r++)
        for (int64_t j = 0, at = 0; j < SIZE && right; j++)
            if (reached[r * SIZE + j])
                right = at < t.vectors[r].count && t.vectors[r].i[at++] == j;
            else
                right = at == t.vectors[r].count || t.vectors[r].i[at] > j;
    if (right)
        tsr_few_release(&t);
    return right;
}

int main(int argc, char **argv)
{
    uint64_t seed = test_seed();
    int64_t cases = 8000;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--seed") == 0)
            seed = strtoull(argv[k + 1], NULL, 0);
        else
            cases = strtoll(argv[k + 1], NULL, 0);
    }
    static bool (*const checks[])(void) = {check_push, check_pull, check_pull_listed, check_step};
    static const char *const names[] = {"push", "pull", "pull_listed", "step"};
    int failed = !check_long() + !check_shared();
    if (failed)
        printf("FAIL long, or shared\n");
    for (int64_t k = 0; k < cases; k++, seed++) {
        state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        const int which = (int)(k % (int64_t)(sizeof checks / sizeof *checks));
        state = (seed - (uint64_t)which) * UINT64_C(0x9e3779b97f4a7c15) + 1 + (uint64_t)which;
        below(2);
        if (checks[which]())
            continue;
        printf("FAIL %s --seed %llu\n", names[which], (unsigned long long)(seed - (uint64_t)which));
        if (++failed > 10)
            break;
    }
    printf("%lld cases, %d failed\n", (long long)cases, failed);
    return failed > 0;
}
