/* Blocks turned over, by way of the cache and past it: every size of value, edge and alignment, sentinels all round.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "kernels/cpu/common/arrays.h"
#include "test/seed.h"

enum { MOST = 48, LEAD = 3, SENTINEL = 0xa5 };

static uint64_t state;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

typedef void flip_fn(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size);

static void check_one(flip_fn *flip, size_t size)
{
    static _Alignas(64) unsigned char src[MOST * (MOST + LEAD) * 8], dst[MOST * (MOST + LEAD) * 8 + 128], expected[sizeof dst];
    const int rows = draw(MOST + 1), columns = draw(MOST + 1);
    const int64_t src_ld = columns + draw(LEAD + 1), dst_ld = rows + draw(LEAD + 1);
    const size_t begin = (size_t)draw(8) * size;
    for (size_t k = 0; k < sizeof src; k++)
        src[k] = (unsigned char)draw(256);
    memset(dst, SENTINEL, sizeof dst);
    memset(expected, SENTINEL, sizeof expected);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            memcpy(expected + begin + (size_t)(c * dst_ld + r) * size, src + (size_t)(r * src_ld + c) * size, size);
    flip(dst + begin, dst_ld, src, src_ld, rows, columns, size);
    if (memcmp(dst, expected, sizeof dst) != 0)
        fail_msg("%d x %d of %zu bytes, ld %d -> %d, from byte %zu", rows, columns, size, (int)src_ld, (int)dst_ld, begin);
}

static void check_all(flip_fn *flip)
{
    state = test_seed();
    print_message("seed %llu\n", (unsigned long long)state);
    for (int k = 0; k < 4000; k++)
        check_one(flip, (size_t)1 << draw(4));
}

static void test_cached(void **unused)
{
    (void)unused;
    check_all(tsr_flip_block);
}

static void test_streamed(void **unused)
{
    (void)unused;
    check_all(tsr_flip_block_streamed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cached), cmocka_unit_test(test_streamed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
