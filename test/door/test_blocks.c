/* Cache of large freed blocks: what is kept and for how long, fit, bounds, drain, threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/graphblas/intercept/memory/memory.h"
#include "test/door/block_cache.h"
#include "test/threads.h"

static int set_up(void **state)
{
    (void) state;
    start_cache(false);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    tsr_blocks_drain();
    return tsr_blocks_get_stats().count == 0 && tsr_blocks_get_stats().bytes == 0 ? 0 : 1;
}

static size_t kept(void)
{
    return tsr_blocks_get_stats().count;
}

static void *touched(size_t size)
{
    void *block = tsr_block_result(size);
    assert_non_null(block);
    memset(block, 0x5a, size);
    return block;
}

/* ---- what is kept ---- */

static void large_block_comes_back(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    void *first = touched(4 * MIB);
    tsr_block_free(first);
    assert_int_equal(kept(), 1);
    void *second = tsr_block_malloc(4 * MIB - 100);
    assert_ptr_equal(first, second);
    assert_int_equal(kept(), 0);
    tsr_block_free(second);
}

static void only_what_is_asked_for_again(void **state)
{
    (void) state;
    void *blocks[40];
    for (size_t n = 0; n < 40; n++)
        blocks[n] = touched(MIB + n * 1000);
    for (size_t n = 0; n < 40; n++)
        tsr_block_free(blocks[n]);
    assert_int_equal(kept(), 0);
    for (size_t n = 0; n < 3; n++) /* three of them come back */
        blocks[n] = touched(MIB + 500000);
    for (size_t n = 0; n < 3; n++)
        tsr_block_free(blocks[n]);
    assert_int_equal(kept(), 0);
    for (size_t n = 0; n < 3; n++)
        blocks[n] = touched(MIB + 500000);
    for (size_t n = 0; n < 3; n++)
        tsr_block_free(blocks[n]);
    assert_int_equal(kept(), 3);
    void *one = touched(MIB + 500000);
    tsr_block_free(one);
    assert_int_equal(kept(), 3);
}

static void nothing_before_a_product(void **state)
{
    (void) state;
    tsr_blocks_drain();
    tsr_blocks_enable(false);
    tsr_blocks_product(MIB - 1); /* too small to be worth it */
    ask_again(2, 4 * MIB);
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 0);
}

static void small_blocks_are_not_kept(void **state)
{
    (void) state;
    for (int round = 0; round < 4; round++)
        tsr_block_free(touched(MIB / 2));
    tsr_block_free(NULL);
    assert_int_equal(kept(), 0);
}

static void too_large_does_not_fit(void **state)
{
    (void) state;
    ask_again(1, 20 * MIB);
    tsr_block_free(touched(20 * MIB));
    void *small = touched(12 * MIB); /* 20 > 12 * 1.25 */
    assert_int_equal(kept(), 1);
    void *close = touched(17 * MIB);
    assert_int_equal(kept(), 0);
    tsr_block_free(small);
    tsr_block_free(close);
}

/* Every size is in a block that holds it, and wastes a quarter at most. */
static void sizes_hold_their_bytes(void **state)
{
    (void) state;
    unsigned seed = 7;
    for (int round = 0; round < 60; round++) {
        const size_t size = MIB + (size_t) rand_r(&seed) % (20 * MIB);
        for (int again = 0; again < 3; again++) {
            char *block = tsr_block_result(size);
            assert_non_null(block);
            block[size - 1] = block[0] = 1;
            tsr_block_free(block);
        }
        assert_true(tsr_blocks_get_stats().bytes <= 512 * MIB / 8);
    }
    assert_true(tsr_blocks_get_stats().hits > 50);
}

/* ---- bounds ---- */

static void total_is_bounded(void **state)
{
    (void) state;
    void *blocks[20];
    ask_again(20, 8 * MIB);
    for (size_t n = 0; n < 20; n++)
        blocks[n] = touched(8 * MIB);
    for (size_t n = 0; n < 20; n++) {
        tsr_block_free(blocks[n]);
        assert_true(tsr_blocks_get_stats().bytes <= 512 * MIB / 8);
    }
    assert_true(kept() >= 7);
    tsr_blocks_set_limit(256 * MIB);
    ask_again(8, 40 * MIB);
    for (size_t n = 0; n < 8; n++)
        blocks[n] = tsr_block_result(40 * MIB);
    for (size_t n = 0; n < 8; n++)
        tsr_block_free(blocks[n]);
    assert_in_range(tsr_blocks_get_stats().bytes, 160 * MIB, 256 * MIB);
}

static void count_is_bounded(void **state)
{
    (void) state;
    void *blocks[TSR_BLOCKS_MAX_COUNT + 8];
    const size_t count = sizeof blocks / sizeof *blocks;
    tsr_blocks_set_limit(count * 2 * MIB * 8);
    ask_again(count, MIB + 64);
    for (size_t n = 0; n < count; n++)
        blocks[n] = touched(MIB + 64);
    for (size_t n = 0; n < count; n++)
        tsr_block_free(blocks[n]);
    assert_int_equal(kept(), TSR_BLOCKS_MAX_COUNT);
}

