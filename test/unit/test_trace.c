/* Trace records, the summary, warnings: once, whole, from the right process.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/runtime/config.h"
#include "src/runtime/trace.h"
#include "src/runtime/warn.h"
#include "test/threads.h"
#include "test/unit/child.h"

static char trace_variable[256];

static const char *trace_to(const char *name)
{
    snprintf(trace_variable, sizeof trace_variable, "TESSERA_TRACE=%s", in_folder(name));
    return trace_variable;
}

static void product(const char *call, const char *route, const char *reason, double ms)
{
    tsr_trace_record r = {.call = call, .pattern = "spmm plus_times fp32", .route = route, .reason = reason,
                          .predicted_ms = -1, .measured_ms = ms, .bytes_moved = 0};
    tsr_trace_product(&r);
}

/* ---- nobody asks ---- */

static void unwanted(void)
{
    REQUIRE(!tsr_trace_wanted());
    product("GrB_mxm", "cpu:x", "r", 1);
    REQUIRE(tsr_config_set("verbose", "1") == TSR_OK); /* from now on */
    REQUIRE(tsr_trace_wanted());
    REQUIRE(tsr_config_set("verbose", "0") == TSR_OK);
    REQUIRE(!tsr_trace_wanted());
}

static void test_nothing_unless_wanted(void **state)
{
    (void)state;
    child c = run_child(unwanted, NULL);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
}

/* ---- JSON lines ---- */

static void one_record(void)
{
    REQUIRE(tsr_trace_wanted());
    tsr_trace_record r = {.call = "GrB_mxm", .pattern = "a \"b\" \\ \n\t\x01\xC3", .route = "cpu:spmm", .reason = NULL,
                          .predicted_ms = 3.25, .measured_ms = NAN, .bytes_moved = INT64_MAX, .built = 2, .evicted = 1};
    tsr_trace_product(&r);
}

static void test_a_record_is_one_json_line(void **state)
{
    (void)state;
    char expected[512];
    make_folder();
    child c = run_child(one_record, (const char *[]){trace_to("t"), NULL});
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "");
    snprintf(expected, sizeof expected,
             "{\"call\":\"GrB_mxm\",\"pattern\":\"a \\\"b\\\" \\\\ \\u000a\\u0009\\u0001\\u00c3\","
             "\"route\":\"cpu:spmm\",\"reason\":"
             "\"\",\"predicted_ms\":3.25,\"measured_ms\":null,\"other_ms\":null,\"at_ms\":0,\"bytes_moved\":9223372036854775807,\"built\":2,\"evicted\":1,\"pid\":");
    const char *text = read_text(in_folder("t"));
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
    assert_string_equal(text + strlen(text) - 2, "}\n");
    assert_int_equal(occurrences(text, "\n"), 1);
    remove_folder();
}

/* ---- what a device took ---- */

/* Of three calls; every third question is answered. */
static double took[] = {0, 1.5, 2.5, 4.0};
static int given, asked;

static void *times(void)
{
    return given < 3 ? &took[++given] : NULL;
}

static double elapsed(void *of, bool wait)
{
    return wait || ++asked % 3 == 0 ? *(double *)of : -1.0;
}

static void three_calls(void)
{
    static const tsr_backend device = {.name = "cuda", .times = times, .elapsed = elapsed};
    tsr_trace_record r = {.call = "GrB_apply", .pattern = "step", .route = "cuda:step", .predicted_ms = -1, .measured_ms = 1,
                          .backend = &device};
    for (int k = 0; k < 4; k++)
        tsr_trace_product(&r);
    tsr_trace_settle();
}

static void test_what_the_device_took_follows(void **state)
{
    (void)state;
    make_folder();
    child c = run_child(three_calls, (const char *[]){trace_to("t"), "TESSERA_VERBOSE=1", NULL});
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.error, "4 calls        4.000 ms, on the device 8.000 ms"));
    const char *at = read_text(in_folder("t"));
    static const char *const order[] = {"\"line\":0}\n", "\"line\":1}\n", "\"line\":2}\n", "{\"device_ms\":1.5,", "\"line\":0}\n",
                                        "\"line\":3}\n", "{\"device_ms\":2.5,", "\"line\":1}\n", "{\"device_ms\":4,", "\"line\":2}\n"};
    for (int k = 0; k < 10; k++) {
        at = strstr(at, order[k]);
        assert_non_null(at);
        at += strlen(order[k]);
    }
    assert_string_equal(at, "");
    remove_folder();
}

