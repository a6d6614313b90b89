/* The plug-in loader: takes a good plug-in, refuses the others with at most one line.
 * Arguments: plug-ins that are good, of another version, unusable here (score 0), without the names, that fail, that decline, that are slow to
 * begin, and perhaps the real one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/engine/call/clock.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/execute.h"
#include "src/policy/history/start_history.h"
#include "src/policy/history/stay_history.h"
#include "src/policy/history/timing_history.h"
#include "src/policy/price/gpu_price.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/paths.h"
#include "test/unit/child.h"

static char **plugins;

/* The child's view: TESSERA_PLUGIN_DIR has the plug-in under the name the loader looks for. */
static child with_plugin_as(const char *file, void (*body)(void), const char *first, const char *second, const char *third)
{
    char folder[256];
    make_folder();
    snprintf(folder, sizeof folder, "TESSERA_PLUGIN_DIR=%s", in_folder(""));
    if (file) {
        char full[4096];
        assert_non_null(realpath(file, full));
        assert_int_equal(symlink(full, in_folder("libtessera_cuda.so")), 0);
    }
    child c = run_child(body, (const char *[]){folder, first, second, third, NULL});
    remove_folder();
    return c;
}

static child with_plugin(const char *file, void (*body)(void))
{
    return with_plugin_as(file, body, NULL, NULL, NULL);
}

