/* Unions and intersections of sparse matrices against the reference: values of every size, empty, short and full rows, rows that a few columns share,
 * hubs; one of them empty, both the same.
 *     test_join [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/selection/join_entries.h"
#include "kernels/ref/compressed.h"
#include "test/cuda/semirings.h"
#include "test/numbered_cases.h"

/* A matrix by row on the host. */
typedef struct matrix {
    int64_t nrows, ncols, nvals;
    int64_t *p;
    uint32_t *i;
    char *x;
} matrix;

static void free_matrix(matrix *m)
{
    free(m->p);
    free(m->i);
    free(m->x);
}

/* Rows are empty, short or full; one in 40 of a wide matrix is a hub. */
static matrix draw_matrix(rng *r, int64_t nrows, int64_t ncols, size_t size)
{
    static const int percents[] = {0, 0, 1, 5, 30, 100};
    const bool hubs = ncols > 1000, empty = rng_chance(r, 5);
    matrix m = {.nrows = nrows, .ncols = ncols, .p = checked(calloc((size_t)nrows + 1, sizeof *m.p)),
                .i = checked(malloc((size_t)(nrows * ncols + 1) * sizeof *m.i))};
    for (int64_t row = 0; row < nrows; row++) {
        const int percent = empty ? 0 : hubs ? (rng_chance(r, 3) ? 60 + 40 * rng_chance(r, 50) : rng_below(r, 2)) : percents[rng_below(r, 6)];
        for (int64_t column = 0; percent && column < ncols; column++)
            if (rng_chance(r, percent))
                m.i[m.nvals++] = (uint32_t)column;
        m.p[row + 1] = m.nvals;
    }
    m.x = checked(malloc((size_t)m.nvals * size + 1));
    for (size_t k = 0; k < (size_t)m.nvals * size; k++)
        m.x[k] = (char)rng_below(r, 256);
    return m;
}

static tsr_cuda_csr to_device(const matrix *m, size_t size)
{
    return (tsr_cuda_csr){.nrows = m->nrows, .ncols = m->ncols, .nvals = m->nvals, .p = upload(m->p, (size_t)(m->nrows + 1) * sizeof *m->p),
                          .i = upload(m->i, (size_t)m->nvals * sizeof *m->i), .x = upload(m->x, (size_t)m->nvals * size)};
}

/* Of the entries that are present. */
static bool same_values(const char *got, const char *want, const int8_t *present, int64_t n, size_t size)
{
    for (int64_t k = 0; k < n; k++)
        if (present[k] && memcmp(got + (size_t)k * size, want + (size_t)k * size, size) != 0)
            return false;
    return true;
}

typedef struct joined {
    tsr_ref_rows rows;
    char *y;
    int8_t *present[2];
} joined;

static joined new_joined(int64_t nrows, int64_t most, size_t size)
{
    return (joined){.rows = {.nrows = nrows, .p = checked(malloc((size_t)(nrows + 1) * sizeof(int64_t))),
                             .i = checked(malloc((size_t)most * sizeof(uint32_t) + 1)), .x = checked(malloc((size_t)most * size + 1)), .size = size},
                    .y = checked(malloc((size_t)most * size + 1)),
                    .present = {checked(malloc((size_t)most + 1)), checked(malloc((size_t)most + 1))}};
}

static void free_joined(joined *j)
{
    free(j->rows.p);
    free(j->rows.i);
    free(j->rows.x);
    free(j->y);
    free(j->present[0]);
    free(j->present[1]);
}

static void fetch(joined *to, const tsr_cuda_joined *from, size_t size)
{
    const size_t n = (size_t)from->csr.nvals;
    download(to->rows.p, from->csr.p, (size_t)(from->csr.nrows + 1) * sizeof(int64_t));
    download(to->rows.i, from->csr.i, n * sizeof(uint32_t));
    download(to->rows.x, from->csr.x, n * size);
    download(to->y, from->y, n * size);
    memset(to->present[0], 1, n);
    memset(to->present[1], 1, n);
    if (from->x_present)
        download(to->present[0], from->x_present, n);
    if (from->y_present)
        download(to->present[1], from->y_present, n);
}

static bool is_same(const joined *got, const joined *want, int64_t n, size_t size)
{
    return memcmp(got->rows.p, want->rows.p, (size_t)(got->rows.nrows + 1) * sizeof(int64_t)) == 0 &&
           memcmp(got->rows.i, want->rows.i, (size_t)n * sizeof(uint32_t)) == 0 && memcmp(got->present[0], want->present[0], (size_t)n) == 0 &&
           memcmp(got->present[1], want->present[1], (size_t)n) == 0 && same_values(got->rows.x, want->rows.x, want->present[0], n, size) &&
           same_values(got->y, want->y, want->present[1], n, size);
}

static bool joins_right(const matrix *a, const matrix *b, bool unite, size_t size)
{
    const tsr_ref_rows of_a = {.nrows = a->nrows, .p = a->p, .i = a->i, .x = a->x, .size = size};
    const tsr_ref_rows of_b = {.nrows = b->nrows, .p = b->p, .i = b->i, .x = b->x, .size = size};
    joined want = new_joined(a->nrows, a->nvals + b->nvals, size), got = new_joined(a->nrows, a->nvals + b->nvals, size);
    tsr_cuda_csr on_device[] = {to_device(a, size), to_device(b, size)};
    tsr_cuda_joined made;
    tsr_ref_join_entries(&want.rows, want.y, want.present[0], want.present[1], &of_a, &of_b, unite);
    must(tsr_cuda_join_entries(&made, &on_device[0], &on_device[1], unite, (int)size, NULL), "join");
    const int64_t n = want.rows.p[a->nrows];
    const bool counted = made.csr.nvals == n && made.csr.nrows == a->nrows && made.csr.ncols == a->ncols;
    if (counted)
        fetch(&got, &made, size);
    const bool right = counted && is_same(&got, &want, n, size);
    tsr_cuda_join_free(&made, NULL);
    free_csr(&on_device[0]);
    free_csr(&on_device[1]);
    free_joined(&want);
    free_joined(&got);
    return right;
}

static bool check(uint64_t seed, int64_t number)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    rng r = {seed + (uint64_t)number * 977};
    const int64_t nrows = rng_below(&r, 300), ncols = 1 + rng_below(&r, rng_chance(&r, 20) ? 9000 : 60);
    const size_t size = sizes[rng_below(&r, 4)];
    matrix a = draw_matrix(&r, nrows, ncols, size), b = draw_matrix(&r, nrows, ncols, size);
    const bool right = joins_right(&a, &b, true, size) && joins_right(&a, &b, false, size) && joins_right(&a, &a, rng_chance(&r, 50), size);
    free_matrix(&a);
    free_matrix(&b);
    return right;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 100);
    if (tsr_cuda_count() == 0)
        return 77;
    must(tsr_cuda_open(0, &device), "open");
    return cases_are_right(&cases, check) ? 0 : 1;
}
