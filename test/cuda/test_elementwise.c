/* Elementwise steps, reductions, counts, typecasts, transposes and places against loops: all types and operators, with operands of which some elements are present,
 * scalars, masks and accumulators of all kinds.
 *     test_elementwise [--seed=N] [--count=N] [--first=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/elementwise/fusion.h"
#include "kernels/cuda/elementwise/derive.h"
#include "kernels/cuda/elementwise/spread.h"
#include "kernels/ref/derive.h"
#include "kernels/ref/step.h"
#include "test/cuda/seeds.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"

static tsr_cuda_device device;

/* ---- memory ---- */

static void *device_arrays[MOST_ARRAYS];
static int ndevice;

static void must(tsr_status status)
{
    if (status != TSR_OK) {
        printf("the device: status %d\n", (int)status);
        exit(1);
    }
}

static void *upload(const void *host, size_t bytes)
{
    void *p;
    if (!host)
        return NULL;
    if (ndevice == MOST_ARRAYS)
        abort();
    must(tsr_cuda_malloc(&p, bytes, NULL));
    must(tsr_cuda_to_device(p, host, bytes, NULL));
    return device_arrays[ndevice++] = p;
}

static void download(void *host, const void *p, size_t bytes)
{
    must(tsr_cuda_to_host(host, p, bytes, NULL));
    must(tsr_cuda_wait(NULL));
}

static void free_everything(void)
{
    free_all();
    while (ndevice)
        tsr_cuda_free(device_arrays[--ndevice], NULL);
}

/* ---- random elements ---- */

/* NULL: all are present. */
static int8_t *draw_presence(rng *r, int64_t count, int percent_full)
{
    if (rng_chance(r, percent_full))
        return NULL;
    int8_t *present = take((size_t)count);
    int percent = rng_chance(r, 20) ? 100 : (int)rng_below(r, 101);
    for (int64_t k = 0; k < count; k++)
        present[k] = rng_chance(r, percent);
    return present;
}

static int64_t draw_count(rng *r)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257, 1000, 4099};
    return rng_chance(r, 1) ? 150001 : counts[rng_below(r, 16)];
}

static tsr_elements to_device(const tsr_elements *e, tsr_type type, int64_t count)
{
    return (tsr_elements){upload(e->x, (size_t)count * type_size(type)), upload(e->present, (size_t)count)};
}

/* ---- steps ---- */

static tsr_elements draw_operand(rng *r, tsr_type type, int64_t count, uint64_t *scalar)
{
    draw_odd_element(r, type, scalar, 0);
    if (rng_chance(r, 15))
        return (tsr_elements){NULL, NULL};
    void *x = draw_array(r, type, count);
    return (tsr_elements){x, draw_presence(r, count, 50)};
}

/* Every operator and type in turn; the rest at random, as the contract allows it. */
static tsr_ewise draw_step(rng *r, uint64_t seed)
{
    tsr_ewise s = {.op = (tsr_ewise_op)(seed % TSR_EWISE_COUNT), .type = (tsr_type)(seed / TSR_EWISE_COUNT % TSR_TYPE_COUNT)};
    if (s.op == TSR_EWISE_SQRT && s.type < TSR_FP32)
        s.type = TSR_FP32;
    s.count = draw_count(r);
    s.select = tsr_ewise_compares(s.op) && rng_chance(r, 50);
    s.result = tsr_ewise_compares(s.op) && !s.select ? TSR_BOOL : s.type;
    s.unite = !tsr_ewise_is_unary(s.op) && !s.select && s.result == s.type && rng_chance(r, 40);
    s.accumulates = rng_chance(r, 40);
    int binary = (s.result == TSR_BOOL ? TSR_EWISE_COUNT : TSR_EWISE_EQ) - TSR_EWISE_FIRST;
    s.accum = (tsr_ewise_op)(TSR_EWISE_FIRST + rng_below(r, binary));
    s.mask_type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    s.mask_structural = rng_chance(r, 40);
    s.mask_complement = rng_chance(r, 40);
    s.replace = rng_chance(r, 40);
    return s;
}

