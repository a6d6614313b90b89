/* Products from a frontier against the oracle: every semiring of every type, on the random vectors of test/kernels; and long columns, few
 * entries of u, none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/spmv/spmv_push.h"
#include "kernels/ref/ref.h"
#include "test/cuda/lists.h"

#include <stdlib.h>
#include <string.h>

static int8_t *presence_of(const tsr_view *b)
{
    int8_t *present = checked(malloc((size_t)b->nrows + 1));
    for (int64_t k = 0; k < b->nrows; k++)
        present[k] = b->format == TSR_FULL || b->b[b->by_col ? k : k * b->ld];
    return present;
}

/* Are pieces and entries those of the columns that u names? */
static bool counted(const tsr_cuda_push_work *work, const tsr_product *p, const int8_t *present)
{
    entry *list = list_entries(&p->a, true);
    uint64_t entries = 0;
    for (int64_t k = 0; k < p->a.nvals; k++)
        entries += present[list[k].row];
    free(list);
    return work->entries == entries && work->pieces <= entries && work->pieces * 256 >= entries;
}

/* As many pieces as there are, or a bound. */
static uint64_t most_of(const tsr_cuda_push_work *work)
{
    static unsigned turn;
    return turn++ % 2 ? work->pieces : 3 * work->pieces + 100;
}

/* ---- by a list ---- */

/* Does it name the places that are present, each once? */
static bool lists(const tsr_cuda_list *list, const int8_t *present_there, int64_t count)
{
    tsr_cuda_list_head head;
    int8_t *present = checked(malloc((size_t)count + 1));
    uint32_t *places = checked(malloc((size_t)list->most * sizeof *places + 1));
    download(&head, list->head, sizeof head);
    download(places, list->places, (size_t)list->most * sizeof *places);
    download(present, present_there, (size_t)count);
    bool right = head.length <= list->most;
    for (uint32_t k = 0; right && k < head.length; k++) {
        right = places[k] < count && present[places[k]] == 1;
        if (right)
            present[places[k]] = 0;
    }
    for (int64_t k = 0; right && k < count; k++)
        right = !present[k];
    free(present);
    free(places);
    return right;
}

static int64_t longest_column(const tsr_product *p)
{
    int64_t *entries = checked(calloc((size_t)p->k + 1, sizeof *entries)), longest = 0;
    entry *list = list_entries(&p->a, true);
    for (int64_t k = 0; k < p->a.nvals; k++)
        entries[list[k].row]++;
    for (int64_t k = 0; k < p->k; k++)
        longest = entries[k] > longest ? entries[k] : longest;
    free(list);
    free(entries);
    return longest;
}

static tsr_status run_listed(tsr_cuda_push *push, const tsr_product *p)
{
    static uint32_t ticket;
    tsr_cuda_list from = new_list(p->k), to = new_list(p->m);
    const tsr_cuda_told told = {.head = to.head, .slot = device_new(sizeof *told.slot), .ticket = ++ticket};
    uint64_t word = 0;
    const size_t size = type_size(p->semiring.type);
    must(tsr_cuda_set(push->w, 0, (size_t)p->m * size, NULL), "set");
    must(tsr_cuda_set(push->w_present, 0, (size_t)p->m, NULL), "set");
    must(tsr_cuda_list_present(&from, push->u_present, p->k, &device, NULL), "list");
    tsr_status status = tsr_cuda_push_listed(push, &from, longest_column(p), &to, &told);
    must(tsr_cuda_wait(NULL), "wait");
    if (status == TSR_OK)
        download(&word, told.slot, sizeof word);
    tsr_cuda_list_head head;
    download(&head, to.head, sizeof head);
    if (status == TSR_OK && (!lists(&from, push->u_present, p->k) || !lists(&to, push->w_present, p->m) ||
                             word != ((uint64_t)ticket << 32 | head.length)))
        status = TSR_INTERNAL_ERROR;
    tsr_cuda_free(told.slot, NULL);
    free_list(&from);
    free_list(&to);
    return status;
}

/* Of three products one by whole columns, one by a list if u is a bitmap. */
static tsr_status run(tsr_cuda_push *push, const tsr_product *p, const int8_t *present)
{
    static unsigned turn;
    if (++turn % 3 == 1 && push->u_present)
        return run_listed(push, p);
    if (turn % 3 == 0) {
        const tsr_status status = tsr_cuda_push_run(push, NULL, NULL, 1);
        must(tsr_cuda_wait(NULL), "wait");
        return status;
    }
    tsr_cuda_push_work *there = device_new(sizeof *there), work;
    void *pieces = device_new(tsr_cuda_push_bytes(push->columns));
    tsr_status status = tsr_cuda_push_list(there, pieces, push);
    download(&work, there, sizeof work);
    if (status == TSR_OK && !counted(&work, p, present))
        status = TSR_INTERNAL_ERROR;
    if (status == TSR_OK)
        status = tsr_cuda_push_run(push, pieces, there, work.pieces ? most_of(&work) : 0);
    must(tsr_cuda_wait(NULL), "wait");
    tsr_cuda_free(there, NULL);
    tsr_cuda_free(pieces, NULL);
    return status;
}