static void long_record(void)
{
    static char text[20001];
    memset(text, '\x02', sizeof text - 1);
    tsr_trace_record r = {.call = text, .pattern = text, .route = text, .reason = text};
    tsr_trace_product(&r);
}

static void test_a_long_record_stays_json(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(run_child(long_record, (const char *[]){trace_to("t"), "TESSERA_VERBOSE=2", NULL}).code, 0);
    const char *text = read_text(in_folder("t"));
    assert_int_equal(occurrences(text, "\n"), 1);
    assert_int_equal(occurrences(text, "\",\""), 4);
    assert_string_equal(text + strlen(text) - 2, "}\n");
    remove_folder();
}

enum { THREADS = 8, RECORDS = 500 };

static void *write_records(void *unused)
{
    for (int k = 0; k < RECORDS; k++) {
        product("GrB_mxm", "cpu:spmm", "thread", 0.5);
    }
    return unused;
}

static void many_threads(void)
{
    REQUIRE(run_threads(THREADS, write_records, NULL, 0) == 0);
}

static void test_lines_of_threads_stay_whole(void **state)
{
    (void)state;
    make_folder();
    child c = run_child(many_threads, (const char *[]){trace_to("t"), "TESSERA_VERBOSE=1", NULL});
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.error, "4000 calls     2000.000 ms"));
    const char *text = read_text(in_folder("t"));
    int lines = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        assert_int_equal(strncmp(line, "{\"call\":\"GrB_mxm\",", 18), 0);
        assert_int_equal(strchr(line, '\n')[-1], '}');
        lines++;
    }
    assert_int_equal(lines, THREADS * RECORDS);
    remove_folder();
}

/* ---- the file's name ---- */

static char pid_name[64];

static void two_processes(void)
{
    product("GrB_mxm", "cpu:spmm", "parent", 1);
    pid_t pid = fork();
    if (pid == 0) {
        product("GrB_mxv", "cpu:spmv", "child", 1);
        exit(0);
    }
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    product("GrB_mxm", "cpu:spmm", "parent", 1);
    snprintf(pid_name, sizeof pid_name, "t.%ld.100%%", (long)getpid());
    REQUIRE(occurrences(read_text(in_folder(pid_name)), "parent") == 2);
    REQUIRE(occurrences(read_text(in_folder(pid_name)), "child") == 0);
    snprintf(pid_name, sizeof pid_name, "t.%ld.100%%", (long)pid);
    REQUIRE(occurrences(read_text(in_folder(pid_name)), "child") == 1);
}

static void test_a_forked_child_has_its_own_file_and_no_summary(void **state)
{
    (void)state;
    make_folder();
    child c = run_child(two_processes, (const char *[]){trace_to("t.%p.100%%"), "TESSERA_VERBOSE=1", NULL});
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "summary of process"), 1);
    assert_int_equal(occurrences(c.error, "GrB_mxv"), 0);
    remove_folder();
}

static void *write_for_ever(void *unused)
{
    (void)unused;
    for (;;) {
        product("GrB_mxm", "cpu:spmm", "busy", 1);
    }
    return NULL;
}

/* Fork while another thread holds the lock, again and again: the child must still be able to write. */
static void fork_while_writing(void)
{
    pthread_t writer;
    /* glibc starts a pthread_once that a fork cut off anew in the child; ThreadSanitizer's waits for ever. */
    product("GrB_mxm", "cpu:spmm", "first", 1);
    REQUIRE(pthread_create(&writer, NULL, write_for_ever, NULL) == 0);
    for (int k = 0; k < 100; k++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            product("GrB_mxv", "cpu:spmv", "child", 1);
            tsr_warn_once("key", "from a child");
            _exit(0);
        }
        int status;
        REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    }
    _exit(0);
}

static void test_fork_while_another_thread_writes(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(run_child(fork_while_writing, (const char *[]){trace_to("t"), NULL}).code, 0);
    remove_folder();
}

static void write_three(void)
{
    for (int k = 0; k < 3; k++) {
        product("GrB_mxm", "cpu:spmm", "r", 1);
    }
}

static void test_a_file_that_cannot_be_opened_is_named_once(void **state)
{
    (void)state;
    make_folder();
    child c = run_child(write_three, (const char *[]){trace_to("no/such/folder"), NULL});
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "tessera: cannot write trace file"), 1);
    assert_int_equal(occurrences(c.error, "\n"), 1);
    remove_folder();
}