static tsr_ewise_arrays draw_arrays(rng *r, tsr_ewise *s)
{
    static char is_a_mask;
    tsr_ewise_arrays a = {.x = draw_operand(r, s->type, s->count, &s->x.scalar), .y = draw_operand(r, s->type, s->count, &s->y.scalar)};
    if (rng_chance(r, 50)) {
        s->mask = &is_a_mask;
        a.mask.present = draw_presence(r, s->count, 40);
        a.mask.x = s->mask_structural ? NULL : draw_array(r, s->mask_type, s->count);
    } else {
        s->mask_complement = s->replace = false;
    }
    if (rng_chance(r, 70)) {
        a.c.x = draw_array(r, s->result, s->count);
        a.c.present = draw_presence(r, s->count, 40);
    }
    s->accumulates = s->accumulates && a.c.x;
    size_t bytes = (size_t)s->count * type_size(s->result);
    a.z = take(bytes);
    a.z_present = tsr_ewise_is_full(s, &a) && rng_chance(r, 70) ? NULL : take((size_t)s->count);
    return a;
}

static tsr_ewise_arrays arrays_to_device(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    return (tsr_ewise_arrays){.x = to_device(&a->x, s->type, s->count), .y = to_device(&a->y, s->type, s->count),
                             .c = to_device(&a->c, s->result, s->count), .mask = to_device(&a->mask, s->mask_type, s->count),
                             .z = upload(a->z, (size_t)s->count * type_size(s->result) + SPARE),
                             .z_present = upload(a->z_present, (size_t)s->count + SPARE)};
}

static bool same_element(tsr_type type, const char *x, const char *y, int64_t k)
{
    size_t size = type_size(type);
    tsr_value p = tsr_value_load(type, x, k), q = tsr_value_load(type, y, k);
    return memcmp(x + (size_t)k * size, y + (size_t)k * size, size) == 0 || (isnan(p.real) && isnan(q.real));
}

/* The first place that is wrong; -1: none. */
static int64_t find_difference(const tsr_ewise *s, const tsr_ewise_arrays *want, const char *z, const int8_t *present)
{
    for (int64_t k = 0; k < s->count; k++)
        if (!same_element(s->result, want->z, z, k) || (present && present[k] != want->z_present[k]))
            return k;
    return -1;
}

static bool spare_untouched(const void *p, size_t bytes)
{
    const unsigned char *spare = (const unsigned char *)p + bytes;
    for (int k = 0; k < SPARE; k++)
        if (spare[k] != POISON)
            return false;
    return true;
}

static int check_step(uint64_t seed)
{
    rng r = {seed};
    tsr_ewise s = draw_step(&r, seed);
    tsr_ewise_arrays want = draw_arrays(&r, &s), there = arrays_to_device(&s, &want);
    size_t bytes = (size_t)s.count * type_size(s.result);
    char *z = take(bytes);
    int8_t *present = want.z_present ? take((size_t)s.count) : NULL;
    must(tsr_cuda_ewise(&s, &there, &device, NULL));
    download(z, there.z, bytes + SPARE);
    if (present)
        download(present, there.z_present, (size_t)s.count + SPARE);
    tsr_ref_ewise(&s, &want);
    int64_t at = find_difference(&s, &want, z, present);
    bool right = at < 0 && spare_untouched(z, bytes) && (!present || spare_untouched(present, (size_t)s.count));
    if (!right)
        printf("FAIL step, seed %llu: op %d, %s, %lld elements, at %lld: unite %d, select %d, accum %d (%d), mask %d (%s) structural %d, "
               "complement %d, replace %d\n", (unsigned long long)seed, (int)s.op, type_name(s.type), (long long)s.count, (long long)at,
               s.unite, s.select, s.accumulates, (int)s.accum, s.mask != NULL, type_name(s.mask_type), s.mask_structural,
               s.mask_complement, s.replace);
    return !right;
}

/* ---- reductions ---- */

/* Finite where sums and products are compared, and such that these stay finite. */
static void *draw_summands(rng *r, tsr_type type, tsr_reduce_op op, int64_t count)
{
    void *x = draw_array(r, type, count);
    bool wild = rng_chance(r, 20);
    for (int64_t k = 0; k < count && tsr_type_is_float(type); k++) {
        double big = ldexp((double)rng_below(r, 2001) - 1000, (int)rng_below(r, 60) - 30), near_one = rng_chance(r, 50) ? 0.5 : 2.0;
        if (op == TSR_REDUCE_PLUS && !(wild && rng_chance(r, 1)))
            tsr_value_store(type, x, k, (tsr_value){.real = big});
        if (op == TSR_REDUCE_TIMES)
            tsr_value_store(type, x, k, (tsr_value){.real = rng_chance(r, 90) ? 1.0 + 1e-3 * (double)rng_below(r, 3) : near_one});
    }
    return x;
}