/* What cannot be pushed must be declined, and is computed otherwise. */
static tsr_status run_product(const tsr_product *p, tsr_result *result)
{
    if (!tsr_cuda_push_takes(p->semiring)) {
        const tsr_cuda_push none = {.semiring = p->semiring, .columns = &(tsr_cuda_csr){0}};
        return tsr_cuda_push_run(&none, NULL, NULL, 0) == TSR_DECLINED ? tsr_ref_execute(p, result) : TSR_INTERNAL_ERROR;
    }
    const size_t size = type_size(p->semiring.type);
    tsr_cuda_csr columns = upload_view(&p->a, true, size, !p->a.iso);
    int8_t *present = presence_of(&p->b), *b = checked(malloc((size_t)p->m + 1));
    void *u = p->b.x ? upload_dense(&p->b, p->b.x, p->b.iso, false, size, 1, 0) : NULL;
    tsr_cuda_push push = {.semiring = p->semiring, .columns = &columns, .u = u, .u_present = p->b.format == TSR_FULL ? NULL : upload(present, (size_t)p->k),
                          .iso = first_value(&p->a, size), .w = device_new((size_t)p->m * size), .w_present = device_new(((size_t)p->m + 3) / 4 * 4),
                          .device = &device};
    tsr_status status = run(&push, p, present);
    if (status == TSR_OK) {
        download(result->x, push.w, (size_t)p->m * size);
        download(b, push.w_present, (size_t)p->m);
        result->nvals = 0;
        for (int64_t row = 0; row < p->m; row++)
            result->nvals += b[row];
        if (result->b)
            memcpy(result->b, b, (size_t)p->m);
    }
    free(present);
    free(b);
    free_csr(&columns);
    tsr_cuda_free(u, NULL);
    tsr_cuda_free((void *)push.u_present, NULL);
    tsr_cuda_free(push.w, NULL);
    tsr_cuda_free(push.w_present, NULL);
    return status;
}

/* ---- long columns ---- */

enum { ROWS = 3000, COLUMNS = 40 };

/* min_plus and plus_times of one column with all rows and others with few. */
static bool long_columns(uint64_t seed)
{
    rng r = {seed};
    int64_t *p = checked(malloc((COLUMNS + 1) * sizeof *p)), count = 0;
    int64_t *i = checked(malloc(sizeof *i * ROWS * COLUMNS));
    int32_t *x = checked(malloc(sizeof *x * ROWS * COLUMNS)), u[COLUMNS], *want = checked(malloc(ROWS * sizeof *want)),
            *got = checked(malloc(ROWS * sizeof *got));
    int8_t b[COLUMNS], *want_b = checked(malloc(ROWS)), *got_b = checked(malloc(ROWS));
    const int percent = (int)rng_below(&r, 4) * 10;
    for (int64_t column = 0; column < COLUMNS; p[++column] = count) {
        const int64_t of = rng_chance(&r, 30) ? ROWS : rng_chance(&r, 50) ? rng_below(&r, 600) : 0, first = rng_below(&r, ROWS - of + 1);
        if (column == 0)
            p[0] = 0;
        u[column] = (int32_t)rng_below(&r, 1000);
        b[column] = rng_chance(&r, percent);
        for (int64_t row = first; row < first + of; row++, count++) {
            i[count] = row;
            x[count] = (int32_t)rng_below(&r, 1000) - 300;
        }
    }
    const tsr_semiring semiring = {TSR_INT32, rng_chance(&r, 50) ? TSR_ADD_MIN : TSR_ADD_PLUS, TSR_MUL_PLUS};
    const tsr_product product = {.op = TSR_OP_SPMV, .semiring = semiring, .m = ROWS, .n = 1, .k = COLUMNS, .nthreads = 1,
        .a = {.format = TSR_SPARSE, .type = TSR_INT32, .by_col = true, .index_size = 8, .nrows = ROWS, .ncols = COLUMNS, .nvec = COLUMNS,
              .vlen = ROWS, .nvals = count, .p = p, .i = i, .x = x},
        .b = {.format = TSR_BITMAP, .type = TSR_INT32, .by_col = true, .nrows = COLUMNS, .ncols = 1, .nvec = 1, .vlen = COLUMNS,
              .ld = COLUMNS, .nvals = COLUMNS, .b = b, .x = u}, .c_by_col = true};
    tsr_result plain = {.x = want, .b = want_b}, pushed = {.x = got, .b = got_b};
    must(tsr_ref_execute(&product, &plain), "reference");
    bool right = run_product(&product, &pushed) == TSR_OK && plain.nvals == pushed.nvals && memcmp(want_b, got_b, ROWS) == 0;
    for (int64_t row = 0; right && row < ROWS; row++)
        right = got[row] == (want_b[row] ? want[row] : 0);
    void *const all[] = {p, i, x, want, got, want_b, got_b};
    for (int k = 0; k < 7; k++)
        free(all[k]);
    return right;
}

int main(int argc, char **argv)
{
    const semiring_test test = {.ops = {TSR_OP_SPMV, TSR_OP_SPMV, TSR_OP_SPMV, TSR_OP_SPMV}, .run = run_product, .other = long_columns,
                                .count = 40, .name = "long columns"};
    return semiring_main(argc, argv, &test);
}
