/* Configuration: every option, the order of the layers, wrong values, hostile files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/kernels.h"
#include "src/runtime/config.h"
#include "test/threads.h"
#include "test/unit/child.h"

static int parse(tsr_config *config, const char *text)
{
    tsr_config_defaults(config);
    return tsr_config_parse(config, text, strlen(text), "test", true);
}

/* ---- values ---- */

static void test_every_option_is_parsed(void **state)
{
    (void)state;
    tsr_config c;
    const char *text = "mode = gpu\ndisable = mxm, sddmm\nmin_work = 1.5e6\ndevice = 3\ndevice_memory = 2G\n"
                       "precision = bf16\nreorder = lpa\nkernel = me-tcf\nmodel = /a/b.model\ntrace = t.%p\n"
                       "verbose = 2\n"
                       "check = on\ndefer = true\n";
    assert_int_equal(parse(&c, text), 0);
    assert_int_equal(c.mode, TSR_MODE_GPU);
    assert_int_equal(c.disabled, TSR_DISABLE_MXM | TSR_DISABLE_SDDMM);
    assert_true(c.min_work == 1.5e6);
    assert_int_equal(c.device, 3);
    assert_true(c.device_memory == (size_t)2 << 30);
    assert_int_equal(c.precision, TSR_PRECISION_BF16);
    assert_int_equal(c.reorder, TSR_REORDER_LPA);
    assert_string_equal(c.kernel, "me-tcf");
    assert_string_equal(c.model, "/a/b.model");
    assert_string_equal(c.trace, "t.%p");
    assert_int_equal(c.verbose, 2);
    assert_true(c.check && c.defer);
}

static void test_local_device(void **state)
{
    (void)state;
    tsr_config c;
    assert_int_equal(parse(&c, "device = Local"), 0);
    assert_int_equal(c.device, TSR_DEVICE_LOCAL);
    assert_int_equal(parse(&c, "device = locals"), 1);
}

static void test_wrong_values_change_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "mode = fast", "mode =", "mode = gpu2", "disable = mxm,nonsense", "min_work = -1", "min_work = nan",
            "min_work = inf",
        "min_work = 1e19", "min_work = 12 apples", "min_work = 0x", "device = -1", "device = 256", "device = 1.5",
        "device = 99999999999999999999", "device_memory = 1X", "device_memory = -1", "device_memory = 1KK",
        "device_memory = 99999999999999999999", "device_memory = 99999999999T", "device_memory = G", "precision = fp8",
        "reorder = yes", "kernel = a/b", "kernel = 01234567890123456789012345678901", "verbose = 3", "verbose = -1",
        "verbose = 1x", "check = 2", "check = maybe", "defer =", "nonsense = 1", "mode", "= gpu", "[tessera",
            "[other]\nmode = gpu",
    };
    tsr_config before = {0}, c = {0};
    tsr_config_defaults(&before);
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        int count = parse(&c, wrong[k]);
        if (count != 1 || memcmp(&before, &c, sizeof c) != 0) {
            fail_msg("\"%s\": %d wrong lines", wrong[k], count);
        }
    }
}

static void test_sizes_have_suffixes(void **state)
{
    (void)state;
    static const struct { const char *text; size_t value; } sizes[] = {
        {"0", 0}, {"17", 17}, {"3K", 3 << 10}, {"3k", 3 << 10}, {"5M", 5 << 20}, {"7G", (size_t)7 << 30},
        {"1T", (size_t)1 << 40},
    };
    char line[64];
    tsr_config c;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        snprintf(line, sizeof line, "device_memory = %s", sizes[k].text);
        assert_int_equal(parse(&c, line), 0);
        assert_true(c.device_memory == sizes[k].value);
    }
}

/* What describe prints is what set takes. */
static void described_values_are_valid(void)
{
    tsr_config_row row;
    REQUIRE(tsr_config_set("disable", "mxv,masked_dot") == TSR_OK);
    REQUIRE(tsr_config_set("min_work", "123456") == TSR_OK);
    for (int k = 0; tsr_config_describe(k, &row); k++) {
        char value[sizeof row.value];
        strcpy(value, row.value);
        REQUIRE(tsr_config_set(row.name, value) == TSR_OK);
        REQUIRE(tsr_config_describe(k, &row) && strcmp(row.value, value) == 0 && strcmp(row.layer, "API") == 0);
    }
    REQUIRE(tsr_config_get()->min_work == 123456);
    REQUIRE(!tsr_config_describe(-1, &row) && !tsr_config_describe(100, &row));
}