static long double magnitude_of(tsr_type type, const tsr_elements *e, int64_t count)
{
    long double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += !e->present || e->present[k] ? fabsl(tsr_value_load(type, e->x, k).real) : 0;
    return sum;
}

/* Sums: within one rounding of the exact one, beside what FP64 (of FP64: nearly twice its digits) loses on the way. */
static bool close_enough(tsr_type type, tsr_reduce_op op, long double got, long double want, long double magnitude, int64_t count)
{
    long double rounding = type == TSR_FP32 ? 0x1p-24L : 0x1p-53L, way = type == TSR_FP32 ? 0x1p-53L : 0x1p-63L;
    if (!isfinite(want) || !isfinite(magnitude))
        return got == want || (isnan(got) && isnan(want));
    if (op == TSR_REDUCE_TIMES)
        return fabsl(got - want) <= fabsl(want) * (rounding + (long double)count * 0x1p-52L) + 0x1p-149L;
    return fabsl(got - want) <= fabsl(want) * rounding + magnitude * way * (long double)(count + 1);
}

static tsr_cuda_reduced reduce(tsr_type type, tsr_reduce_op op, const tsr_elements *e, int64_t count)
{
    tsr_cuda_reduced result;
    size_t bytes = tsr_cuda_reduce_bytes(count, &device);
    void *there, *scratch;
    must(tsr_cuda_malloc(&there, sizeof result, NULL));
    must(tsr_cuda_malloc(&scratch, bytes, NULL));
    must(tsr_cuda_reduce(there, scratch, type, op, e, count, &device, NULL));
    download(&result, there, sizeof result);
    tsr_cuda_free(there, NULL);
    tsr_cuda_free(scratch, NULL);
    return result;
}

static int check_reduce(uint64_t seed)
{
    rng r = {seed};
    tsr_reduce_op op = (tsr_reduce_op)(seed % TSR_REDUCE_COUNT);
    tsr_type type = op == TSR_REDUCE_EQ ? TSR_BOOL : (tsr_type)(seed / TSR_REDUCE_COUNT % TSR_TYPE_COUNT);
    int64_t count = draw_count(&r);
    tsr_elements e = {draw_summands(&r, type, op, count), NULL};
    e.present = draw_presence(&r, count, 40);
    tsr_elements there = to_device(&e, type, count);
    tsr_cuda_reduced got = reduce(type, op, &there, count), again = reduce(type, op, &there, count);
    tsr_value want = {0};
    uint64_t want_bits = 0;
    bool any = tsr_ref_reduce(&want, type, op, &e, count);
    tsr_value_store(type, &want_bits, 0, want);
    bool sums = tsr_type_is_float(type) && (op == TSR_REDUCE_PLUS || op == TSR_REDUCE_TIMES);
    long double real = tsr_value_load(type, &got.scalar, 0).real;
    bool right = !any || (sums ? close_enough(type, op, real, want.real, magnitude_of(type, &e, count), count)
                               : same_element(type, (char *)&want_bits, (char *)&got.scalar, 0));
    right = right && got.any == any && memcmp(&got, &again, sizeof got) == 0;
    if (!right)
        printf("FAIL reduce, seed %llu: op %d, %s, %lld elements: %llx (%Lg) for %llx (%Lg)\n", (unsigned long long)seed, (int)op,
               type_name(type), (long long)count, (unsigned long long)got.scalar, real, (unsigned long long)want_bits, want.real);
    return !right;
}

/* ---- chains ---- */

/* An operand of step k on the host and on the device: mostly what the step before has made. */
static void draw_link(rng *r, tsr_elements *host, tsr_elements *there, uint64_t *scalar, const tsr_fusion *c,
                      const tsr_ewise_arrays *want, int percent)
{
    const int k = c->n;
    const tsr_ewise *s = &c->step[k];
    if (k && rng_chance(r, percent)) {
        *host = (tsr_elements){want[k - 1].z, NULL};
        *there = (tsr_elements){c->arrays[k - 1].z, NULL};
        return;
    }
    *host = draw_operand(r, s->type, s->count, scalar);
    if (!s->accumulates && !s->unite)
        host->present = NULL;
    *there = to_device(host, s->type, s->count);
}