static void block_over_half_the_limit_is_given_back(void **state)
{
    (void) state;
    tsr_blocks_set_limit(70 * MIB);
    ask_again(1, 40 * MIB);
    tsr_block_free(tsr_block_result(40 * MIB));
    assert_int_equal(kept(), 0);
}

static void nothing_is_kept_under_a_limit(void **state)
{
    (void) state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    assert_int_equal(before.rlim_cur, RLIM_INFINITY);
    ask_again(2, 4 * MIB);
    void *second = touched(4 * MIB);
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 1);
    const struct rlimit limit = {(rlim_t) 1 << 46, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    tsr_block_free(second);
    assert_int_equal(kept(), 0);
    tsr_blocks_product(MIB);
    ask_again(1, 4 * MIB);
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
}

/* ---- for how long ---- */

/* That is enough to see that time has passed. */
static void use_small_blocks(void)
{
    for (int n = 0; n < 300; n++)
        tsr_block_free(tsr_block_malloc(10));
}

static void what_nothing_took_goes_back(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 1);
    for (int second = 0; second < TSR_BLOCKS_WHILE + 2; second++) {
        pass_time(1);
        tsr_blocks_product(MIB);
        use_small_blocks();
    }
    assert_int_equal(kept(), 0);
    tsr_block_free(touched(4 * MIB)); /* and is not expected any more */
    assert_int_equal(kept(), 0);
}

static void what_is_used_stays(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    void *block = touched(4 * MIB);
    for (int second = 0; second < 3 * TSR_BLOCKS_WHILE; second++) {
        tsr_block_free(block);
        pass_time(1);
        tsr_blocks_product(MIB);
        assert_ptr_equal(tsr_block_result(4 * MIB), block);
    }
    tsr_block_free(block);
}

static void products_end(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    tsr_block_free(touched(4 * MIB));
    pass_time(TSR_BLOCKS_WHILE + 1);
    use_small_blocks();
    assert_int_equal(kept(), 0);
    ask_again(1, 4 * MIB);
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 0);
    tsr_blocks_product(MIB);
    ask_again(1, 4 * MIB);
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 1);
}

/* ---- the C library's blocks ---- */

static void blocks_belong_to_the_c_library(void **state)
{
    (void) state;
    assert_true(tsr_blocks_possible());
    ask_again(1, 3 * MIB);
    free(touched(3 * MIB));
    void *foreign = NULL;
    assert_int_equal(posix_memalign(&foreign, 4096, 3 * MIB), 0);
    tsr_block_free(foreign);
    assert_int_equal(kept(), 1);
}

/* Rows of a result there would share cache lines with their neighbours. */
static void unaligned_blocks_are_not_kept(void **state)
{
    (void) state;
    ask_again(1, 3 * MIB);
    void *foreign = malloc(3 * MIB); /* behind the C library's header; sanitizers have none */
    assert_non_null(foreign);
    const bool aligned = (uintptr_t) foreign % 4096 == 0;
    tsr_block_free(foreign);
    assert_int_equal(kept(), aligned);
    void *result = touched(3 * MIB);
    assert_int_equal((uintptr_t) result % 4096, 0);
    tsr_block_free(result);
    assert_int_equal(kept(), 1);
}

/* ---- a device ---- */

/* How many of eight blocks that are held together are aligned. */
static int aligned_of_eight(void *(*allocate)(size_t))
{
    void *blocks[8];
    int aligned = 0;
    for (size_t n = 0; n < 8; n++) {
        blocks[n] = allocate(3 * MIB + 48 * n);
        assert_non_null(blocks[n]);
        aligned += (uintptr_t) blocks[n] % 4096 == 0;
    }
    for (size_t n = 0; n < 8; n++)
        tsr_block_free(blocks[n]);
    return aligned;
}

/* Until it is used small blocks of GraphBLAS's are the C library's as they are, which sanitizers may align. */
static void blocks_are_for_a_device_that_is_used(void **state)
{
    (void) state;
    tsr_blocks_disable();
    const bool some_are_not = aligned_of_eight(malloc) < 8;
    tsr_blocks_enable(true);
    if (some_are_not)
        assert_in_range(aligned_of_eight(tsr_block_malloc), 0, 7);
    tsr_blocks_device_is_used();
    assert_int_equal(aligned_of_eight(tsr_block_malloc), 8);
}

/* Is the block's mapping to lie in huge pages? */
static bool is_for_huge_pages(const void *block)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false, found = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        uintptr_t begin, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2)
            inside = (uintptr_t) block >= begin && (uintptr_t) block < end;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, " hg");
    }
    fclose(file);
    return found;
}

