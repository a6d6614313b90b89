/* A program with an allocator of its own, which knows nothing of malloc_usable_size: blocks are cut from one area and never used again,
 * their sizes lie before them, where another allocator would read something else.
 * usage: own_malloc
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const size_t area_bytes = (size_t)8 << 30; /* of addresses */
static char *area;
static size_t area_used;

static void *cut(size_t alignment, size_t bytes)
{
    char *begin = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
    if (!begin) {
        char *mapped = mmap(NULL, area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED)
            return NULL;
        if (!__atomic_compare_exchange_n(&area, &begin, mapped, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            munmap(mapped, area_bytes);
        begin = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
    }
    const size_t room = (bytes + alignment + 31) / 16 * 16, at = __atomic_fetch_add(&area_used, room, __ATOMIC_RELAXED);
    if (at + room > area_bytes)
        return NULL;
    char *block = (char *)(((uintptr_t)begin + at + 16 + alignment - 1) / alignment * alignment);
    memcpy(block - sizeof bytes, &bytes, sizeof bytes);
    return block;
}

/* Seen by every library: this is what makes it theirs as well. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    return cut(16, bytes);
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? NULL : cut(16, all);
}

void *realloc(void *block, size_t bytes)
{
    void *moved = cut(16, bytes);
    size_t before = 0;
    if (block)
        memcpy(&before, (char *)block - sizeof before, sizeof before);
    if (moved && before)
        memcpy(moved, block, before < bytes ? before : bytes);
    return moved;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return cut(alignment < 16 ? 16 : alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = aligned_alloc(alignment, bytes);
    return *block ? 0 : 12;
}

#pragma GCC visibility pop

/* ---- GraphBLAS ---- */

enum { ENTRIES = 400000, ROWS = 20000, COLUMNS = 16 };

static int failed;

static void check(GrB_Info info, const char *what)
{
    if (info != GrB_SUCCESS) {
        printf("%s gives %d\n", what, (int)info);
        failed = 1;
    }
}
#define CHECK(call) check(call, #call)

static void one_at_a_time(void)
{
    GrB_Vector v = NULL;
    GrB_Index count = 0;
    int64_t sum = 0;
    CHECK(GrB_Vector_new(&v, GrB_INT64, 1 << 20));
    for (GrB_Index i = 0; i < ENTRIES; i++)
        CHECK(GrB_Vector_setElement_INT64(v, (int64_t)i, i * 2));
    CHECK(GrB_Vector_nvals(&count, v));
    CHECK(GrB_Vector_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, v, NULL));
    printf("entries %llu sum %lld\n", (unsigned long long)count, (long long)sum);
    CHECK(GrB_Vector_free(&v));
}

/* Else nothing is tested here. */
static void graphblas_uses_it(void)
{
    GrB_Vector v = NULL;
    const size_t before = area_used, least = sizeof(double) << 20;
    CHECK(GrB_Vector_new(&v, GrB_FP64, 1 << 20));
    CHECK(GrB_Vector_assign_FP64(v, NULL, NULL, 1, GrB_ALL, 1 << 20, NULL));
    CHECK(GrB_Vector_setElement_FP64(v, 2, 0));
    CHECK(GrB_Vector_wait(v, GrB_MATERIALIZE));
    if (area_used - before < least)
        failed = 1;
    printf("GraphBLAS %s\n", failed ? "uses another malloc" : "uses it");
    CHECK(GrB_Vector_free(&v));
}

static void products(void)
{
    GrB_Matrix a = NULL, b = NULL, c = NULL;
    double sum = 0;
    CHECK(GrB_Matrix_new(&a, GrB_FP64, ROWS, ROWS));
    CHECK(GrB_Matrix_new(&b, GrB_FP64, ROWS, COLUMNS));
    for (GrB_Index i = 0; i < 5 * ROWS; i++)
        CHECK(GrB_Matrix_setElement_FP64(a, (double)(i % 7), i % ROWS, i * 7919 % ROWS));
    CHECK(GrB_Matrix_assign_FP64(b, NULL, NULL, 2, GrB_ALL, ROWS, GrB_ALL, COLUMNS, NULL));
    CHECK(GrB_Matrix_setElement_FP64(b, 3, 1, 1));
    for (int round = 0; round < 6; round++) {
        double one = 0;
        CHECK(GrB_Matrix_new(&c, GrB_FP64, ROWS, COLUMNS));
        CHECK(GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, b, NULL));
        CHECK(GrB_Matrix_reduce_FP64(&one, NULL, GrB_PLUS_MONOID_FP64, c, NULL));
        CHECK(GrB_Matrix_free(&c));
        sum += one;
    }
    printf("products %.0f\n", sum);
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
}

int main(void)
{
    CHECK(GrB_init(GrB_NONBLOCKING));
    graphblas_uses_it();
    one_at_a_time();
    products();
    CHECK(GrB_finalize());
    return failed;
}