static void test_described_values_are_valid(void **state)
{
    (void)state;
    assert_int_equal(run_child(described_values_are_valid, NULL).code, 0);
}

/* ---- files ---- */

static void test_file_syntax(void **state)
{
    (void)state;
    tsr_config c;
    assert_int_equal(parse(&c,
                           "\xEF\xBB\xBF# comment\r\n; another\r\n\r\n[tessera]\r\n  mode = cpu\r\n"
                           "\tverbose: 1 ; why\r\ndevice=2"), 0);
    assert_int_equal(c.mode, TSR_MODE_CPU);
    assert_int_equal(c.verbose, 1);
    assert_int_equal(c.device, 2);
}

static void test_an_indented_line_is_no_continuation(void **state)
{
    (void)state;
    tsr_config c;
    assert_int_equal(parse(&c, "trace = a\n   mode = cpu\n   nonsense\n"), 1);
    assert_string_equal(c.trace, "a");
    assert_int_equal(c.mode, TSR_MODE_CPU);
}

static void test_nul_bytes_and_long_lines(void **state)
{
    (void)state;
    static const char nul[] = "mode = g\0pu\nverbose = 1\n";
    tsr_config c;
    char *long_line = malloc(100001);
    tsr_config_defaults(&c);
    assert_int_equal(tsr_config_parse(&c, nul, sizeof nul - 1, "test", true), 1);
    assert_int_equal(c.mode, TSR_MODE_AUTO);
    assert_int_equal(c.verbose, 1);
    memset(long_line, 'x', 100000);
    memcpy(long_line, "trace = ", 8);
    memcpy(long_line + 50000, "\ndevice = 4\n", 12);
    long_line[100000] = '\0';
    assert_int_equal(parse(&c, long_line), 2);
    assert_string_equal(c.trace, "");
    assert_int_equal(c.device, 4);
    free(long_line);
}

/* ---- layers ---- */

static void expect_auto(void)
{
    REQUIRE(tsr_config_get()->mode == TSR_MODE_AUTO);
}

static void expect_cpu(void)
{
    REQUIRE(tsr_config_get()->mode == TSR_MODE_CPU);
}

static void expect_gpu(void)
{
    REQUIRE(tsr_config_get()->mode == TSR_MODE_GPU);
}

static void expect_off_and_layers(void)
{
    tsr_config_row row;
    REQUIRE(tsr_config_get()->mode == TSR_MODE_OFF);
    REQUIRE(tsr_config_describe(0, &row) && strcmp(row.layer, "environment") == 0);
    REQUIRE(tsr_config_get()->device == 1); /* user file alone */
    REQUIRE(tsr_config_get()->verbose == 2); /* TESSERA_CONFIG over user file */
    const tsr_config *old = tsr_config_get();
    REQUIRE(tsr_config_set("mode", "gpu") == TSR_OK);
    REQUIRE(tsr_config_get()->mode == TSR_MODE_GPU && old->mode == TSR_MODE_OFF);
    REQUIRE(tsr_config_describe(0, &row) && strcmp(row.layer, "API") == 0);
    REQUIRE(tsr_config_set("verbose", "0") == TSR_OK);
}

static char variables[4][256];

static const char *variable(int slot, const char *name, const char *value)
{
    snprintf(variables[slot], sizeof variables[slot], "%s=%s", name, value);
    return variables[slot];
}

static void test_order_of_layers(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(mkdir(in_folder("tessera"), 0777), 0);
    write_text(in_folder("tessera/tessera.conf"), "mode = cpu\ndevice = 1\nverbose = 1\n");
    write_text(in_folder("named.conf"), "mode = gpu\nverbose = 2\n");
    const char *user = variable(0, "XDG_CONFIG_HOME", in_folder(""));
    const char *named = variable(1, "TESSERA_CONFIG", in_folder("named.conf"));
    assert_int_equal(run_child(expect_auto, NULL).code, 0);
    assert_int_equal(run_child(expect_cpu, (const char *[]){user, NULL}).code, 0);
    assert_int_equal(run_child(expect_gpu, (const char *[]){user, named, NULL}).code, 0);
    child c = run_child(expect_off_and_layers, (const char *[]){user, named, "TESSERA_MODE=off", NULL});
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
    remove_folder();
}

