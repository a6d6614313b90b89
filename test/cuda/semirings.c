/* SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/semirings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tsr_cuda_device device;
rng layout;

void *checked(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

void must(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        printf("%s: status %d\n", what, (int)status);
        exit(1);
    }
}

void *device_new(size_t bytes)
{
    void *p = NULL;
    must(tsr_cuda_malloc(&p, bytes, NULL), "malloc");
    must(tsr_cuda_set(p, 0xA5, bytes, NULL), "set");
    return p;
}

void *upload(const void *host, size_t bytes)
{
    void *p = device_new(bytes);
    must(tsr_cuda_to_device(p, host, bytes, NULL), "to device");
    return p;
}

void download(void *host, const void *p, size_t bytes)
{
    must(tsr_cuda_to_host(host, p, bytes, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
}

static int by_place(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->col < b->col ? -1 : a->col > b->col;
}

entry *list_entries(const tsr_view *v, bool transposed)
{
    entry *list = checked(malloc((size_t)(v->nvals + 1) * sizeof *list));
    for (int64_t s = 0; s < v->nvec; s++)
        for (int64_t at = v->p[s]; at < v->p[s + 1]; at++) {
            int64_t major = v->format == TSR_HYPERSPARSE ? v->h[s] : s;
            int64_t minor = v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[at] : ((const int64_t *)v->i)[at];
            bool flip = v->by_col != transposed;
            list[at] = (entry){ flip ? minor : major, flip ? major : minor, at };
        }
    qsort(list, (size_t)v->nvals, sizeof *list, by_place);
    return list;
}

tsr_cuda_csr upload_rows(const entry *list, int64_t nvals, int64_t nrows, int64_t ncols, const void *x, bool iso, size_t size)
{
    int64_t *p = checked(calloc((size_t)nrows + 1, sizeof *p));
    uint32_t *i = checked(malloc((size_t)nvals * sizeof *i + 1));
    char *values = checked(malloc((size_t)nvals * size + 1));
    for (int64_t at = 0; at < nvals; at++) {
        p[list[at].row + 1]++;
        i[at] = (uint32_t)list[at].col;
        if (x != NULL)
            memcpy(values + (size_t)at * size, (const char *)x + (iso ? 0 : (size_t)list[at].at * size), size);
    }
    for (int64_t row = 0; row < nrows; row++)
        p[row + 1] += p[row];
    tsr_cuda_csr a = { .nrows = nrows, .ncols = ncols, .nvals = nvals };
    a.p = upload(p, (size_t)(nrows + 1) * sizeof *p);
    a.i = upload(i, (size_t)nvals * sizeof *i);
    a.x = x != NULL ? upload(values, (size_t)nvals * size) : NULL;
    free(p);
    free(i);
    free(values);
    return a;
}

tsr_cuda_csr upload_view(const tsr_view *v, bool transposed, size_t size, bool with_values)
{
    entry *list = list_entries(v, transposed);
    tsr_cuda_csr a = upload_rows(list, v->nvals, transposed ? v->ncols : v->nrows, transposed ? v->nrows : v->ncols,
        with_values ? v->x : NULL, v->iso, size);
    free(list);
    return a;
}

void *upload_dense(const tsr_view *v, const void *from, bool iso, bool transposed, size_t size, int64_t ld, int64_t shift)
{
    int64_t nrows = transposed ? v->ncols : v->nrows, ncols = transposed ? v->nrows : v->ncols;
    size_t bytes = (size_t)(nrows * ld + shift + 1) * size;
    char *host = checked(malloc(bytes));
    memset(host, 0xA5, bytes);
    for (int64_t row = 0; row < nrows; row++)
        for (int64_t col = 0; col < ncols; col++) {
            int64_t at = iso ? 0 : v->by_col != transposed ? col * v->ld + row : row * v->ld + col;
            memcpy(host + (size_t)(shift + row * ld + col) * size, (const char *)from + (size_t)at * size, size);
        }
    void *p = upload(host, bytes);
    free(host);
    return p;
}

void free_csr(tsr_cuda_csr *a)
{
    tsr_cuda_csr_work_free(a, NULL);
    tsr_cuda_free(a->p, NULL);
    tsr_cuda_free(a->i, NULL);
    tsr_cuda_free(a->x, NULL);
}

uint64_t first_value(const tsr_view *v, size_t size)
{
    uint64_t bits = 0;
    if (v->x != NULL && v->iso)
        memcpy(&bits, v->x, size);
    return bits;
}

void download_entries(tsr_result *result, const tsr_view *mask, const void *x, const int8_t *present, size_t size)
{
    size_t n = (size_t)mask->nvals;
    char *values = checked(malloc(n * size + 1));
    int8_t *marks = checked(malloc(n + 1));
    download(values, x, n * size);
    download(marks, present, n);
    entry *list = list_entries(mask, false);
    result->nvals = 0;
    for (size_t at = 0; at < n; at++) {
        memcpy((char *)result->x + (size_t)list[at].at * size, values + at * size, size);
        result->b[list[at].at] = marks[at];
        result->nvals += marks[at];
    }
    free(list);
    free(values);
    free(marks);
}

static bool test_semiring(const semiring_test *test, tsr_semiring semiring, uint64_t seed)
{
    rng r = { seed };
    test_case c;
    char why[200] = "";
    layout.state = ~seed;
    tsr_op op = test->ops[rng_below(&r, 4)];
    case_make(&c, &r, op, semiring, (int)rng_below(&r, 2));
    verdict v = check_case(&c, test->run, why, sizeof why);
    if (v != VERDICT_OK) {
        printf("FAIL %s %s %s, case %llu: %s\n", type_name(semiring.type), add_name(semiring.add), mul_name(semiring.mul),
            (unsigned long long)seed, v == VERDICT_DECLINED ? "declined" : why);
        case_print(&c);
    }
    case_free(&c);
    return v == VERDICT_OK;
}

static int test_semirings(const semiring_test *test, uint64_t seed, int each)
{
    int failed = 0;
    for (int type = 0; type < TSR_TYPE_COUNT; type++)
        for (int add = 0; add < TSR_ADD_COUNT; add++)
            for (int mul = 0; mul < TSR_MUL_COUNT; mul++)
                for (int k = 0; k < each; k++)
                    failed += !test_semiring(test, (tsr_semiring){ (tsr_type)type, (tsr_add)add, (tsr_mul)mul },
                        seed + (uint64_t)(((type * TSR_ADD_COUNT + add) * TSR_MUL_COUNT + mul) * each + k));
    return failed;
}

int semiring_main(int argc, char **argv, const semiring_test *test)
{
    unsigned long long seed = 1;
    int count = test->count, each = 2;
    bool one = false;
    for (int at = 1; at < argc; at++) {
        one = sscanf(argv[at], "--seed=%llu", &seed) == 1 || one;
        if (sscanf(argv[at], "--count=%d", &count) != 1)
            (void)sscanf(argv[at], "--semirings=%d", &each);
    }
    if (tsr_cuda_count() == 0)
        return 77;
    must(tsr_cuda_open(0, &device), "open");
    if (one)
        return test->other(seed) ? 0 : 1;
    int failed = (test->before ? test->before() : 0) + test_semirings(test, seed, each);
    for (int k = 0; k < count; k++)
        failed += !test->other(seed + (uint64_t)k);
    printf("%d semirings x %d cases, %d %s: %d failed\n", TSR_TYPE_COUNT * TSR_ADD_COUNT * TSR_MUL_COUNT, each, count, test->name,
        failed);
    return failed != 0;
}
