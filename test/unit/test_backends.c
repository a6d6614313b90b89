/* The plug-in loader: takes a good plug-in, refuses the others with at most one line.
 * Arguments: plug-ins that are good, of another version, unusable here (score 0), without the names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/registry/backends.h"
#include "test/unit/child.h"

static char **plugins;

/* The child's view: TESSERA_PLUGIN_DIR has the plug-in under the name the loader looks for. */
static child with_plugin(const char *file, void (*body)(void))
{
    char folder[256];
    make_folder();
    snprintf(folder, sizeof folder, "TESSERA_PLUGIN_DIR=%s", in_folder(""));
    if (file) {
        char full[4096];
        assert_non_null(realpath(file, full));
        assert_int_equal(symlink(full, in_folder("libtessera_cuda.so")), 0);
    }
    child c = run_child(body, (const char *[]){folder, NULL});
    remove_folder();
    return c;
}

static void use_it(void)
{
    const tsr_backend *gpu = tsr_backend_gpu();
    tsr_result result = {0};
    tsr_product product = {.m = 1};
    REQUIRE(gpu && strcmp(gpu->name, "fake") == 0);
    REQUIRE(gpu->supports(&product) && gpu->execute(&product, &result) == TSR_OK && result.nvals == 42);
    REQUIRE(tsr_backend_gpu() == gpu);
}

static void expect_none(void)
{
    REQUIRE(tsr_backend_gpu() == NULL);
    REQUIRE(tsr_backend_gpu() == NULL);
}

static void test_good_plugin(void **state)
{
    (void)state;
    child c = with_plugin(plugins[0], use_it);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

static void test_other_version(void **state)
{
    (void)state;
    child c = with_plugin(plugins[1], expect_none);
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "has interface"), 1);
    assert_int_equal(occurrences(c.error, "\n"), 1);
}

static void test_unusable_here_is_silent(void **state)
{
    (void)state;
    child c = with_plugin(plugins[2], expect_none);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

static void test_not_a_plugin(void **state)
{
    (void)state;
    child c = with_plugin(plugins[3], expect_none);
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "is not a backend"), 1);
    c = with_plugin("/etc/passwd", expect_none);
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "cannot load"), 1);
}

static void test_no_plugin_is_silent(void **state)
{
    (void)state;
    child c = with_plugin(NULL, expect_none);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

static void test_the_cpu_is_always_there(void **state)
{
    (void)state;
    assert_non_null(tsr_backend_cpu());
    assert_int_equal(tsr_backend_cpu()->api_version, TSR_BACKEND_API_VERSION);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_plugin),
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_unusable_here_is_silent),
        cmocka_unit_test(test_not_a_plugin),
        cmocka_unit_test(test_no_plugin_is_silent),
        cmocka_unit_test(test_the_cpu_is_always_there),
    };
    if (argc != 5) {
        return 1;
    }
    plugins = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
