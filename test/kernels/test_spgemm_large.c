/* SpGEMM on the CPU: C of more entries than an int counts.  Its blocks are larger than the memory behind them, which they show again and again, so
 * that only the rows written last can be read; offsets are all there.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/spgemm.h"

enum { N = 1 << 20, M = INT_MAX / N + 4, SHOWN = 1 << 25, FEW = 1000 };

/* ---- blocks ---- */

/* One block at a time. */
typedef struct repeated {
    int file;
    char *at;
    size_t bytes;
} repeated;

static void unmap(repeated *r)
{
    if (r->at)
        munmap(r->at, r->bytes);
    r->at = NULL;
}

/* What was written stays, as its place in the file does. */
static void *resize(const void *context, void *block, size_t bytes)
{
    repeated *r = *(repeated *const *)context;
    const size_t whole = (bytes + SHOWN - 1) / SHOWN * SHOWN;
    assert_ptr_equal(block, r->at);
    char *at = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    for (size_t done = 0; done < whole; done += SHOWN)
        assert_true(mmap(at + done, SHOWN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->file, 0) != MAP_FAILED);
    unmap(r);
    r->at = at;
    r->bytes = whole;
    return at;
}

static void release(const void *context, void *block)
{
    repeated *r = *(repeated *const *)context;
    assert_ptr_equal(block, r->at);
    unmap(r);
}

/* ---- operands ---- */

static int64_t a_p[M + 1], b_p[3] = {0, N, N + FEW};
static uint32_t a_i[2 * M], b_i[N + FEW];

static tsr_view view_of(int64_t nrows, int64_t ncols, const int64_t *p, const uint32_t *i)
{
    return (tsr_view){.format = TSR_SPARSE, .type = TSR_BOOL, .index_size = 4, .nrows = nrows, .ncols = ncols, .nvec = nrows, .vlen = ncols,
                      .ld = ncols, .nvals = p[nrows], .p = p, .i = i};
}

/* Rows of A: the row of B that has all columns; every third with another one, whose columns it has as well. */
static tsr_spgemm make_product(void)
{
    for (int64_t v = 0, e = 0; v < M; v++) {
        a_i[e++] = 0;
        if (v % 3 == 0)
            a_i[e++] = 1;
        a_p[v + 1] = e;
    }
    for (uint32_t j = 0; j < N; j++)
        b_i[j] = j;
    for (uint32_t j = 0; j < FEW; j++)
        b_i[N + j] = 7 * j;
    return (tsr_spgemm){.semiring = {TSR_BOOL, TSR_ADD_LOR, TSR_MUL_PAIR}, .pattern = true, .sorted = true, .m = M, .n = N, .k = 2, .nthreads = 1,
                        .a = view_of(M, 2, a_p, a_i), .b = view_of(2, N, b_p, b_i)};
}

static void more_than_int_max(void **state)
{
    (void)state;
    static int64_t p[M + 1];
    repeated memory = {.file = memfd_create("spgemm", 0)}, *of = &memory;
    const tsr_spgemm product = make_product();
    tsr_spgemm_work *work;
    tsr_spgemm_size size;
    tsr_spgemm_c c = {.p = p};
    assert_true(memory.file >= 0 && ftruncate(memory.file, SHOWN) == 0);
    assert_int_equal(tsr_cpu_spgemm_count(&work, &product, &(tsr_spgemm_memory){resize, release, &of}, &size), TSR_OK);
    assert_true(size.nvals == (int64_t)M * N && size.nvals > (int64_t)INT_MAX + N);
    assert_int_equal(tsr_cpu_spgemm_take(work, &c), TSR_OK);
    tsr_cpu_spgemm_free(work);
    for (int64_t v = 0; v <= M; v++)
        assert_true(p[v] == v * N);
    for (int64_t e = size.nvals - 3 * N; e < size.nvals; e++) /* one of the rows is of two */
        assert_true(((const int64_t *)c.i)[e] == e % N);
    unmap(&memory);
    close(memory.file);
}

/* Sanitizers would look at each of 2^31 writes; test_spgemm.c has the same rows, short. */
int main(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 77;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_than_int_max)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