static void test_home_and_the_current_directory(void **state)
{
    (void)state;
    char before[4096];
    make_folder();
    assert_int_equal(mkdir(in_folder(".config"), 0777), 0);
    assert_int_equal(mkdir(in_folder(".config/tessera"), 0777), 0);
    write_text(in_folder(".config/tessera/tessera.conf"), "mode = cpu\n");
    assert_int_equal(run_child(expect_cpu, (const char *[]){variable(0, "HOME", in_folder("")), NULL}).code, 0);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(in_folder(".config")), 0);
    /* relative folders would mean the current directory */
    assert_int_equal(run_child(expect_auto, (const char *[]){"XDG_CONFIG_HOME=.", NULL}).code, 0);
    assert_int_equal(run_child(expect_auto, (const char *[]){"HOME=..", NULL}).code, 0);
    assert_int_equal(chdir(before), 0);
    remove_folder();
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    const char *const paths[] = {in_folder("missing"), in_folder(""), in_folder("pipe"), "/dev/zero"};
    for (int k = 0; k < 4; k++) {
        child c = run_child(expect_auto, (const char *[]){variable(0, "TESSERA_CONFIG", paths[k]), NULL});
        assert_int_equal(c.code, 0);
        assert_int_equal(occurrences(c.error, "tessera: cannot read configuration"), 1);
        assert_int_equal(occurrences(c.error, "\n"), 1);
    }
    remove_folder();
}

/* ---- messages ---- */

static void load_twice(void)
{
    tsr_config_get();
    tsr_config_get();
    REQUIRE(tsr_config_wrong() == 3);
    REQUIRE(tsr_config_get()->device == 5);
}

static void test_wrong_variables_are_named_once(void **state)
{
    (void)state;
    const char *environment[] = {"TESSERA_MODE=fast", "TESSERA_MOED=gpu", "TESSERA_VERBOSE=1\n2", "TESSERA_DEVICE=5",
                                 "TESSERA_CPU_ISA=avx2", "TESSERA_PLUGIN_DIR=/x", "TESSERA_CHECK_BLIND=mxm",
                                 "TESSERA_TEST_ANYTHING=1", "TESSERA_KERNEL=", NULL};
    child c = run_child(load_twice, environment);
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "\n"), 3);
    assert_int_equal(occurrences(c.error, "TESSERA_MODE=fast: wrong value, allowed: auto, cpu, gpu, off; ignored\n"),
                     1);
    assert_int_equal(occurrences(c.error, "TESSERA_MOED: unknown variable; ignored\n"), 1);
    assert_int_equal(occurrences(c.error, "TESSERA_VERBOSE=1?2: wrong value, allowed: 0, 1, 2"), 1);
}

enum { NOT_PRIVILEGED = 50, ISA_CODE = 60 };

static void isa_of_this_process(void)
{
    tsr_config_get();
    REQUIRE(tsr_cpu_isa() <= TSR_ISA_AVX512);
}

static void isa_of_this_process_as_code(void)
{
    exit(ISA_CODE + (int)tsr_cpu_isa());
}

static void test_a_wrong_instruction_set_is_named(void **state)
{
    (void)state;
    child c = run_child(isa_of_this_process, (const char *[]){"TESSERA_CPU_ISA=sse9", NULL});
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "tessera: TESSERA_CPU_ISA=sse9: wrong value, allowed: baseline, avx2, avx512; ignored\n");
}

/* ---- with other privileges than its caller's ---- */

/* A copy of this program that runs as somebody else; false: nobody else is at hand. */
static bool make_privileged_copy(const char *path)
{
    char own[4096], command[5200];
    gid_t groups[64];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1); /* under valgrind only the link says what runs */
    snprintf(command, sizeof command, "cp %.*s %s", length > 0 ? (int)length : 0, own, path);
    assert_int_equal(system(command), 0);
    if (geteuid() == 0) {
        return chown(path, 65534, (gid_t)-1) == 0 && chmod(path, 04755) == 0;
    }
    for (int k = getgroups(64, groups) - 1; k >= 0; k--) {
        if (groups[k] != getegid() && chown(path, (uid_t)-1, groups[k]) == 0) {
            return chmod(path, 02755) == 0;
        }
    }
    return false;
}

static void run_privileged_copy(void)
{
    execl(in_folder("copy"), in_folder("copy"), "--privileged", NULL);
    exit(NOT_PRIVILEGED);
}

static int what_a_privileged_process_sees(void)
{
    if (!getauxval(AT_SECURE)) {
        return NOT_PRIVILEGED;
    }
    return tsr_config_get()->mode == TSR_MODE_AUTO ? ISA_CODE + (int)tsr_cpu_isa() : 1;
}

