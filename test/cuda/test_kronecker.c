/* Kronecker products against the reference: every operator and type; empty, short and full rows, hubs; operands of one value, without values.
 *     test_kronecker [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/kronecker/kronecker.h"
#include "kernels/kronecker.h"
#include "kernels/ref/value.h"
#include "test/cuda/semirings.h"
#include "test/numbered_cases.h"

static void draw_values(rng *r, tsr_type type, void *x, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        if (type == TSR_BOOL)
            ((uint8_t *)x)[k] = (uint8_t)rng_below(r, 2);
        else
            draw_odd_element(r, type, x, k);
    }
}

/* Rows are empty, short or full; at least one entry. */
static tsr_view draw_matrix(rng *r, tsr_type type)
{
    static const int percents[] = {0, 0, 5, 30, 60, 100};
    tsr_view v = {.format = TSR_SPARSE, .type = type, .iso = rng_chance(r, 25), .index_size = 4, .nrows = 1 + rng_below(r, 40)};
    v.ncols = v.vlen = 1 + rng_below(r, rng_chance(r, 10) ? 900 : 40);
    v.nvec = v.nrows;
    int64_t *p = checked(calloc((size_t)v.nrows + 1, sizeof *p));
    uint32_t *i = checked(malloc((size_t)(v.nrows * v.ncols) * sizeof *i));
    for (int64_t row = 0; row < v.nrows; row++) {
        const int percent = row == v.nrows / 2 ? 100 : percents[rng_below(r, 6)];
        for (int64_t column = 0; column < v.ncols; column++)
            if (rng_chance(r, percent))
                i[v.nvals++] = (uint32_t)column;
        p[row + 1] = v.nvals;
    }
    void *x = checked(malloc((size_t)v.nvals * type_size(type)));
    draw_values(r, type, x, v.iso ? 1 : v.nvals);
    v.p = p;
    v.i = i;
    v.x = x;
    return v;
}

static void free_view(tsr_view *v)
{
    free((void *)(uintptr_t)v->p);
    free((void *)(uintptr_t)v->i);
    free((void *)(uintptr_t)v->x);
}

/* As a device has it: without values where they are one. */
static tsr_cuda_csr to_device(const tsr_view *v)
{
    return (tsr_cuda_csr){.nrows = v->nrows, .ncols = v->ncols, .nvals = v->nvals, .p = upload(v->p, (size_t)(v->nrows + 1) * sizeof *v->p),
                          .i = upload(v->i, (size_t)v->nvals * sizeof(uint32_t)),
                          .x = v->iso ? NULL : upload(v->x, (size_t)v->nvals * type_size(v->type))};
}

static bool same_values(tsr_type type, const void *x, const void *want, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (!tsr_value_same(tsr_value_load(type, x, k), tsr_value_load(type, want, k)))
            return false;
    return true;
}

static bool is_same(const tsr_cuda_csr *c, const tsr_kronecker *k, const tsr_kronecker_c *want, int64_t nrows, int64_t nvals)
{
    const size_t size = want->x ? type_size(k->result) : 0;
    int64_t *p = checked(malloc((size_t)(nrows + 1) * sizeof *p));
    uint32_t *i = checked(malloc((size_t)nvals * sizeof *i));
    char *x = checked(malloc((size_t)nvals * size + 1));
    bool same = c->nrows == nrows && c->ncols == k->a.ncols * k->b.ncols && c->nvals == nvals && !c->x == !size;
    if (same) {
        download(p, c->p, (size_t)(nrows + 1) * sizeof *p);
        download(i, c->i, (size_t)nvals * sizeof *i);
        if (size)
            download(x, c->x, (size_t)nvals * size);
        same = !memcmp(p, want->p, (size_t)(nrows + 1) * sizeof *p) && !memcmp(i, want->i, (size_t)nvals * sizeof *i) &&
               (!size || same_values(k->result, x, want->x, nvals));
    }
    free(p);
    free(i);
    free(x);
    return same;
}

static bool multiplies_right(const tsr_kronecker *k, bool pattern)
{
    const int64_t nrows = k->a.nrows * k->b.nrows, nvals = k->a.nvals * k->b.nvals;
    const tsr_kronecker_c want = {.p = checked(malloc((size_t)(nrows + 1) * sizeof(uint64_t))), .i = checked(malloc((size_t)nvals * sizeof(uint32_t))),
                                  .x = pattern ? NULL : checked(malloc((size_t)nvals * type_size(k->result)))};
    tsr_cuda_kronecker on_device = {.a = to_device(&k->a), .b = to_device(&k->b), .op = k->op, .type = k->type, .pattern = pattern,
                                    .x = first_value(&k->a, type_size(k->type)), .y = first_value(&k->b, type_size(k->type))};
    tsr_cuda_csr c;
    tsr_ref_kronecker(k, &want);
    must(tsr_cuda_kronecker_product(&c, &on_device, NULL), "kronecker");
    const bool right = is_same(&c, k, &want, nrows, nvals);
    free_csr(&c);
    free_csr(&on_device.a);
    free_csr(&on_device.b);
    free(want.p);
    free(want.i);
    free(want.x);
    return right;
}

static bool check(uint64_t seed, int64_t number)
{
    rng r = {seed + (uint64_t)number * 977};
    tsr_kronecker k = {.type = (tsr_type)rng_below(&r, TSR_TYPE_COUNT), .op = (tsr_ewise_op)(TSR_EWISE_FIRST + rng_below(&r, TSR_EWISE_COUNT - TSR_EWISE_FIRST)),
                       .narrow = true, .nthreads = 1};
    k.result = k.c_type = tsr_ewise_compares(k.op) ? TSR_BOOL : k.type;
    k.a = draw_matrix(&r, k.type);
    do {
        if (k.b.p)
            free_view(&k.b);
        k.b = draw_matrix(&r, k.type);
    } while (k.a.nvals * k.b.nvals > 60000 && k.b.nrows > 1);
    const bool right = k.a.nvals * k.b.nvals > 60000 || multiplies_right(&k, rng_chance(&r, 15));
    free_view(&k.a);
    free_view(&k.b);
    return right;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 150);
    if (tsr_cuda_count() == 0)
        return 77;
    must(tsr_cuda_open(0, &device), "open");
    return cases_are_right(&cases, check) ? 0 : 1;
}
