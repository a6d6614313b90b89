/* Which loaded object an address belongs to.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/loaded.h"

static const char constant[] = "constant";
static int variable[4096] = {1};

static tsr_loaded object_of(const void *address)
{
    tsr_loaded object = {0};
    assert_true(tsr_loaded_find(&object, address));
    return object;
}

static void program(void **state)
{
    (void)state;
    const tsr_loaded object = object_of(constant);
    assert_string_equal(object.file, "/proc/self/exe");
    assert_ptr_equal(object.segments, object_of(&variable[4095]).segments);
    assert_ptr_equal(object.segments, object_of((const void *)(uintptr_t)program).segments);
}

/* As dladdr says; of functions that no sanitizer has as well. */
static void libraries(void **state)
{
    (void)state;
    const void *version = dlsym(RTLD_NEXT, "gnu_get_libc_version"), *root = dlsym(RTLD_DEFAULT, "cmocka_set_message_output");
    Dl_info info;
    assert_non_null(version);
    assert_true(dladdr(version, &info));
    assert_string_equal(object_of(version).file, info.dli_fname);
    assert_ptr_equal(object_of(version).segments, object_of(dlsym(RTLD_NEXT, "getpagesize")).segments);
    assert_ptr_not_equal(object_of(version).segments, object_of(constant).segments);
    assert_non_null(root);
    assert_ptr_not_equal(object_of(version).segments, object_of(root).segments);
}

static void nowhere(void **state)
{
    (void)state;
    tsr_loaded object;
    void *block = malloc(1 << 20);
    const int local = 0;
    assert_non_null(block);
    assert_false(tsr_loaded_find(&object, block));
    assert_false(tsr_loaded_find(&object, &local));
    assert_false(tsr_loaded_find(&object, NULL));
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(program), cmocka_unit_test(libraries), cmocka_unit_test(nowhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