static void use_it(void)
{
    REQUIRE(tsr_backend_gpu_unasked());
    const tsr_backend *gpu = tsr_backend_gpu();
    REQUIRE(!tsr_backend_gpu_unasked());
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

static void expect_none_installed(void)
{
    REQUIRE(!tsr_backend_gpu_unasked());
    expect_none();
}

static void test_good_plugin(void **state)
{
    (void)state;
    child c = with_plugin(plugins[0], use_it);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

/* The fake has one device: every local rank gets it. */
static void test_local_ranks_share_devices(void **state)
{
    (void)state;
    child c = with_plugin_as(plugins[0], use_it, "TESSERA_DEVICE=local", "MPI_LOCALRANKID=3", "MPI_LOCALNRANKS=4");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
    c = with_plugin_as(plugins[0], expect_none, "TESSERA_DEVICE=3", "MPI_LOCALRANKID=3", NULL);
    assert_int_equal(c.code, 0);
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
    child c = with_plugin(NULL, expect_none_installed);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

/* ---- a plug-in that does not finish what it began ---- */

static const int64_t row_offsets[] = {0, 2}, columns[] = {0, 1};
static const double ones[] = {1, 1}, column[] = {3, 4};

static tsr_call one_row(void)
{
    tsr_call r = {.given.name = "test"};
    r.product = (tsr_product){.op = TSR_OP_SPMV, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 1, .n = 1, .k = 2,
                              .nthreads = 1};
    r.product.a = (tsr_view){.format = TSR_SPARSE, .type = TSR_FP64, .index_size = 8, .nrows = 1, .ncols = 2, .nvec = 1,
                             .vlen = 2, .nvals = 2, .p = row_offsets, .i = columns, .x = ones};
    r.product.b = (tsr_view){.format = TSR_FULL, .type = TSR_FP64, .by_col = true, .nrows = 2, .ncols = 1, .nvec = 1, .vlen = 2,
                             .ld = 2, .nvals = 2, .x = column};
    return r;
}

/* The CPU finishes it; returns whether the GPU was asked. */
static bool computed(void)
{
    tsr_call r = one_row();
    tsr_decision d;
    double x = 0;
    tsr_engine_decide(&r, &d);
    REQUIRE(d.backend != NULL);
    bool asked = d.backend != tsr_backend_cpu();
    REQUIRE(tsr_engine_execute(&r, &d, &(tsr_result){.x = &x}) == TSR_OK && x == 7);
    return asked;
}

static void gpu_fails(void)
{
    REQUIRE(tsr_config_set("mode", "gpu") == TSR_OK);
    REQUIRE(computed());
    REQUIRE(tsr_backend_gpu() == NULL);
    REQUIRE(!computed());
}

static void gpu_declines(void)
{
    REQUIRE(tsr_config_set("mode", "gpu") == TSR_OK);
    REQUIRE(computed());
    REQUIRE(computed()); /* it may do the next one */
}

static void gpu_only_when_worth_it(void)
{
    REQUIRE(!computed()); /* mode auto, a small product */
    REQUIRE(tsr_config_set("mode", "cpu") == TSR_OK);
    REQUIRE(!computed());
}

/* Only decided, not computed: sizes are all that counts. */
static bool gpu_chosen(double expected_calls)
{
    tsr_call r = one_row();
    tsr_decision d;
    r.expected_calls = expected_calls;
    r.product.op = TSR_OP_SPMM;
    r.product.n = r.product.b.ncols = r.product.b.vlen = r.product.b.ld = 128;
    r.product.b.by_col = false;
    r.product.a.nvals = 1000 * 1000;
    r.a.record = NULL;
    tsr_engine_decide(&r, &d);
    return d.backend != NULL && d.backend != tsr_backend_cpu();
}

/* Products of some 50 ms: a few start it, and none waits; it is not paid again. */
static void gpu_starts_when_it_pays(void)
{
    REQUIRE(!gpu_chosen(0) && !tsr_backend_gpu_asked());
    for (int calls = 1; calls < 20; calls++)
        gpu_chosen(0); /* it may be there before the next one, or later */
    REQUIRE(tsr_backend_gpu() != NULL); /* waits */
    REQUIRE(gpu_chosen(0));
}

static void gpu_starts_when_much_is_expected(void)
{
    REQUIRE(gpu_chosen(1000));
}

enum { PULLS = 7 }; /* a loop */

static tsr_call search(tsr_record *record)
{
    tsr_call r = one_row();
    r.product.semiring = (tsr_semiring){TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR};
    r.product.a.nvals = 1000 * 1000;
    r.may_forward = r.one_value = r.in_place = true;
    r.a.record = record;
    return r;
}

static bool on_gpu(const tsr_decision *d)
{
    return d->backend && d->backend != tsr_backend_cpu();
}

/* A pull, whose time on SuiteSparse is not predicted; returns whether the GPU is to compute it, else it took `ms`. */
static bool pulled(tsr_record *record, double ms)
{
    tsr_call r = search(record);
    tsr_decision d;
    r.remote.loop = PULLS;
    r.remote.settled = tsr_stay_on_device(PULLS);
    tsr_engine_decide(&r, &d);
    if (on_gpu(&d))
        return true;
    REQUIRE(!d.backend && d.observed_ms > 0 && d.observed_ms < 10 && d.move_ms > 0);
    tsr_engine_observe(&r, &d, ms);
    return false;
}

static bool pushed(tsr_record *record)
{
    const tsr_call r = search(record);
    tsr_decision d;
    tsr_engine_decide(&r, &d);
    tsr_engine_observe(&r, &d, 1000); /* counts for nothing */
    return on_gpu(&d);
}

/* By another thread, within so many ms. */
static bool is_started_soon(int ms)
{
    for (int waited = 0; waited < ms && !tsr_backend_gpu_asked(); waited++)
        usleep(1000);
    return tsr_backend_gpu_asked();
}

/* What a start beside the program takes must have been lost first, and then the way there; pushes follow the pulls. */
static void gpu_starts_when_time_was_lost(void)
{
    const double some = 0.24 * TSR_GPU_START_BESIDE_MS;
    tsr_record *record = tsr_record_new();
    tsr_engine_run_begins();
    for (int calls = 0; calls < 100; calls++)
        REQUIRE(!pulled(record, 0) && !pushed(record));
    for (int calls = 0; calls < 4; calls++)
        REQUIRE(!pulled(record, some));
    REQUIRE(!is_started_soon(100));
    REQUIRE(!pulled(record, some) && is_started_soon(5000));
    REQUIRE(tsr_backend_gpu() != NULL); /* waits */
    int calls = 0;
    while (calls < 100 && !pulled(record, 60))
        calls++;
    REQUIRE(calls < 100 && pushed(record));
    tsr_stay_forget();
    REQUIRE(!pushed(record) && !pulled(record, 60));
    tsr_record_unref(record);
}

/* Levels that are pushed take the time, those that are pulled next to none: both together move. */
static int pulls_until_it_moves(tsr_record *record, double push_ms)
{
    int pulls = 0;
    tsr_stay_forget();
    while (pulls < 100 && !pulled(record, 0)) {
        tsr_engine_observe_push(&(tsr_frontier){.entries = 1000 * 1000, .rows = 1, .columns = 2, .vertices = 1, .nthreads = 1}, push_ms);
        pulls++;
    }
    return pulls;
}

static void pushes_count(void)
{
    tsr_record *record = tsr_record_new();
    REQUIRE(tsr_backend_gpu() != NULL);
    const int with = pulls_until_it_moves(record, 60), without = pulls_until_it_moves(record, 0);
    REQUIRE(with < 12 && without == 100);
    tsr_record_unref(record);
}

/* A matrix that is packed for each product is uploaded for each: the same loss does not start anything. */
static void a_matrix_of_one_product_is_moved_each_time(void)
{
    tsr_record *record = tsr_record_new();
    tsr_call r = search(record);
    tsr_decision first, second;
    r.product.a.nvals = 100 * 1000 * 1000;
    tsr_engine_decide(&r, &first);
    tsr_engine_decide(&r, &second);
    REQUIRE(first.observed_ms > second.observed_ms + 0.5 * first.move_ms);
    tsr_record_unref(record);
}

/* A product of a loop whose vectors are large beside A: moved each time they cost more than the GPU gains. */
static void iterate(tsr_record *record, uint64_t loop)
{
    tsr_call r = one_row();
    tsr_decision d;
    r.product.m = r.product.k = r.product.a.nrows = r.product.a.ncols = r.product.b.nrows = 5 * 1000 * 1000;
    r.product.a.nvals = 10 * 1000 * 1000;
    r.may_forward = true;
    r.a.record = record;
    r.remote.loop = loop;
    tsr_engine_decide(&r, &d);
    REQUIRE(!on_gpu(&d));
}

/* A loop with one A moves; not one that has another A each time, of the same size. */
static void loops_move_with_their_matrix(void)
{
    tsr_record *record = tsr_record_new();
    for (int calls = 0; calls < 200 && !tsr_stay_on_device(1); calls++) {
        tsr_record *own = tsr_record_new();
        iterate(record, 1);
        iterate(own, 2);
        tsr_record_unref(own);
    }
    REQUIRE(tsr_stay_on_device(1) && !tsr_stay_on_device(2));
    tsr_record_unref(record);
}

/* Only loops whose results may stay there are worth it, and nothing is kept of an operand that is being overwritten. */
static void gpu_is_not_started_for_what_is_downloaded(void)
{
    tsr_call r = one_row();
    tsr_decision d;
    r.product.semiring = (tsr_semiring){TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR};
    r.product.a.nvals = 1000 * 1000;
    r.may_forward = r.one_value = true;
    r.a.record = tsr_record_new();
    tsr_engine_decide(&r, &d);
    REQUIRE(!d.backend && d.observed_ms < 0);
    tsr_record_unref(r.a.record);
    r.in_place = true;
    r.a.record = NULL;
    tsr_engine_decide(&r, &d);
    REQUIRE(!d.backend && d.observed_ms < 0);
}

/* A product with a vector that only the GPU has. */
static tsr_decision of_a_value(tsr_type type)
{
    tsr_call r = one_row();
    tsr_decision d;
    r.product.semiring = (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_TIMES};
    r.product.a.type = r.product.b.type = type;
    r.product.a.nvals = 1000 * 1000;
    r.product.b_value = &r;
    r.may_forward = r.in_place = r.b.absent = true;
    tsr_engine_decide(&r, &d);
    return d;
}

/* What SuiteSparse took for it, its download included, is remembered; not where the answer would depend on it. */
static void times_of_what_was_downloaded_count(void)
{
    REQUIRE(tsr_backend_gpu() != NULL);
    const tsr_decision d = of_a_value(TSR_INT64);
    REQUIRE(!d.backend && d.forwarded && !d.timing && tsr_timing_ms(d.forwarded, TSR_ROUTE_SUITESPARSE) < 0);
    for (int calls = 0; calls < 3; calls++)
        tsr_engine_learn_forwarded(d.forwarded, 1000);
    REQUIRE(tsr_timing_ms(of_a_value(TSR_INT64).forwarded, TSR_ROUTE_SUITESPARSE) == 1000);
    REQUIRE(!of_a_value(TSR_FP64).forwarded);
}

/* What a product took longer than was expected of it has been lost as well; not the time in which others had the processor. */
static void gpu_starts_when_times_say_so(void)
{
    tsr_call r = one_row();
    tsr_decision d;
    r.product.semiring = (tsr_semiring){TSR_INT64, TSR_ADD_PLUS, TSR_MUL_TIMES};
    r.product.a.type = r.product.b.type = TSR_INT64;
    r.product.a.nvals = 1000 * 1000;
    r.may_forward = true;
    tsr_engine_run_begins();
    tsr_engine_decide(&r, &d);
    REQUIRE(!on_gpu(&d) && d.timing && d.expected_ms > 0 && d.expected_ms < 50);
    tsr_engine_learn(&d, 1000, d.expected_ms);
    tsr_engine_learn(&d, 1000, d.expected_ms + 0.6 * TSR_GPU_START_BESIDE_MS);
    REQUIRE(!is_started_soon(100));
    tsr_engine_learn(&d, 1000, d.expected_ms + 0.6 * TSR_GPU_START_BESIDE_MS);
    REQUIRE(is_started_soon(5000));
}

/* What a long run does not notice need not be lost first. */
static void gpu_starts_sooner_in_a_long_run(void)
{
    const double short_run = 100, long_run = 2 * TSR_GPU_START_BESIDE_MS / TSR_GPU_START_SHARE;
    REQUIRE(tsr_start_pays(TSR_GPU_START_LEAST_MS, 0, short_run) == TSR_START_NOT);
    REQUIRE(tsr_start_pays(0, 0, long_run) == TSR_START_NOT);
    REQUIRE(tsr_start_pays(TSR_GPU_START_LEAST_MS / 2, 0, long_run) == TSR_START_NOT);
    REQUIRE(tsr_start_pays(TSR_GPU_START_LEAST_MS / 2, 0, long_run) == TSR_START_AHEAD);
}

/* Components: .8 of 18 ms might be gained by the one product of a run that is computed by the matrix itself. */
static void gpu_is_not_started_for_a_small_share(void)
{
    for (int k = 0; k < 1000; k++)
        REQUIRE(tsr_start_pays(.8, 0, 1000 + 18 * k) == TSR_START_NOT);
}

/* PageRank: 6 of 7 ms in each product, after a second in which its graph was read.  Its first ten iterations do not pay for a start beside them. */
static void gpu_is_started_for_a_loop(void)
{
    int products = 0;
    while (tsr_start_pays(6, 0, 1000 + 7 * products) == TSR_START_NOT && products < 100)
        products++;
    REQUIRE(products >= 10 && products <= 16);
}

/* What a device takes more than half as long for is not counted: a product of a matrix that is packed for it alone. */
static void test_doubtful_gains(void **state)
{
    (void)state;
    assert_true(tsr_start_gains(7, .3) && tsr_start_gains(1.1, .5));
    assert_false(tsr_start_gains(1.1, .8) || tsr_start_gains(.5, 1));
    assert_true(tsr_start_tells(200) && tsr_start_was_worth(100));
    assert_false(tsr_start_tells(199) || tsr_start_was_worth(99));
}

enum { BEGUN = 71 }; /* fake_backend.c */

/* Loaded by now, so its handler comes first at exit; asked for its score. */
static void exit_while_it_starts(void)
{
    tsr_backend_gpu_start();
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    exit(0);
}

static void exit_when_it_runs(void)
{
    tsr_backend_gpu_start();
    while (!tsr_backend_gpu_asked())
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    exit(0);
}

static void *exit_elsewhere(void *unused)
{
    exit_while_it_starts();
    return unused;
}

static void exit_from_another_thread(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, exit_elsewhere, NULL) == 0);
    pthread_join(thread, NULL);
}

static void test_exit_waits_for_the_start(void **state)
{
    (void)state;
    assert_int_equal(with_plugin(plugins[6], exit_while_it_starts).code, 0);
    assert_int_equal(with_plugin(plugins[6], exit_when_it_runs).code, BEGUN);
    assert_int_equal(with_plugin(plugins[6], exit_from_another_thread).code, 0);
}

static void test_start(void **state)
{
    (void)state;
    assert_int_equal(with_plugin(plugins[0], gpu_starts_sooner_in_a_long_run).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_is_not_started_for_a_small_share).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_is_started_for_a_loop).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_starts_when_it_pays).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_starts_when_much_is_expected).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_starts_when_time_was_lost).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_starts_when_times_say_so).code, 0);
    assert_int_equal(with_plugin(plugins[0], pushes_count).code, 0);
    assert_int_equal(with_plugin(plugins[0], a_matrix_of_one_product_is_moved_each_time).code, 0);
    assert_int_equal(with_plugin(plugins[0], loops_move_with_their_matrix).code, 0);
    assert_int_equal(with_plugin(plugins[0], gpu_is_not_started_for_what_is_downloaded).code, 0);
    assert_int_equal(with_plugin(plugins[0], times_of_what_was_downloaded_count).code, 0);
}