static void add_step(rng *r, tsr_fusion *c, tsr_ewise_arrays *want, tsr_type type, int64_t count)
{
    const int k = c->n;
    tsr_ewise *s = &c->step[k];
    tsr_ewise_arrays *a = &c->arrays[k], *w = &want[k];
    *s = (tsr_ewise){.op = (tsr_ewise_op)rng_below(r, TSR_EWISE_EQ), .type = type, .result = type, .count = count,
                    .accumulates = rng_chance(r, 50), .accum = (tsr_ewise_op)(TSR_EWISE_FIRST + rng_below(r, TSR_EWISE_EQ - TSR_EWISE_FIRST))};
    s->unite = !tsr_ewise_is_unary(s->op) && rng_chance(r, 30);
    draw_link(r, &w->x, &a->x, &s->x.scalar, c, want, 75);
    draw_link(r, &w->y, &a->y, &s->y.scalar, c, want, 30);
    uint64_t unused;
    if (s->accumulates)
        draw_link(r, &w->c, &a->c, &unused, c, want, 30);
    s->accumulates = w->c.x;
    w->c.present = a->c.present = NULL;
    if (!tsr_fusion_takes(s, w))
        w->x.present = w->y.present = a->x.present = a->y.present = NULL;
    const size_t bytes = (size_t)count * type_size(type);
    w->z = take(bytes);
    a->z = upload(w->z, bytes + SPARE);
    c->wanted[k] = rng_chance(r, 60);
    c->n++;
    tsr_ref_ewise(s, w);
}

/* What is looked at is right, and nothing else was written. */
static int64_t find_wrong_link(const tsr_fusion *c, const tsr_ewise_arrays *want, int k)
{
    const tsr_ewise *s = &c->step[k];
    const size_t bytes = (size_t)s->count * type_size(s->type);
    char *z = take(bytes);
    download(z, c->arrays[k].z, bytes + SPARE);
    if (!spare_untouched(z, bytes) || (!c->wanted[k] && !spare_untouched(z, 0)))
        return s->count;
    return c->wanted[k] ? find_difference(s, &want[k], z, NULL) : -1;
}

static bool same_reduction(const tsr_fusion *c, tsr_reduce_op op, const tsr_ewise_arrays *last)
{
    const tsr_ewise *s = &c->step[0];
    tsr_cuda_reduced got, *result;
    void *scratch;
    must(tsr_cuda_malloc((void **)&result, sizeof got, NULL));
    must(tsr_cuda_malloc(&scratch, tsr_cuda_reduce_bytes(s->count, &device), NULL));
    must(tsr_cuda_fusion_reduce(result, scratch, op, c, &device, NULL));
    download(&got, result, sizeof got);
    tsr_cuda_free(result, NULL);
    tsr_cuda_free(scratch, NULL);
    const tsr_elements z = {upload(last->z, (size_t)s->count * type_size(s->type)), NULL};
    const tsr_cuda_reduced want = reduce(s->type, op, &z, s->count);
    return got.any == want.any && same_element(s->type, (const char *)&got.scalar, (const char *)&want.scalar, 0);
}

static int check_chain(uint64_t seed)
{
    rng r = {seed};
    tsr_fusion c = {0};
    tsr_ewise_arrays want[TSR_FUSION_MOST] = {0};
    const int n = 1 + (int)rng_below(&r, TSR_FUSION_MOST);
    const int64_t some = draw_count(&r), count = some ? some : 1;
    const tsr_type type = seed % 2 ? TSR_FP32 : TSR_FP64;
    const int op = rng_chance(&r, 50) ? (int)rng_below(&r, TSR_REDUCE_MAX + 1) : -1;
    while (c.n < n)
        add_step(&r, &c, want, type, count);
    bool right = op < 0 || same_reduction(&c, (tsr_reduce_op)op, &want[n - 1]);
    if (op < 0)
        must(tsr_cuda_fusion(&c, &device, NULL));
    for (int k = 0; k < n && right; k++)
        right = find_wrong_link(&c, want, k) < 0;
    if (!right)
        printf("FAIL chain, seed %llu: %d steps over %lld elements, %s, reduction %d\n", (unsigned long long)seed, n, (long long)count,
               type_name(type), op);
    return !right;
}