static void test_privileged_programs_ignore_the_environment(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* which looks for leaks at the end, and may not in somebody else's process */
#endif
    make_folder();
    const int code = make_privileged_copy(in_folder("copy"))
        ? run_child(run_privileged_copy, (const char *[]){"TESSERA_CPU_ISA=baseline", "TESSERA_MODE=gpu", NULL}).code : NOT_PRIVILEGED;
    remove_folder();
    if (code == NOT_PRIVILEGED) {
        skip();
    }
    assert_true(code >= ISA_CODE);
    if (run_child(isa_of_this_process_as_code, NULL).code != ISA_CODE) {
        assert_int_not_equal(code, ISA_CODE); /* maybe another one than this process has under valgrind */
    }
    assert_int_equal(run_child(isa_of_this_process_as_code, (const char *[]){"TESSERA_CPU_ISA=baseline", NULL}).code, ISA_CODE);
}

static void count_strictly(void)
{
    exit(tsr_config_wrong());
}

static void test_wrong_lines_are_named_once(void **state)
{
    (void)state;
    make_folder();
    write_text(in_folder("bad.conf"), "mode = cpu\nmode = slow\n\ncolour = red\n");
    child c = run_child(count_strictly, (const char *[]){variable(0, "TESSERA_CONFIG", in_folder("bad.conf")), NULL});
    assert_int_equal(c.code, 2);
    assert_int_equal(occurrences(c.error, "\n"), 2);
    assert_non_null(strstr(c.error, "bad.conf, line 2: wrong value: mode = slow, allowed: auto, cpu, gpu, off\n"));
    assert_non_null(strstr(c.error, "bad.conf, line 4: unknown name colour\n"));
    remove_folder();
}

static void set_wrong_values(void)
{
    const tsr_config *before = tsr_config_get();
    REQUIRE(tsr_config_set("mode", "fast") == TSR_INVALID_VALUE);
    REQUIRE(tsr_config_set("moed", "cpu") == TSR_INVALID_VALUE);
    REQUIRE(tsr_config_set(NULL, "cpu") == TSR_INVALID_VALUE && tsr_config_set("mode", NULL) == TSR_INVALID_VALUE);
    REQUIRE(tsr_config_get() == before);
}

static void test_the_api_says_no_without_a_message(void **state)
{
    (void)state;
    child c = run_child(set_wrong_values, NULL);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

/* ---- other surroundings ---- */

static void use_decimal_comma(void)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8")) {
        REQUIRE(tsr_config_set("min_work", "2.5e3") == TSR_OK && tsr_config_get()->min_work == 2500);
    }
    REQUIRE(tsr_config_set("min_work", "2,5") == TSR_INVALID_VALUE);
}

static void test_numbers_have_points_in_every_locale(void **state)
{
    (void)state;
    assert_int_equal(run_child(use_decimal_comma, NULL).code, 0);
}

static void *read_and_set(void *unused)
{
    for (int k = 0; k < 200; k++) {
        const tsr_config *c = tsr_config_get();
        REQUIRE(c->device == 7 && (c->mode == TSR_MODE_CPU || c->mode == TSR_MODE_GPU || c->mode == TSR_MODE_AUTO));
        REQUIRE(tsr_config_set("mode", k % 2 ? "cpu" : "gpu") == TSR_OK);
    }
    return unused;
}

static void many_threads(void)
{
    REQUIRE(run_threads(8, read_and_set, NULL, 0) == 0);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(run_child(many_threads, (const char *[]){"TESSERA_DEVICE=7", NULL}).code, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--privileged") == 0) {
        return what_a_privileged_process_sees();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option_is_parsed),
        cmocka_unit_test(test_local_device),
        cmocka_unit_test(test_wrong_values_change_nothing),
        cmocka_unit_test(test_sizes_have_suffixes),
        cmocka_unit_test(test_described_values_are_valid),
        cmocka_unit_test(test_file_syntax),
        cmocka_unit_test(test_an_indented_line_is_no_continuation),
        cmocka_unit_test(test_nul_bytes_and_long_lines),
        cmocka_unit_test(test_order_of_layers),
        cmocka_unit_test(test_home_and_the_current_directory),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_wrong_variables_are_named_once),
        cmocka_unit_test(test_a_wrong_instruction_set_is_named),
        cmocka_unit_test(test_privileged_programs_ignore_the_environment),
        cmocka_unit_test(test_wrong_lines_are_named_once),
        cmocka_unit_test(test_the_api_says_no_without_a_message),
        cmocka_unit_test(test_numbers_have_points_in_every_locale),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
