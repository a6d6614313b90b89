/* Products of few vectors whose places are listed, against the oracle: every semiring of every type, on the random products of test/kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/spmv/few_listed.h"
#include "kernels/ref/ref.h"
#include "test/cuda/lists.h"

#include <stdlib.h>
#include <string.h>

static void *new_zeros(size_t bytes)
{
    void *p = device_new(bytes);
    must(tsr_cuda_set(p, 0, bytes, NULL), "set");
    return p;
}

/* Presence of B, vector by vector; all of a full one. */
static int8_t *upload_presence(const tsr_product *p)
{
    if (p->b.format == TSR_BITMAP)
        return upload_dense(&p->b, p->b.b, false, true, 1, p->k, 0);
    int8_t *all = checked(malloc((size_t)(p->k * p->n) + 1));
    memset(all, 1, (size_t)(p->k * p->n) + 1);
    int8_t *there = upload(all, (size_t)(p->k * p->n) + 1);
    free(all);
    return there;
}

/* Elements of `size` bytes, vector by vector, to C as it is held. */
static void download_turned(void *c, const void *there, const tsr_product *p, size_t size)
{
    const size_t places = (size_t)(p->m * p->n);
    char *host = checked(malloc(places * size + 1));
    download(host, there, places * size);
    for (int64_t v = 0; v < p->n; v++)
        for (int64_t row = 0; row < p->m; row++)
            memcpy((char *)c + (size_t)(p->c_by_col ? v * p->m + row : row * p->n + v) * size, host + (size_t)(v * p->m + row) * size, size);
    free(host);
}

/* Is the list as long as there are entries, and was that told? */
static bool told_right(const tsr_cuda_list *to, const tsr_cuda_told *told, const int8_t *present_there, int64_t places)
{
    tsr_cuda_list_head head;
    uint64_t word;
    int64_t entries = 0;
    int8_t *present = checked(malloc((size_t)places + 1));
    download(&head, to->head, sizeof head);
    download(&word, told->slot, sizeof word);
    download(present, present_there, (size_t)places);
    for (int64_t at = 0; at < places; at++)
        entries += present[at];
    free(present);
    return head.length == entries && head.present == entries && word == ((uint64_t)told->ticket << 32 | (uint64_t)entries);
}

static tsr_status run_product(const tsr_product *p, tsr_result *result)
{
    static uint32_t ticket;
    const size_t size = type_size(p->semiring.type), places = (size_t)(p->m * p->n);
    tsr_cuda_csr rows = upload_view(&p->a, false, size, !p->a.iso), columns = upload_view(&p->a, true, size, false);
    void *u = p->b.x ? upload_dense(&p->b, p->b.x, p->b.iso, true, size, p->k, 0) : NULL;
    int8_t *u_present = upload_presence(p);
    tsr_cuda_few few = {.semiring = p->semiring, .rows = &rows, .columns = &columns, .vectors = p->n, .u = u, .u_present = u_present, .iso = first_value(&p->a, size),
                        .w = new_zeros(places * size), .w_present = new_zeros((places + 3) / 4 * 4), .device = &device};
    tsr_cuda_list from = new_list(p->k * p->n), to = new_list(p->m * p->n);
    const tsr_cuda_told told = {.head = to.head, .slot = device_new(sizeof *told.slot), .ticket = ++ticket};
    must(tsr_cuda_list_present(&from, u_present, p->k * p->n, &device, NULL), "list");
    tsr_status status = tsr_cuda_few_listed(&few, &from, &to, &told);
    must(tsr_cuda_wait(NULL), "wait");
    if (status == TSR_OK && !told_right(&to, &told, few.w_present, p->m * p->n))
        status = TSR_INTERNAL_ERROR;
    if (status == TSR_OK) {
        int8_t *b = checked(malloc(places + 1));
        download_turned(result->x, few.w, p, size);
        download_turned(b, few.w_present, p, 1);
        result->nvals = 0;
        for (size_t at = 0; at < places; at++)
            result->nvals += b[at];
        if (result->b)
            memcpy(result->b, b, places);
        free(b);
    }
    void *const all[] = {u, u_present, few.w, few.w_present, told.slot};
    for (int k = 0; k < 5; k++)
        tsr_cuda_free(all[k], NULL);
    free_list(&from);
    free_list(&to);
    free_csr(&rows);
    free_csr(&columns);
    return status;
}

static bool nothing_else(uint64_t unused)
{
    (void)unused;
    return true;
}

int main(int argc, char **argv)
{
    const semiring_test test = {.ops = {TSR_OP_SPMM, TSR_OP_SPMM, TSR_OP_SPMM, TSR_OP_SPMV}, .run = run_product, .other = nothing_else, .count = 1,
                                .name = "others"};
    return semiring_main(argc, argv, &test);
}
