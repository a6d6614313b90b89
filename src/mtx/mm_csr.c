/* Entries of a Matrix Market file as compressed rows, equal places added up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/mtx/mm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- compressed rows ---- */

static bool is_too_wide(int64_t size, int64_t nvals)
{
    return size > INT64_C(1) << 26 && size / 64 > nvals;
}

/* order[] = the entries sorted by key, equal keys as in `before` (NULL: as they come); start[size + 1] is filled. */
static void sort_entries(int64_t *order, int64_t *start, int64_t size, const int64_t *key, const int64_t *before,
                         int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        start[key[k] + 1]++;
    }
    for (int64_t k = 0; k < size; k++) {
        start[k + 1] += start[k];
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t entry = before ? before[k] : k;
        order[start[key[entry]]++] = entry;
    }
    memmove(start + 1, start, (size_t)size * sizeof *start);
    start[0] = 0;
}

/* Gather entries in order, equal places added up. */
static void gather(tsr_mm_csr *out, const tsr_mm *m, const int64_t *order)
{
    int64_t n = 0, first = 0;
    for (int64_t row = 0; row < m->nrows; row++) {
        int64_t begin = n, last = out->p[row + 1];
        for (int64_t k = first; k < last; k++) {
            int64_t entry = order[k];
            bool again = n > begin && out->i[n - 1] == m->col[entry];
            n += !again;
            out->i[n - 1] = m->col[entry];
            if (m->value) {
                out->value[n - 1] = (again ? out->value[n - 1] : 0) + m->value[entry];
            }
        }
        first = last;
        out->p[row + 1] = n;
    }
    out->nvals = n;
}

static bool build_csr(tsr_mm_csr *out, const tsr_mm *m)
{
    size_t n = (size_t)m->nvals + 1;
    int64_t *by_col = malloc(n * sizeof *by_col), *by_row = malloc(n * sizeof *by_row);
    int64_t *start = calloc((size_t)m->ncols + 1, sizeof *start);
    out->p = calloc((size_t)m->nrows + 1, sizeof *out->p);
    out->i = malloc(n * sizeof *out->i);
    out->value = m->value ? malloc(n * sizeof *out->value) : NULL;
    bool good = by_col && by_row && start && out->p && out->i && (out->value || !m->value);
    if (good) {
        sort_entries(by_col, start, m->ncols, m->col, NULL, m->nvals);
        sort_entries(by_row, out->p, m->nrows, m->row, by_col, m->nvals);
        gather(out, m, by_row);
    }
    free(by_col);
    free(by_row);
    free(start);
    return good;
}

static bool refuse_size(const tsr_mm *m, char *error, size_t error_size)
{
    snprintf(error, error_size, "%lld x %lld is too large for %lld entries", (long long)m->nrows, (long long)m->ncols, (long long)m->nvals);
    return false;
}

static bool finish_csr(tsr_mm_csr *out, const tsr_mm *m, bool (*build)(tsr_mm_csr *, const tsr_mm *), char *error, size_t error_size)
{
    out->nrows = m->nrows;
    out->ncols = m->ncols;
    if (!build(out, m)) {
        tsr_mm_csr_free(out);
        snprintf(error, error_size, "out of memory for %lld entries", (long long)m->nvals);
        return false;
    }
    return true;
}

bool tsr_mm_to_csr(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size)
{
    memset(out, 0, sizeof *out);
    if (is_too_wide(m->nrows, m->nvals) || is_too_wide(m->ncols, m->nvals)) {
        return refuse_size(m, error, error_size);
    }
    return finish_csr(out, m, build_csr, error, error_size);
}

/* ---- stored rows only ---- */

typedef struct place {
    int64_t row, col, entry;
} place;

static int by_place(const void *left, const void *right)
{
    const place *a = left, *b = right;
    const int64_t x[] = {a->row, a->col, a->entry}, y[] = {b->row, b->col, b->entry};
    for (int k = 0; k < 3; k++) {
        if (x[k] != y[k]) {
            return x[k] < y[k] ? -1 : 1;
        }
    }
    return 0;
}

/* Entries in order, equal places added up. */
static void gather_rows(tsr_mm_csr *out, const tsr_mm *m, const place *at)
{
    for (int64_t k = 0; k < m->nvals; k++) {
        const bool same_row = k > 0 && at[k].row == at[k - 1].row, again = same_row && at[k].col == at[k - 1].col;
        if (!same_row) {
            out->p[out->nstored] = out->nvals;
            out->row[out->nstored++] = at[k].row;
        }
        out->nvals += !again;
        out->i[out->nvals - 1] = at[k].col;
        if (m->value) {
            out->value[out->nvals - 1] = (again ? out->value[out->nvals - 1] : 0) + m->value[at[k].entry];
        }
    }
    out->p[out->nstored] = out->nvals;
}

static bool build_rows(tsr_mm_csr *out, const tsr_mm *m)
{
    const size_t n = (size_t)m->nvals + 1;
    place *at = malloc(n * sizeof *at);
    out->p = malloc(n * sizeof *out->p);
    out->row = malloc(n * sizeof *out->row);
    out->i = malloc(n * sizeof *out->i);
    out->value = m->value ? malloc(n * sizeof *out->value) : NULL;
    const bool good = at && out->p && out->row && out->i && (out->value || !m->value);
    for (int64_t k = 0; good && k < m->nvals; k++) {
        at[k] = (place){m->row[k], m->col[k], k};
    }
    if (good) {
        qsort(at, (size_t)m->nvals, sizeof *at, by_place);
        gather_rows(out, m, at);
    }
    free(at);
    return good;
}

bool tsr_mm_to_stored_rows(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size)
{
    const int64_t most = INT64_C(1) << 32;
    memset(out, 0, sizeof *out);
    return m->nrows < most && m->ncols < most ? finish_csr(out, m, build_rows, error, error_size) : refuse_size(m, error, error_size);
}

static bool is_mostly_empty(int64_t size, int64_t nvals)
{
    return size > INT64_C(1) << 20 && size / 8 > nvals;
}

bool tsr_mm_to_rows(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size)
{
    const bool stored = is_mostly_empty(m->nrows, m->nvals) || is_mostly_empty(m->ncols, m->nvals);
    return (stored ? tsr_mm_to_stored_rows : tsr_mm_to_csr)(out, m, error, error_size);
}

void tsr_mm_csr_free(tsr_mm_csr *csr)
{
    free(csr->p);
    free(csr->row);
    free(csr->i);
    free(csr->value);
    memset(csr, 0, sizeof *csr);
}
