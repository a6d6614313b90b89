/* Page-locked blocks: which are locked and when, and that none leaves locked.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/graphblas/intercept/memory/pins.h"
#include "test/door/block_cache.h"
#include "test/threads.h"

/* ---- a device that knows what it has locked ---- */

enum { MOST = 64 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *locked[MOST];
static int nlocked, refusals;

static bool device_pin(void *block, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    const bool refused = refusals > 0;
    refusals -= refused;
    for (int n = 0; n < nlocked; n++)
        assert_ptr_not_equal(locked[n], block);
    if (!refused) {
        assert_in_range(nlocked, 0, MOST - 1);
        locked[nlocked++] = block;
        ((char *) block)[bytes - 1] = 1; /* all of it is there */
    }
    pthread_mutex_unlock(&mutex);
    return !refused;
}

static void device_unpin(void *block)
{
    pthread_mutex_lock(&mutex);
    int at = 0;
    while (at < nlocked && locked[at] != block)
        at++;
    assert_int_not_equal(at, nlocked);
    ((char *) block)[0] = 1; /* still there */
    locked[at] = locked[--nlocked];
    pthread_mutex_unlock(&mutex);
}

static const tsr_backend device = {.pin = device_pin, .unpin = device_unpin};

static bool is_locked(const void *block)
{
    for (int n = 0; n < nlocked; n++)
        if (locked[n] == block)
            return true;
    return false;
}

/* Used until it is locked, or for long enough. */
static void use_often(const void *block)
{
    for (int k = 0; k < 5; k++)
        tsr_pins_use(block, &device);
}

static int set_up(void **state)
{
    (void) state;
    refusals = 0;
    start_cache(true);
    tsr_blocks_device_is_used();
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    tsr_blocks_drain();
    return nlocked == 0 && tsr_pins_get_stats().noted == 0 ? 0 : 1;
}

/* ---- what is locked ---- */

static void not_at_first(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    void *block = tsr_block_malloc(4 * MIB);
    assert_true(tsr_pins_noted(block) && !tsr_pins_noted((char *) block + 16) && !tsr_pins_noted(NULL));
    tsr_pins_use(block, &device);
    assert_false(is_locked(block));
    use_often(block);
    assert_true(is_locked(block));
    assert_in_range(tsr_pins_get_stats().pinned_bytes, 4 * MIB, 5 * MIB);
    tsr_block_free(block);
    assert_true(is_locked(block)); /* it waits for its next use */
    assert_ptr_equal(tsr_block_malloc(4 * MIB), block);
    assert_true(is_locked(block));
    tsr_block_free(block);
}

/* Locking a large one pays sooner. */
static void large_ones_sooner(void **state)
{
    (void) state;
    void *small = tsr_block_malloc(4 * MIB), *large = tsr_block_malloc(20 * MIB);
    for (int k = 0; k < 2; k++) {
        tsr_pins_use(small, &device);
        tsr_pins_use(large, &device);
    }
    assert_true(is_locked(large) && !is_locked(small));
    tsr_block_free(small);
    tsr_block_free(large);
}

/* Memory that came from elsewhere, the middle of a block, small blocks, a device without the functions. */
static void only_ours(void **state)
{
    (void) state;
    char *block = tsr_block_malloc(4 * MIB), *small = tsr_block_malloc(1000), *strange = malloc(4 * MIB);
    use_often(block + 16);
    use_often(small);
    use_often(strange);
    use_often(NULL);
    for (int k = 0; k < 4; k++)
        tsr_pins_use(block, &(tsr_backend){0});
    assert_int_equal(nlocked, 0);
    tsr_block_free(block);
    tsr_block_free(small);
    free(strange);
}

static void refused_once_is_enough(void **state)
{
    (void) state;
    void *block = tsr_block_malloc(4 * MIB);
    refusals = 1;
    use_often(block);
    assert_int_equal(nlocked, 0);
    assert_int_equal(tsr_pins_get_stats().pinned_bytes, 0);
    tsr_block_free(block);
}

/* ---- how blocks leave ---- */

static void *locked_block(size_t size)
{
    void *block = tsr_block_malloc(size);
    use_often(block);
    assert_true(is_locked(block));
    return block;
}

static void freed_for_good(void **state)
{
    (void) state;
    void *block = locked_block(40 * MIB); /* nobody asked for another one */
    tsr_block_free(block);
    assert_false(is_locked(block));
    ask_again(4, 20 * MIB);
    for (int k = 0; k < 4; k++) { /* the cache has room for three */
        void *blocks[4];
        for (int n = 0; n < 4; n++)
            blocks[n] = locked_block(20 * MIB);
        for (int n = 0; n < 4; n++)
            tsr_block_free(blocks[n]);
        assert_int_equal(nlocked, 3);
    }
}

static void moved(void **state)
{
    (void) state;
    void *block = locked_block(4 * MIB), *larger = tsr_block_realloc(block, 48 * MIB);
    assert_int_equal(nlocked, 0);
    use_often(larger);
    assert_true(is_locked(larger));
    void *little = tsr_block_realloc(larger, 100);
    assert_int_equal(nlocked, 0);
    tsr_block_free(little);
}

/* As the wrappers of unpack and export say: afterwards free() is right, and what is at the address is not ours. */
static void given_to_the_program(void **state)
{
    (void) state;
    void *block = locked_block(4 * MIB);
    tsr_pins_forget(block);
    assert_false(is_locked(block));
    use_often(block);
    assert_int_equal(nlocked, 0);
    free(block);
    tsr_pins_forget(NULL);
    tsr_pins_forget(state);
}

static void finalized(void **state)
{
    (void) state;
    ask_again(1, 4 * MIB);
    void *kept = locked_block(4 * MIB), *alive = locked_block(5 * MIB);
    tsr_block_free(kept);
    assert_true(is_locked(kept));
    tsr_blocks_drain();
    assert_int_equal(nlocked, 0);
    use_often(alive);
    assert_int_equal(nlocked, 0);
    tsr_block_free(alive);
}

static void at_a_fork(void **state)
{
    (void) state;
    void *block = locked_block(4 * MIB);
    tsr_pins_before_fork();
    assert_int_equal(nlocked, 0);
    use_often(block);
    assert_int_equal(nlocked, 0);
    tsr_pins_after_fork();
    use_often(block);
    assert_true(is_locked(block));
    tsr_block_free(block);
}

static void no_device_after_all(void **state)
{
    (void) state;
    void *before = tsr_block_malloc(4 * MIB);
    tsr_blocks_no_device();
    void *after = tsr_block_malloc(4 * MIB);
    assert_false(tsr_pins_noted(before) || tsr_pins_noted(after));
    tsr_block_free(before);
    tsr_block_free(after);
}

/* ---- many ---- */

static void more_than_can_be_noted(void **state)
{
    enum { BLOCKS = 1100 };
    (void) state;
    static void *blocks[BLOCKS];
    for (int n = 0; n < BLOCKS; n++)
        blocks[n] = tsr_block_malloc(MIB + 1000);
    assert_in_range(tsr_pins_get_stats().noted, 100, BLOCKS - 1);
    use_often(blocks[BLOCKS - 1]);
    assert_int_equal(nlocked, 0);
    for (int n = 0; n < BLOCKS; n++)
        tsr_block_free(blocks[n]);
}

static void *worker(void *argument)
{
    for (int round = 0; round < 300; round++) {
        void *block = tsr_block_malloc((size_t) (1 + (round + (int) (intptr_t) argument) % 7) * MIB);
        use_often(block);
        if (round % 5 == 0)
            block = tsr_block_realloc(block, (size_t) (1 + round % 3) * MIB);
        if (round % 7 == 0) {
            tsr_pins_forget(block);
            free(block);
        } else {
            tsr_block_free(block);
        }
        if (round % 50 == 0) {
            tsr_pins_before_fork();
            tsr_pins_after_fork();
        }
    }
    return NULL;
}

static void threads(void **state)
{
    (void) state;
    assert_int_equal(run_numbered_threads(4, worker), 0);
}

/* What a program that asks for the allocator may use has nothing to do with this. */
static void allocator_is_hidden(void **state)
{
    (void) state;
    void *(*allocate)(size_t) = tsr_block_malloc;
    void *(*move)(void *, size_t) = tsr_block_realloc;
    void (*release)(void *) = tsr_block_free;
    void *other = state;
    tsr_blocks_hide(&allocate);
    tsr_blocks_hide(&move);
    tsr_blocks_hide(&release);
    tsr_blocks_hide(&other);
    tsr_blocks_hide(NULL);
    assert_true(allocate == malloc && move == realloc && release == free && other == state);
}

#define PINS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PINS_TEST(not_at_first), PINS_TEST(large_ones_sooner), PINS_TEST(only_ours), PINS_TEST(refused_once_is_enough), PINS_TEST(freed_for_good),
        PINS_TEST(moved), PINS_TEST(given_to_the_program), PINS_TEST(finalized), PINS_TEST(at_a_fork), PINS_TEST(no_device_after_all),
        PINS_TEST(more_than_can_be_noted), PINS_TEST(threads), PINS_TEST(allocator_is_hidden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