static void change_the_file(void)
{
    REQUIRE(!tsr_trace_wanted());
    for (int k = 0; k < 2; k++) {
        REQUIRE(tsr_config_set("trace", in_folder(k ? "second" : "first")) == TSR_OK);
        product("GrB_mxm", "cpu:spmm", "r", 1);
    }
    REQUIRE(tsr_config_set("trace", "") == TSR_OK);
    product("GrB_mxm", "cpu:spmm", "r", 1);
}

static void test_the_api_changes_the_file(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(run_child(change_the_file, NULL).code, 0);
    assert_int_equal(occurrences(read_text(in_folder("first")), "\n"), 1);
    assert_int_equal(occurrences(read_text(in_folder("second")), "\n"), 1);
    remove_folder();
}

/* ---- the program is not hurt ---- */

/* As daemons do: all descriptors but standard error closed, files of its own in their places. */
static void close_all_and_write(void)
{
    product("GrB_mxm", "cpu:spmm", "r", 1);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    close_range(STDIN_FILENO, STDOUT_FILENO, 0);
    for (int fd = 0; fd < 10; fd++) {
        if (fd != STDERR_FILENO) {
            REQUIRE(open(in_folder("own"), O_WRONLY | O_CREAT, 0600) == fd);
        }
    }
    write_three();
    for (int fd = 0; fd < 10; fd++) {
        REQUIRE(fcntl(fd, F_GETFD) >= 0);
    }
}

/* Its child opens a trace anew, and may not close what has the old one's number. */
static void fork_and_close_all(void)
{
    product("GrB_mxm", "cpu:spmm", "r", 1);
    if (fork() == 0) {
        close_all_and_write();
        _exit(0);
    }
    int status = 1;
    REQUIRE(wait(&status) > 0 && status == 0);
    product("GrB_mxm", "cpu:spmm", "r", 1);
}

static void close_everything_and_write(void)
{
    product("GrB_mxm", "cpu:spmm", "r", 1);
    close_range(0, ~0U, 0);
    for (int fd = 0; fd < 10; fd++) {
        REQUIRE(open(in_folder("own"), O_WRONLY | O_CREAT, 0600) == fd);
    }
    write_three();
}

static void test_a_descriptor_that_was_taken_is_left_alone(void **state)
{
    (void)state;
    make_folder();
    child c = run_child(close_all_and_write, (const char *[]){trace_to("t"), NULL});
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "tessera: cannot write the trace: its descriptor was closed; it ends here\n");
    assert_string_equal(read_text(in_folder("own")), "");
    assert_int_equal(occurrences(read_text(in_folder("t")), "\n"), 1);
    assert_int_equal(run_child(fork_and_close_all, (const char *[]){trace_to("t%p"), NULL}).code, 0);
    assert_string_equal(read_text(in_folder("own")), "");
    assert_int_equal(run_child(fork_and_close_all, (const char *[]){trace_to("u"), NULL}).code, 0);
    assert_string_equal(read_text(in_folder("own")), "");
    assert_int_equal(occurrences(read_text(in_folder("u")), "\n"), 3);
    assert_int_equal(run_child(close_everything_and_write, (const char *[]){trace_to("t"), NULL}).code, 0);
    assert_string_equal(read_text(in_folder("own")), "");
    remove_folder();
}

/* Started without standard files: the trace does not take their places. */
static void write_without_standard_files(void)
{
    close_range(STDIN_FILENO, STDERR_FILENO, 0);
    write_three();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        REQUIRE(fcntl(fd, F_GETFD) < 0);
    }
}

static void test_no_standard_descriptor_is_taken(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(run_child(write_without_standard_files, (const char *[]){trace_to("t"), NULL}).code, 0);
    assert_int_equal(occurrences(read_text(in_folder("t")), "\n"), 3);
    remove_folder();
}

static void write_three_in_time(void)
{
    alarm(20);
    write_three();
}

static void test_a_pipe_that_nobody_reads(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    child c = run_child(write_three_in_time, (const char *[]){trace_to("pipe"), NULL});
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "tessera: cannot write trace file"), 1);
    assert_non_null(strstr(c.error, ": nobody reads it\n"));
    assert_int_equal(occurrences(c.error, "\n"), 1);
    remove_folder();
}

/* A reader that takes nothing more is waited for once. */
static void fill_a_pipe(void)
{
    alarm(20);
    REQUIRE(open(in_folder("pipe"), O_RDONLY | O_NONBLOCK) >= 0);
    for (int k = 0; k < 10000; k++) {
        product("GrB_mxm", "cpu:spmm", "r", 1);
    }
}