/* ---- presence ---- */

static int check_count(uint64_t seed)
{
    rng r = {seed};
    int64_t count = draw_count(&r), want = 0, got, *total = upload(&want, sizeof want);
    int8_t *present = draw_presence(&r, count, 0);
    for (int64_t k = 0; k < count; k++)
        want += present[k];
    must(tsr_cuda_count_ones(total, upload(present, (size_t)count), count, &device, NULL));
    download(&got, total, sizeof got);
    if (got != want)
        printf("FAIL count, seed %llu: %lld for %lld\n", (unsigned long long)seed, (long long)got, (long long)want);
    return got != want;
}

static int check_rows(uint64_t seed)
{
    rng r = {seed};
    int64_t rows = rng_below(&r, 300), columns = rng_chance(&r, 20) ? 1 : rng_below(&r, 70);
    bool by_col = rng_chance(&r, 50), right = true;
    int64_t *offsets = take((size_t)(rows + 1) * sizeof *offsets);
    int8_t *got = take((size_t)(rows * columns));
    offsets[0] = 0;
    for (int64_t row = 0; row < rows; row++)
        offsets[row + 1] = offsets[row] + (rng_chance(&r, 50) ? 0 : rng_below(&r, 3));
    int8_t *there = upload(got, (size_t)(rows * columns) + SPARE);
    must(tsr_cuda_mark_rows(there, upload(offsets, (size_t)(rows + 1) * sizeof *offsets), rows, columns, by_col, &device, NULL));
    download(got, there, (size_t)(rows * columns) + SPARE);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            right = right && got[by_col ? column * rows + row : row * columns + column] == (offsets[row + 1] > offsets[row]);
    right = right && spare_untouched(got, (size_t)(rows * columns));
    if (!right)
        printf("FAIL rows, seed %llu: %lld x %lld\n", (unsigned long long)seed, (long long)rows, (long long)columns);
    return !right;
}

/* ---- sparse to bitmap ---- */

static int check_spread(uint64_t seed)
{
    static const int sizes[] = {1, 2, 4, 8};
    rng r = {seed};
    int64_t rows = 1 + rng_below(&r, 90), columns = 1 + rng_below(&r, 300), count = rows * columns, nvals = 0;
    size_t size = (size_t)sizes[rng_below(&r, 4)];
    int percent = (int)rng_below(&r, 101);
    uint64_t iso = rng_next(&r);
    bool is_iso = rng_chance(&r, 30);
    int64_t *p = take((size_t)(rows + 1) * sizeof *p);
    uint32_t *i = take((size_t)count * sizeof *i);
    char *x = take((size_t)count * size), *want = take((size_t)count * size), *got = take((size_t)count * size);
    int8_t *want_present = take((size_t)count), *present = take((size_t)count);
    memset(want, 0, (size_t)count * size);
    memset(got, 0, (size_t)count * size);
    memset(want_present, 0, (size_t)count);
    memset(present, 0, (size_t)count);
    for (int64_t row = p[0] = 0; row < rows; p[++row] = nvals)
        for (int64_t column = 0; column < columns; column++)
            if (row % 3 != 1 && rng_chance(&r, percent)) {
                int64_t at = row * columns + column;
                uint64_t bits = is_iso ? iso : rng_next(&r);
                memcpy(x + (size_t)nvals * size, &bits, size);
                memcpy(want + (size_t)at * size, &bits, size);
                want_present[at] = 1;
                i[nvals++] = (uint32_t)column;
            }
    tsr_cuda_csr csr = {.nrows = rows, .ncols = columns, .nvals = nvals, .p = upload(p, (size_t)(rows + 1) * sizeof *p),
                        .i = upload(i, (size_t)nvals * sizeof *i), .x = is_iso ? NULL : upload(x, (size_t)nvals * size)};
    void *x_there = upload(got, (size_t)count * size + SPARE), *present_there = upload(present, (size_t)count + SPARE);
    must(tsr_cuda_spread(x_there, present_there, &csr, (int)size, iso, &device, NULL));
    download(got, x_there, (size_t)count * size + SPARE);
    download(present, present_there, (size_t)count + SPARE);
    bool right = memcmp(got, want, (size_t)count * size) == 0 && memcmp(present, want_present, (size_t)count) == 0 &&
                 spare_untouched(got, (size_t)count * size) && spare_untouched(present, (size_t)count);
    if (!right)
        printf("FAIL spread, seed %llu: %lld x %lld, %lld entries\n", (unsigned long long)seed, (long long)rows, (long long)columns,
               (long long)nvals);
    return !right;
}