static void results_of_a_device_lie_in_huge_pages(void **state)
{
    (void) state;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0)
        skip();
    tsr_blocks_enable(true);
    void *before = tsr_block_result(40 * MIB);
    tsr_blocks_device_is_used();
    void *plain = tsr_block_malloc(48 * MIB), *result = tsr_block_result(56 * MIB);
    assert_false(is_for_huge_pages((char *) before + 20 * MIB));
    assert_false(is_for_huge_pages((char *) plain + 20 * MIB));
    assert_true(is_for_huge_pages((char *) result + 20 * MIB));
    tsr_block_free(before);
    tsr_block_free(plain);
    tsr_block_free(result);
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
    for (int k = 0; k < 2; k++) {
        ask_again(1, 4 * MIB);
        tsr_block_free(touched(4 * MIB));
        assert_int_equal(kept(), 1);
        assert_null((k ? tsr_block_malloc : tsr_block_result)(SIZE_MAX / 2));
        assert_int_equal(kept(), 0);
    }
}

static void nothing_is_kept_when_disabled(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    tsr_blocks_disable();
    tsr_block_free(touched(4 * MIB));
    assert_int_equal(kept(), 0);
}

/* ---- limits of control groups ---- */

static void write_file(const char *root, const char *path, const char *text)
{
    char full[300];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        (void) mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *root, const char *path)
{
    char full[300];
    snprintf(full, sizeof full, "%s/%s", root, path);
    while (strlen(full) > strlen(root)) {
        (void) remove(full);
        *strrchr(full, '/') = '\0';
    }
}

static void control_groups_are_known(void **state)
{
    (void) state;
    char root[] = "/tmp/tessera-groups-XXXXXX", groups[64];
    assert_non_null(mkdtemp(root));
    snprintf(groups, sizeof groups, "%s/groups", root);
    static const char *const files[] = {"groups", "a/memory.max", "a/b/memory.max", "memory/x/y/memory.limit_in_bytes",
                                        "memory/memory.limit_in_bytes"};
    static const struct {
        const char *texts[5];
        size_t limit;
    } cases[] = {
        {{"0::/a/b\n", "5000\n", "max\n", "1\n", "1\n"}, 5000},                      /* the parent's */
        {{"0::/a/b\n", "max\n", "max\n", "1\n", "1\n"}, SIZE_MAX},
        {{"0::/a/b\n", "5000\n", "4000\n", "1\n", "1\n"}, 4000},
        {{"1:cpu:/x/y\n4:cpu,memory:/x/y\n", "1\n", "1\n", "700\n", "9223372036854771712\n"}, 700},
        {{"4:memory:/outer/name\n", "1\n", "1\n", "2\n", "600\n"}, 600},             /* in a container */
        {{"4:cpu:/x/y\nodd\n", "1\n", "1\n", "1\n", "1\n"}, SIZE_MAX},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        for (size_t k = 0; k < 5; k++)
            write_file(root, files[k], cases[n].texts[k]);
        assert_int_equal(tsr_memory_of_groups(groups, root), cases[n].limit);
    }
    for (size_t k = 0; k < 5; k++)
        remove_file(root, files[k]);
    assert_int_equal(rmdir(root), 0);
    assert_true(tsr_memory_most() > 0);
}

/* ---- threads ---- */

static void *work(void *argument)
{
    unsigned seed = (unsigned) (uintptr_t) argument;
    unsigned char *held[6] = {0};
    for (int round = 0; round < 400; round++) {
        const size_t slot = (size_t) rand_r(&seed) % 6;
        const size_t size = MIB + (size_t) rand_r(&seed) % (3 * MIB);
        if (round % 100 == 99)
            pass_time(1);
        if (round % 50 == 0)
            tsr_blocks_product(size);
        if (held[slot]) {
            if (held[slot][0] != (unsigned char) slot || held[slot][MIB - 1] != (unsigned char) slot)
                return (void *) 1;
            tsr_block_free(held[slot]);
            held[slot] = NULL;
        } else if ((held[slot] = (round % 2 ? tsr_block_malloc : tsr_block_result)(size))) {
            held[slot][0] = held[slot][MIB - 1] = (unsigned char) slot;
        }
    }
    for (size_t n = 0; n < 6; n++)
        tsr_block_free(held[n]);
    return NULL;
}

static void threads_never_share_a_block(void **state)
{
    (void) state;
    const size_t before = tsr_blocks_get_stats().hits;
    assert_int_equal(run_numbered_threads(4, work), 0);
    assert_true(tsr_blocks_get_stats().hits > before);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(large_block_comes_back), CASE(only_what_is_asked_for_again), CASE(nothing_before_a_product), CASE(small_blocks_are_not_kept),
        CASE(too_large_does_not_fit), CASE(sizes_hold_their_bytes), CASE(total_is_bounded), CASE(count_is_bounded),
        CASE(block_over_half_the_limit_is_given_back), CASE(nothing_is_kept_under_a_limit), CASE(what_nothing_took_goes_back),
        CASE(what_is_used_stays), CASE(products_end), CASE(blocks_belong_to_the_c_library), CASE(unaligned_blocks_are_not_kept),
        CASE(blocks_are_for_a_device_that_is_used), CASE(results_of_a_device_lie_in_huge_pages), CASE(realloc_keeps_contents), CASE(impossible_request_empties_the_cache), CASE(nothing_is_kept_when_disabled),
        CASE(control_groups_are_known), CASE(threads_never_share_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