static void test_a_reader_that_stands_still(void **state)
{
    (void)state;
    make_folder();
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    child c = run_child(fill_a_pipe, (const char *[]){trace_to("pipe"), NULL});
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "tessera: cannot write the trace: nobody reads it; it ends here\n");
    remove_folder();
}

static bool is_pending(int which)
{
    sigset_t waiting;
    REQUIRE(sigpending(&waiting) == 0);
    return sigismember(&waiting, which);
}

static bool is_blocked(int which)
{
    sigset_t mask;
    REQUIRE(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    return sigismember(&mask, which);
}

static void lose_the_reader(void)
{
    const int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    product("GrB_mxm", "cpu:spmm", "r", 1);
    close(reader);
    write_three();
    REQUIRE(!is_pending(SIGPIPE) && !is_blocked(SIGPIPE));
}

/* What waited before is still there for the program. */
static void lose_the_reader_with_a_signal_waiting(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    REQUIRE(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGPIPE) == 0);
    const int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    product("GrB_mxm", "cpu:spmm", "r", 1);
    close(reader);
    write_three();
    REQUIRE(is_pending(SIGPIPE) && is_blocked(SIGPIPE));
}

static void test_a_reader_that_goes_away(void **state)
{
    (void)state;
    static void (*const bodies[])(void) = {lose_the_reader, lose_the_reader_with_a_signal_waiting};
    make_folder();
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    for (int k = 0; k < 2; k++) {
        child c = run_child(bodies[k], (const char *[]){trace_to("pipe"), NULL});
        assert_int_equal(c.code, 0);
        assert_string_equal(c.error, "tessera: cannot write the trace: Broken pipe; it ends here\n");
    }
    remove_folder();
}

static void write_beyond_the_limit(void)
{
    const struct rlimit limit = {1000, 1000};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int k = 0; k < 100; k++) {
        product("GrB_mxm", "cpu:spmm", "r", 1);
    }
    REQUIRE(!is_pending(SIGXFSZ) && !is_blocked(SIGXFSZ));
}

static void test_a_file_that_may_not_grow(void **state)
{
    (void)state;
    make_folder();
    child c = run_child(write_beyond_the_limit, (const char *[]){trace_to("t"), NULL});
    assert_int_equal(c.code, 0);
    assert_string_equal(c.error, "tessera: cannot write the trace: File too large; it ends here\n");
    assert_int_equal(strlen(read_text(in_folder("t"))), 1000);
    remove_folder();
}

static void speak_to_nobody(void)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[0]);
    close(ends[1]);
    tsr_warn_once("key", "nobody hears");
    write_three();
}

/* Lines, warnings and the summary at exit. */
static void test_standard_error_that_nobody_reads(void **state)
{
    (void)state;
    assert_int_equal(run_child(speak_to_nobody, (const char *[]){"TESSERA_VERBOSE=2", NULL}).code, 0);
}

/* ---- the summary ---- */

static void mixed_products(void)
{
    for (int k = 0; k < 5; k++) {
        char reason[64];
        snprintf(reason, sizeof reason, "predicted %d.5 ms against %d.25 ms", k, 2 * k);
        product("GrB_mxm", "suitesparse", reason, 2);
    }
    product("GrB_mxm", "suitesparse", "mask on a dense result", -1);
    product("GrB_mxm", "cpu:spmm_csr_avx2", "predicted 1 ms", 1.5);
    product("GrB_mxv", "cpu:spmv", "forced", 0.25);
}

static void test_summary_and_lines(void **state)
{
    (void)state;
    child c = run_child(mixed_products, (const char *[]){"TESSERA_VERBOSE=2", NULL});
    assert_int_equal(c.code, 0);
    assert_int_equal(occurrences(c.error, "summary of process"), 1);
    assert_non_null(strstr(c.error, "GrB_mxm    suitesparse                               6 calls       10.000 ms"));
    assert_non_null(strstr(c.error, "GrB_mxm    cpu:spmm_csr_avx2                         1 calls        1.500 ms"));
    assert_non_null(strstr(c.error, "forwarded         5 calls       10.000 ms: SuiteSparse is predicted to be as fast\n"));
    assert_non_null(strstr(c.error, "forwarded         1 calls        0.000 ms: mask on a dense result\n"));
    const char *first = strstr(c.error, "6 calls       10.000 ms"), *second = strstr(c.error, "1 calls        1.500 ms"); /* by time */
    assert_true(first && second && first < second && second < strstr(c.error, "1 calls        0.250 ms"));
    assert_non_null(strstr(c.error, "GrB_mxv spmm plus_times fp32 -> cpu:spmv 0.250 ms (forced)\n"));
    assert_int_equal(occurrences(c.error, " -> "), 8);
    assert_int_equal(run_child(mixed_products, (const char *[]){"TESSERA_VERBOSE=0", NULL}).error[0], '\0');
}