/* ---- values made of one value ---- */

/* Arrays of a result: ours, the reference's, and where the device writes. */
typedef struct derived {
    tsr_type type;
    int64_t count;
    char *got, *want;
    int8_t *got_present, *want_present;
    void *there;
    int8_t *there_present; /* NULL: all are present */
} derived;

static derived take_derived(tsr_type type, int64_t count, bool full)
{
    size_t bytes = (size_t)count * type_size(type);
    derived d = {.type = type, .count = count, .got = take(bytes), .want = take(bytes), .got_present = take((size_t)count),
                 .want_present = take((size_t)count)};
    d.there = upload(d.got, bytes + SPARE);
    d.there_present = full ? NULL : upload(d.got_present, (size_t)count + SPARE);
    return d;
}

/* The first place that is wrong; -1: none; count: something was written behind the end. */
static int64_t find_wrong(const derived *d)
{
    size_t bytes = (size_t)d->count * type_size(d->type);
    download(d->got, d->there, bytes + SPARE);
    if (d->there_present)
        download(d->got_present, d->there_present, (size_t)d->count + SPARE);
    else
        memset(d->got_present, 1, (size_t)d->count);
    for (int64_t k = 0; k < d->count; k++)
        if (d->got_present[k] != d->want_present[k] || (d->want_present[k] && !same_element(d->type, d->want, d->got, k)))
            return k;
    return spare_untouched(d->got, bytes) && spare_untouched(d->got_present, (size_t)d->count) ? -1 : d->count;
}

static int64_t draw_side(rng *r)
{
    static const int64_t sides[] = {1, 1, 2, 3, 16, 31, 32, 33, 64, 65, 100, 130};
    return rng_chance(r, 3) ? 0 : sides[rng_below(r, 12)];
}

/* Shapes of all proportions; vectors so long that they are cut. */
static void draw_shape(rng *r, int64_t *vectors, int64_t *length)
{
    *vectors = draw_side(r);
    *length = rng_chance(r, 10) ? 1000 + rng_below(r, 4000) : draw_side(r);
    if (*vectors > 10 && *length > 200)
        *vectors = 1 + *vectors % 10;
}

static tsr_elements draw_elements(rng *r, tsr_type type, int64_t count)
{
    return (tsr_elements){draw_array(r, type, count), draw_presence(r, count, 40)};
}

static bool right_sum(const tsr_sums *s, const tsr_elements *e, const derived *d, int64_t vector)
{
    long double magnitude = 0;
    for (int64_t k = 0; k < s->length; k++) {
        int64_t at = s->across ? k * s->vectors + vector : vector * s->length + k;
        magnitude += !e->present || e->present[at] ? fabsl(tsr_value_load(s->type, e->x, at).real) : 0;
    }
    return close_enough(s->type, s->op, tsr_value_load(s->type, d->got, vector).real, tsr_value_load(s->type, d->want, vector).real,
                        magnitude, s->length);
}

/* ANY: one of the entries. */
static bool is_entry(const tsr_sums *s, const tsr_elements *e, const derived *d, int64_t vector)
{
    size_t size = type_size(s->type);
    for (int64_t k = 0; k < s->length; k++) {
        int64_t at = s->across ? k * s->vectors + vector : vector * s->length + k;
        if ((!e->present || e->present[at]) && memcmp((const char *)e->x + (size_t)at * size, d->got + (size_t)vector * size, size) == 0)
            return true;
    }
    return false;
}

static bool right_sums(const tsr_sums *s, const tsr_elements *e, const derived *d)
{
    bool sums = tsr_type_is_float(s->type) && (s->op == TSR_REDUCE_PLUS || s->op == TSR_REDUCE_TIMES);
    if (!sums && s->op != TSR_REDUCE_ANY)
        return find_wrong(d) < 0;
    if (find_wrong(d) == d->count || memcmp(d->got_present, d->want_present, (size_t)d->count) != 0)
        return false;
    for (int64_t vector = 0; vector < s->vectors; vector++)
        if (d->want_present[vector] && !(sums ? right_sum(s, e, d, vector) : is_entry(s, e, d, vector)))
            return false;
    return true;
}