static void test_failing_plugin(void **state)
{
    (void)state;
    child c = with_plugin(plugins[4], gpu_fails);
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "the GPU failed"), 1);
    assert_int_equal(occurrences(c.error, "\n"), 1);
}

static void test_declining_plugin(void **state)
{
    (void)state;
    child c = with_plugin(plugins[5], gpu_declines);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
    c = with_plugin(plugins[5], gpu_only_when_worth_it);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

/* A device does not survive a fork. */
static void parent_and_child(void)
{
    REQUIRE(tsr_backend_gpu() != NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(tsr_backend_gpu() == NULL ? 0 : 1);
    int status = 1;
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    REQUIRE(tsr_backend_gpu() != NULL);
}

static void test_not_in_a_child(void **state)
{
    (void)state;
    child c = with_plugin(plugins[0], parent_and_child);
    assert_int_equal(c.code, 0);
}

/* With a device: no word; without: that there is none.  Right answers. */
static void real_plugin(void)
{
    REQUIRE(tsr_config_set("mode", "gpu") == TSR_OK);
    REQUIRE(computed() == (tsr_backend_gpu() != NULL));
}

static void test_real_plugin(void **state)
{
    (void)state;
    if (!plugins[7])
        skip();
    child c = with_plugin(plugins[7], real_plugin);
    assert_int_equal(c.code, 0);
    if (*c.error)
        assert_string_equal(c.error, "tessera: mode is gpu, but there is no GPU that can be used; products are computed elsewhere\n");
}

/* ---- where it is looked for ---- */

static void copy_this_program(const char *to)
{
    char own[4096], command[5200];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1); /* under valgrind only the link says what runs */
    assert_true(length > 0);
    snprintf(command, sizeof command, "cp %.*s %s", (int)length, own, to);
    assert_int_equal(system(command), 0);
}

/* What a copy of this program finds; it has the loader's code, so its folder is the library's. */
static int found_by_copy(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        unsetenv("TESSERA_PLUGIN_DIR");
        execl(in_folder("inner/copy"), in_folder("inner/copy"), "--look", NULL);
        _exit(1);
    }
    int status = -1;
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum { FOUND = 40, NOT_FOUND = 41 };

static void test_only_beside_the_library(void **state)
{
    (void)state;
    char full[4096], command[5200];
    static const struct { const char *place; int result; } cases[] = {
        {"", NOT_FOUND}, {"lib/tessera", NOT_FOUND}, {"inner/" TSR_BIN_TO_LIB "/tessera", NOT_FOUND}, {"inner", NOT_FOUND},
        {"inner/tessera", FOUND}};
    assert_non_null(realpath(plugins[0], full));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make_folder();
        snprintf(command, sizeof command, "mkdir -p %s && mkdir -p %s && ln -s %s %s/libtessera_cuda.so", in_folder("inner"),
                 in_folder(cases[k].place), full, in_folder(cases[k].place));
        assert_int_equal(system(command), 0);
        copy_this_program(in_folder("inner/copy"));
        assert_int_equal(found_by_copy(), cases[k].result);
        remove_folder();
    }
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
        cmocka_unit_test(test_local_ranks_share_devices),
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_unusable_here_is_silent),
        cmocka_unit_test(test_not_a_plugin),
        cmocka_unit_test(test_no_plugin_is_silent),
        cmocka_unit_test(test_doubtful_gains), cmocka_unit_test(test_start), cmocka_unit_test(test_exit_waits_for_the_start),
        cmocka_unit_test(test_failing_plugin),
        cmocka_unit_test(test_declining_plugin),
        cmocka_unit_test(test_not_in_a_child),
        cmocka_unit_test(test_real_plugin),
        cmocka_unit_test(test_only_beside_the_library),
        cmocka_unit_test(test_the_cpu_is_always_there),
    };
    if (argc == 2 && strcmp(argv[1], "--look") == 0) {
        return tsr_backend_gpu() ? FOUND : NOT_FOUND;
    }
    if (argc < 7) {
        return 1;
    }
    plugins = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