static void many_names(void)
{
    for (int k = 0; k < 1000; k++) {
        char route[32];
        snprintf(route, sizeof route, "cpu:kernel_%c%c%c", 'a' + k % 10, 'a' + k / 10 % 10, 'a' + k / 100);
        product("GrB_mxm", route, "", 1);
        product("GrB_mxm", "suitesparse", route, 1);
    }
}

static void moving_products(void)
{
    for (int k = 0; k < 3; k++)
        tsr_trace_product(&(tsr_trace_record){.call = "GrB_mxv", .route = "cuda:csr", .measured_ms = 1, .bytes_moved = 2000000});
    tsr_trace_product(&(tsr_trace_record){.call = "GrB_Vector_nvals", .route = "cuda:fetch", .measured_ms = 1, .bytes_moved = 8000000});
    tsr_trace_product(&(tsr_trace_record){.call = "GrB_mxm", .route = "cuda:csr", .measured_ms = 1});
}

/* The largest cause first. */
static void test_summary_of_what_moved(void **state)
{
    (void)state;
    child c = run_child(moving_products, (const char *[]){"TESSERA_VERBOSE=2", NULL});
    assert_int_equal(c.code, 0);
    const char *all = strstr(c.error, "moved between host and device: 14.000 MB\n"), *fetched = strstr(c.error, "    GrB_Vector_nvals cuda:fetch");
    const char *product = strstr(c.error, "    GrB_mxv    cuda:csr                                  3 calls        6.000 MB\n");
    assert_non_null(all);
    assert_non_null(fetched);
    assert_non_null(product);
    assert_true(all < fetched && fetched < product);
    assert_null(strstr(c.error, "calls        0.000 MB"));
    assert_int_equal(occurrences(c.error, ", 2.000 MB moved"), 3);
}

static void test_the_summary_is_bounded(void **state)
{
    (void)state;
    child c = run_child(many_names, (const char *[]){"TESSERA_VERBOSE=1", NULL});
    assert_int_equal(c.code, 0);
    assert_true(occurrences(c.error, "\n") < 60);
    assert_non_null(strstr(c.error, "(others)"));
}

/* ---- warnings ---- */

static void warn(void)
{
    for (int k = 0; k < 3; k++) {
        tsr_warn_once("one", "first %d", k);
        tsr_warn_once("two", "second\nline %s", "\x1b[31m");
    }
}

static void test_warnings_are_said_once(void **state)
{
    (void)state;
    child c = run_child(warn, NULL);
    assert_string_equal(c.error, "tessera: first 0\ntessera: second?line ?[31m\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_unless_wanted),
        cmocka_unit_test(test_a_record_is_one_json_line), cmocka_unit_test(test_what_the_device_took_follows),
        cmocka_unit_test(test_a_long_record_stays_json),
        cmocka_unit_test(test_lines_of_threads_stay_whole),
        cmocka_unit_test(test_a_forked_child_has_its_own_file_and_no_summary),
        cmocka_unit_test(test_fork_while_another_thread_writes),
        cmocka_unit_test(test_a_file_that_cannot_be_opened_is_named_once),
        cmocka_unit_test(test_the_api_changes_the_file),
        cmocka_unit_test(test_a_descriptor_that_was_taken_is_left_alone),
        cmocka_unit_test(test_no_standard_descriptor_is_taken),
        cmocka_unit_test(test_a_pipe_that_nobody_reads),
        cmocka_unit_test(test_a_reader_that_stands_still),
        cmocka_unit_test(test_a_reader_that_goes_away),
        cmocka_unit_test(test_a_file_that_may_not_grow),
        cmocka_unit_test(test_standard_error_that_nobody_reads),
        cmocka_unit_test(test_summary_and_lines),
        cmocka_unit_test(test_summary_of_what_moved),
        cmocka_unit_test(test_the_summary_is_bounded),
        cmocka_unit_test(test_warnings_are_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