static int check_sums(uint64_t seed)
{
    rng r = {seed};
    tsr_sums s = {.op = (tsr_reduce_op)(seed % TSR_REDUCE_COUNT), .type = (tsr_type)(seed / TSR_REDUCE_COUNT % TSR_TYPE_COUNT),
                  .across = rng_chance(&r, 50)};
    if (s.op == TSR_REDUCE_EQ)
        s.type = TSR_BOOL;
    draw_shape(&r, &s.vectors, &s.length);
    int64_t count = s.vectors * s.length;
    tsr_elements e = {draw_summands(&r, s.type, s.op, count), draw_presence(&r, count, 40)};
    tsr_elements there = to_device(&e, s.type, count);
    derived d = take_derived(s.type, s.vectors, !e.present && s.length);
    size_t bytes = tsr_cuda_sums_bytes(&s, &device);
    void *scratch = NULL;
    if (bytes)
        must(tsr_cuda_malloc(&scratch, bytes, NULL));
    must(tsr_cuda_sums(&s, &there, d.there, d.there_present, scratch, &device, NULL));
    tsr_ref_sums(&s, &e, d.want, d.want_present);
    bool right = right_sums(&s, &e, &d);
    if (!right)
        printf("FAIL sums, seed %llu: op %d, %s, %lld x %lld, across %d, cut %d\n", (unsigned long long)seed, (int)s.op,
               type_name(s.type), (long long)s.vectors, (long long)s.length, s.across, bytes > 0);
    tsr_cuda_free(scratch, NULL);
    return !right;
}

static int check_cast(uint64_t seed)
{
    rng r = {seed};
    tsr_type from = (tsr_type)(seed % TSR_TYPE_COUNT), to = (tsr_type)(seed / TSR_TYPE_COUNT % TSR_TYPE_COUNT);
    int64_t count = draw_count(&r);
    tsr_elements e = draw_elements(&r, from, count), there = to_device(&e, from, count);
    derived d = take_derived(to, count, !e.present);
    must(tsr_cuda_cast(d.there, d.there_present, to, &there, from, count, &device, NULL));
    tsr_ref_cast_all(d.want, d.want_present, to, &e, from, count);
    int64_t at = find_wrong(&d);
    if (at >= 0)
        printf("FAIL cast, seed %llu: %s to %s, %lld of %lld\n", (unsigned long long)seed, type_name(from), type_name(to), (long long)at,
               (long long)count);
    return at >= 0;
}

static int check_turn(uint64_t seed)
{
    rng r = {seed};
    tsr_type type = (tsr_type)(seed % TSR_TYPE_COUNT);
    int64_t vectors, length;
    draw_shape(&r, &vectors, &length);
    tsr_elements e = draw_elements(&r, type, vectors * length), there = to_device(&e, type, vectors * length);
    derived d = take_derived(type, vectors * length, !e.present);
    must(tsr_cuda_turn(d.there, d.there_present, &there, (int)type_size(type), vectors, length, &device, NULL));
    tsr_ref_turn(d.want, d.want_present, &e, type_size(type), vectors, length);
    int64_t at = find_wrong(&d);
    if (at >= 0)
        printf("FAIL turn, seed %llu: %s, %lld x %lld, at %lld\n", (unsigned long long)seed, type_name(type), (long long)vectors,
               (long long)length, (long long)at);
    return at >= 0;
}

static int check_places(uint64_t seed)
{
    rng r = {seed};
    tsr_type type = (tsr_type)(seed % TSR_TYPE_COUNT);
    tsr_places p = {.by_vector = (int)rng_below(&r, 3) - 1, .by_place = (int)rng_below(&r, 3) - 1, .offset = rng_below(&r, 60) - 30,
                    .select = rng_chance(&r, 60), .keep = (tsr_ewise_op)(TSR_EWISE_EQ + rng_below(&r, 6))};
    if (rng_chance(&r, 5))
        p.offset = INT64_MAX;
    draw_shape(&r, &p.vectors, &p.length);
    int64_t count = p.vectors * p.length;
    tsr_elements e = draw_elements(&r, type, count), there = to_device(&e, type, count);
    derived d = take_derived(p.select ? type : TSR_INT64, count, !e.present && !p.select);
    must(tsr_cuda_places(&p, &there, (int)type_size(type), d.there, d.there_present, &device, NULL));
    tsr_ref_places(&p, &e, type_size(type), d.want, d.want_present);
    int64_t at = find_wrong(&d);
    if (at >= 0)
        printf("FAIL places, seed %llu: %s, %lld x %lld, at %lld: %d v + %d k + %lld, select %d by %d\n", (unsigned long long)seed,
               type_name(type), (long long)p.vectors, (long long)p.length, (long long)at, p.by_vector, p.by_place, (long long)p.offset,
               p.select, (int)p.keep);
    return at >= 0;
}

