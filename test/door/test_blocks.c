/* Cache of large freed blocks: reuse, fit, bounds, drain, threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/door/block_cache.h"
#include "test/threads.h"

static int set_up(void **state)
{
    (void) state;
    start_cache();
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    tsr_blocks_drain();
    return tsr_blocks_get_stats().count == 0 && tsr_blocks_get_stats().bytes == 0 ? 0 : 1;
}

static void *touched(size_t size)
{
    void *block = tsr_block_malloc(size);
    assert_non_null(block);
    memset(block, 0x5a, size);
    return block;
}

static void large_block_comes_back(void **state)
{
    (void) state;
    void *first = touched(4 * MIB);
    tsr_block_free(first);
    assert_int_equal(tsr_blocks_get_stats().count, 1);
    void *second = tsr_block_malloc(4 * MIB - 100);
    assert_ptr_equal(first, second);
    assert_int_equal(tsr_blocks_get_stats().count, 0);
    tsr_block_free(second);
}

static void small_blocks_are_not_kept(void **state)
{
    (void) state;
    tsr_block_free(touched(MIB / 2));
    tsr_block_free(NULL);
    assert_int_equal(tsr_blocks_get_stats().count, 0);
}

static void too_large_does_not_fit(void **state)
{
    (void) state;
    tsr_block_free(touched(20 * MIB));
    void *small = touched(12 * MIB); /* 20 > 12 * 1.25 */
    assert_int_equal(tsr_blocks_get_stats().count, 1);
    void *close = touched(17 * MIB);
    assert_int_equal(tsr_blocks_get_stats().count, 0);
    tsr_block_free(small);
    tsr_block_free(close);
}

static void best_fit_wins(void **state)
{
    (void) state;
    void *larger = touched(5 * MIB), *exact = touched(4 * MIB);
    tsr_block_free(exact);
    tsr_block_free(larger);
    void *again = tsr_block_malloc(4 * MIB);
    assert_ptr_equal(again, exact);
    tsr_block_free(again);
}

static void total_is_bounded(void **state)
{
    (void) state;
    void *blocks[20];
    for (size_t n = 0; n < 20; n++)
        blocks[n] = touched(8 * MIB);
    for (size_t n = 0; n < 20; n++) {
        tsr_block_free(blocks[n]);
        assert_true(tsr_blocks_get_stats().bytes <= 64 * MIB);
    }
    assert_true(tsr_blocks_get_stats().count >= 7);
}

static void count_is_bounded(void **state)
{
    (void) state;
    void *blocks[TSR_BLOCKS_MAX_COUNT + 8];
    const size_t count = sizeof blocks / sizeof *blocks;
    tsr_blocks_set_limit(count * 2 * MIB);
    for (size_t n = 0; n < count; n++)
        blocks[n] = touched(MIB + 64);
    for (size_t n = 0; n < count; n++)
        tsr_block_free(blocks[n]);
    assert_int_equal(tsr_blocks_get_stats().count, TSR_BLOCKS_MAX_COUNT);
}

static void block_over_half_the_limit_is_given_back(void **state)
{
    (void) state;
    tsr_block_free(touched(40 * MIB));
    assert_int_equal(tsr_blocks_get_stats().count, 0);
}

static void blocks_belong_to_the_c_library(void **state)
{
    (void) state;
    free(touched(3 * MIB));
    void *foreign = NULL;
    assert_int_equal(posix_memalign(&foreign, 4096, 3 * MIB), 0);
    tsr_block_free(foreign);
    assert_int_equal(tsr_blocks_get_stats().count, 1);
}

/* Rows of a result there would share cache lines with their neighbours. */
static void unaligned_blocks_are_not_kept(void **state)
{
    (void) state;
    void *foreign = malloc(3 * MIB); /* behind the C library's header; sanitizers have none */
    assert_non_null(foreign);
    const bool aligned = (uintptr_t) foreign % 4096 == 0;
    tsr_block_free(foreign);
    assert_int_equal(tsr_blocks_get_stats().count, aligned);
    unsigned char *grown = tsr_block_realloc(tsr_block_realloc(NULL, 1000), 3 * MIB);
    assert_non_null(grown);
    assert_int_equal((uintptr_t) grown % 4096, 0);
    tsr_block_free(grown);
    assert_int_equal(tsr_blocks_get_stats().count, 1);
}

static void realloc_keeps_contents(void **state)
{
    (void) state;
    unsigned char *block = touched(2 * MIB);
    block = tsr_block_realloc(block, 9 * MIB);
    assert_non_null(block);
    assert_int_equal(block[2 * MIB - 1], 0x5a);
    tsr_block_free(block);
    block = tsr_block_realloc(NULL, 2 * MIB);
    assert_non_null(block);
    tsr_block_free(block);
}

static void impossible_request_empties_the_cache(void **state)
{
    (void) state;
    tsr_block_free(touched(4 * MIB));
    assert_null(tsr_block_malloc(SIZE_MAX / 2));
    assert_int_equal(tsr_blocks_get_stats().count, 0);
}

static void nothing_is_kept_when_disabled(void **state)
{
    (void) state;
    tsr_blocks_disable();
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(tsr_blocks_get_stats().count, 0);
}

static void *work(void *argument)
{
    unsigned seed = (unsigned) (uintptr_t) argument;
    unsigned char *held[6] = {0};
    for (int round = 0; round < 400; round++) {
        const size_t slot = (size_t) rand_r(&seed) % 6;
        const size_t size = MIB + (size_t) rand_r(&seed) % (3 * MIB);
        if (held[slot]) {
            if (held[slot][0] != (unsigned char) slot || held[slot][MIB] != (unsigned char) slot)
                return (void *) 1;
            tsr_block_free(held[slot]);
            held[slot] = NULL;
        } else if ((held[slot] = tsr_block_malloc(size))) {
            held[slot][0] = held[slot][MIB] = (unsigned char) slot;
        }
    }
    for (size_t n = 0; n < 6; n++)
        tsr_block_free(held[n]);
    return NULL;
}

static void threads_never_share_a_block(void **state)
{
    (void) state;
    assert_int_equal(run_numbered_threads(4, work), 0);
    assert_true(tsr_blocks_get_stats().hits > 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(large_block_comes_back), CASE(small_blocks_are_not_kept), CASE(too_large_does_not_fit),
        CASE(best_fit_wins), CASE(total_is_bounded), CASE(count_is_bounded),
        CASE(block_over_half_the_limit_is_given_back),
        CASE(blocks_belong_to_the_c_library), CASE(unaligned_blocks_are_not_kept), CASE(realloc_keeps_contents), CASE(impossible_request_empties_the_cache),
        CASE(nothing_is_kept_when_disabled), CASE(threads_never_share_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
