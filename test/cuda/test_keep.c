/* Entries of sparse matrices that stay, and rows that are taken, against the reference: by place, by value of every type, by flags; without values, of
 * empty and of long rows.
 *     test_keep [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/selection/keep_entries.h"
#include "kernels/ref/compressed.h"
#include "test/cuda/semirings.h"
#include "test/numbered_cases.h"

static const tsr_ewise_op comparisons[] = {TSR_EWISE_EQ, TSR_EWISE_NE, TSR_EWISE_GT, TSR_EWISE_LT, TSR_EWISE_GE, TSR_EWISE_LE};

/* A matrix by row on the host. */
typedef struct matrix {
    int64_t nrows, ncols, nvals;
    tsr_type type;
    size_t size; /* of a value; 0: it has none */
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

/* Rows are empty, short or full. */
static matrix draw_matrix(rng *r)
{
    static const int percents[] = {0, 0, 1, 5, 30, 100};
    matrix m = {.nrows = rng_below(r, 300), .ncols = 1 + rng_below(r, rng_chance(r, 20) ? 3000 : 60), .type = (tsr_type)rng_below(r, TSR_TYPE_COUNT)};
    m.size = rng_chance(r, 20) ? 0 : type_size(m.type);
    m.p = checked(calloc((size_t)m.nrows + 1, sizeof *m.p));
    m.i = checked(malloc((size_t)(m.nrows * m.ncols + 1) * sizeof *m.i));
    for (int64_t row = 0; row < m.nrows; row++) {
        const int percent = percents[rng_below(r, 6)];
        for (int64_t column = 0; column < m.ncols; column++)
            if (rng_chance(r, percent))
                m.i[m.nvals++] = (uint32_t)column;
        m.p[row + 1] = m.nvals;
    }
    m.x = checked(malloc((size_t)m.nvals * 8 + 1));
    for (int64_t k = 0; k < m.nvals; k++)
        draw_odd_element(r, m.type, m.x, k);
    return m;
}

static tsr_cuda_csr to_device(const matrix *m)
{
    return (tsr_cuda_csr){.nrows = m->nrows, .ncols = m->ncols, .nvals = m->nvals, .p = upload(m->p, (size_t)(m->nrows + 1) * sizeof *m->p),
                          .i = upload(m->i, (size_t)m->nvals * sizeof *m->i), .x = m->size ? upload(m->x, (size_t)m->nvals * m->size) : NULL};
}

static bool is_same(const tsr_cuda_csr *got, const matrix *want)
{
    if (got->nrows != want->nrows || got->ncols != want->ncols || got->nvals != want->nvals)
        return false;
    int64_t *p = checked(malloc((size_t)(got->nrows + 1) * sizeof *p));
    uint32_t *i = checked(malloc((size_t)got->nvals * sizeof *i + 1));
    char *x = checked(malloc((size_t)got->nvals * 8 + 1));
    download(p, got->p, (size_t)(got->nrows + 1) * sizeof *p);
    download(i, got->i, (size_t)got->nvals * sizeof *i);
    if (want->size)
        download(x, got->x, (size_t)got->nvals * want->size);
    const bool same = memcmp(p, want->p, (size_t)(got->nrows + 1) * sizeof *p) == 0 && memcmp(i, want->i, (size_t)got->nvals * sizeof *i) == 0 &&
                      (want->size ? memcmp(x, want->x, (size_t)got->nvals * want->size) == 0 : !got->x);
    free(p);
    free(i);
    free(x);
    return same;
}

/* ---- entries ---- */

static tsr_cuda_keep draw_rule(rng *r, const matrix *m)
{
    tsr_cuda_keep keep = {.type = m->type, .rule = {.keep = comparisons[rng_below(r, 6)], .by_vector = (int)rng_below(r, 3) - 1,
                                                    .by_index = (int)rng_below(r, 3) - 1, .offset = rng_below(r, 100) - 50}};
    keep.rule.placed = !m->size || m->type == TSR_BOOL || rng_chance(r, 50);
    if (m->nvals && rng_chance(r, 50))
        memcpy(&keep.rule.thunk, m->x + (size_t)rng_below(r, m->nvals) * type_size(m->type), type_size(m->type));
    else
        draw_odd_element(r, m->type, &keep.rule.thunk, 0);
    return keep;
}

static tsr_ref_rows rows_of(const matrix *m)
{
    return (tsr_ref_rows){.nrows = m->nrows, .p = m->p, .i = m->i, .x = m->x, .size = m->size};
}

/* Room for so many rows and entries. */
static matrix new_result(const matrix *m, int64_t nrows, int64_t most)
{
    return (matrix){.nrows = nrows, .ncols = m->ncols, .type = m->type, .size = m->size, .p = checked(malloc((size_t)(nrows + 1) * sizeof(int64_t))),
                    .i = checked(malloc((size_t)most * sizeof(uint32_t) + 1)), .x = checked(malloc((size_t)most * 8 + 1))};
}

static matrix keep_loop(const tsr_cuda_keep *keep, const matrix *m, const int8_t *flags)
{
    matrix out = new_result(m, m->nrows, m->nvals);
    tsr_ref_rows a = rows_of(m), kept = rows_of(&out);
    tsr_ref_keep_entries(&kept, &a, &keep->rule, m->type, flags);
    out.nvals = out.p[out.nrows];
    return out;
}

static bool keeps_right(rng *r, const matrix *m, const tsr_cuda_csr *a)
{
    int8_t *flags = rng_chance(r, 30) ? checked(malloc((size_t)m->nvals + 1)) : NULL;
    tsr_cuda_keep keep = draw_rule(r, m);
    const int percent = (int)rng_below(r, 3) * 50;
    for (int64_t k = 0; flags && k < m->nvals; k++)
        flags[k] = rng_chance(r, percent);
    keep.flags = flags ? upload(flags, (size_t)m->nvals + 1) : NULL;
    tsr_cuda_csr got;
    matrix want = keep_loop(&keep, m, flags);
    must(tsr_cuda_keep_entries(&got, a, &keep, (int)m->size, NULL), "keep");
    const bool right = is_same(&got, &want);
    free_csr(&got);
    tsr_cuda_free((void *)(uintptr_t)keep.flags, NULL);
    free_matrix(&want);
    free(flags);
    return right;
}

/* ---- rows ---- */

static matrix take_loop(const matrix *m, const uint32_t *rows, int64_t count)
{
    int64_t most = 0;
    for (int64_t r = 0; r < count; r++)
        most += m->p[rows[r] + 1] - m->p[rows[r]];
    matrix out = new_result(m, count, most);
    tsr_ref_rows a = rows_of(m), taken = rows_of(&out);
    tsr_ref_take_rows(&taken, &a, rows);
    out.nvals = most;
    return out;
}

/* A list of any rows, or numbered ones. */
static bool takes_right(rng *r, const matrix *m, const tsr_cuda_csr *a)
{
    const int64_t count = m->nrows ? rng_below(r, 2 * m->nrows) : 0, first = m->nrows / 2;
    const bool numbered = rng_chance(r, 30);
    uint32_t *rows = checked(malloc((size_t)count * sizeof *rows + 1)), *list = device_new((size_t)count * sizeof *rows + 1);
    const int64_t taken = numbered && count > first + 1 ? first + (m->nrows > 0) : count;
    for (int64_t k = 0; k < taken; k++)
        rows[k] = (uint32_t)(numbered ? first - k : rng_below(r, m->nrows));
    if (numbered)
        must(tsr_cuda_number_list(list, first, -1, taken, NULL), "number");
    else
        must(tsr_cuda_to_device(list, rows, (size_t)taken * sizeof *rows, NULL), "list");
    tsr_cuda_csr got;
    matrix want = take_loop(m, rows, taken);
    must(tsr_cuda_take_rows_of(&got, a, list, taken, (int)m->size, NULL), "take");
    const bool right = is_same(&got, &want);
    free_csr(&got);
    tsr_cuda_free(list, NULL);
    free_matrix(&want);
    free(rows);
    return right;
}

static bool check(uint64_t seed, int64_t number)
{
    rng r = {seed + (uint64_t)number * 977};
    matrix m = draw_matrix(&r);
    tsr_cuda_csr a = to_device(&m);
    const bool right = keeps_right(&r, &m, &a) && keeps_right(&r, &m, &a) && takes_right(&r, &m, &a);
    free_csr(&a);
    free_matrix(&m);
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