static int check_gather(uint64_t seed)
{
    rng r = {seed};
    tsr_type type = (tsr_type)(seed % TSR_TYPE_COUNT);
    const int64_t places = 1 + draw_count(&r);
    tsr_indices from = {.first = rng_below(&r, places), .step = 0, .count = draw_count(&r)};
    const bool listed = rng_chance(&r, 70);
    if (!listed && from.first)
        from = (tsr_indices){.first = from.first, .step = -1, .count = from.first + 1};
    uint64_t *list = take((size_t)from.count * sizeof *list + 1);
    uint32_t *narrow = take((size_t)from.count * sizeof *narrow + 1);
    for (int64_t k = 0; k < from.count; k++) {
        narrow[k] = (uint32_t)rng_below(&r, places);
        list[k] = listed ? narrow[k] : 0;
    }
    from.list = listed ? list : NULL;
    tsr_elements e = draw_elements(&r, type, places), there = to_device(&e, type, places);
    derived d = take_derived(type, from.count, !e.present);
    void *sent = listed ? upload(narrow, (size_t)from.count * sizeof *narrow) : NULL;
    must(tsr_cuda_gather_elements(&from, sent, &there, (int)type_size(type), d.there, d.there_present, &device, NULL));
    tsr_ref_gather(&from, &e, type_size(type), d.want, d.want_present);
    int64_t at = find_wrong(&d);
    if (at >= 0)
        printf("FAIL gather, seed %llu: %s, %lld of %lld places, at %lld, listed %d\n", (unsigned long long)seed, type_name(type),
               (long long)from.count, (long long)places, (long long)at, listed);
    return at >= 0;
}

/* No place twice. */
static int check_scatter(uint64_t seed)
{
    rng r = {seed};
    tsr_type type = (tsr_type)(seed % TSR_TYPE_COUNT);
    const int64_t given = draw_count(&r), step = 1 + rng_below(&r, 3), count = given * step + 1;
    const tsr_indices to = {.first = given * step, .step = -step, .count = given};
    uint32_t *narrow = take((size_t)given * sizeof *narrow + 1);
    for (int64_t k = 0; k < given; k++)
        narrow[k] = (uint32_t)tsr_index_at(&to, k);
    tsr_elements e = draw_elements(&r, type, given), there = to_device(&e, type, given);
    derived d = take_derived(type, count, false);
    const void *list = rng_chance(&r, 70) ? upload(narrow, (size_t)given * sizeof *narrow) : NULL;
    must(tsr_cuda_set(d.there, 0, (size_t)count * type_size(type), NULL));
    must(tsr_cuda_set(d.there_present, 0, (size_t)count, NULL));
    must(tsr_cuda_scatter_elements(&to, list, &there, (int)type_size(type), d.there, d.there_present, &device, NULL));
    tsr_ref_scatter(&to, &e, type_size(type), d.want, d.want_present, count);
    int64_t at = find_wrong(&d);
    if (at >= 0)
        printf("FAIL scatter, seed %llu: %s, %lld to %lld places, at %lld, listed %d\n", (unsigned long long)seed, type_name(type),
               (long long)given, (long long)count, (long long)at, list != NULL);
    return at >= 0;
}

static int run(uint64_t seed)
{
    int (*const checks[])(uint64_t) = {check_step, check_reduce, check_count, check_rows, check_spread, check_sums, check_cast, check_turn,
                                       check_places, check_gather, check_scatter, check_chain};
    int failures = 0;
    for (int k = 0; k < 12; k++) {
        failures += checks[k](seed);
        free_everything();
    }
    return failures != 0;
}

int main(int argc, char **argv)
{
    if (tsr_cuda_count() > 0)
        must(tsr_cuda_open(0, &device));
    return run_seeds(argc, argv, "elementwise", 2200, run);
}
