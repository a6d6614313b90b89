/* Allocations that fail one after another.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/unit/failing_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
void __wrap_free(void *block);

static bool counting;  /* only while the code under test runs: the test framework allocates too */
static int until_fail; /* allocations that still succeed */
static int64_t live;

static bool granted(void)
{
    return !counting || until_fail-- > 0;
}

static void *note(void *block)
{
    if (counting && block)
        live++;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return granted() ? note(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return granted() ? note(__real_calloc(count, size)) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return granted() ? note(__real_aligned_alloc(alignment, size)) : NULL;
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    const int status = granted() ? __real_posix_memalign(block, alignment, size) : ENOMEM;
    if (status == 0)
        note(*block);
    return status;
}

void __wrap_free(void *block)
{
    if (counting && block)
        live--;
    __real_free(block);
}

void memory_pause(void)
{
    counting = false;
}

void memory_resume(void)
{
    counting = true;
}

int memory_failures(memory_attempt *attempt, void *context)
{
    for (int failures = 0;; failures++) {
        live = 0;
        until_fail = failures;
        counting = true;
        tsr_status status = attempt(context);
        counting = false;
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY);
        assert_int_equal(live, 0);
        if (status == TSR_OK)
            return failures;
    }
}
