/* Fits find what they should, models survive their text, and files that are not models are refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/runtime/model_file.h"
#include "test/unit/child.h"
#include "tools/tessera/train/fit/sample.h"
#include "tools/tessera/train/fit/solve.h"

static uint64_t state = 1;

static double draw(void) /* uniform in [0, 1) */
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* ---- fits ---- */

static void test_solves(void **unused)
{
    (void)unused;
    double a[] = {4, 2, 2, 3}, b[] = {10, 9}, indefinite[] = {1, 2, 2, 1}, c[] = {1, 1};
    assert_true(tsr_solve(a, b, 2));
    assert_true(fabs(b[0] - 1.5) < 1e-12 && fabs(b[1] - 2) < 1e-12);
    assert_false(tsr_solve(indefinite, c, 2));
}

enum { MANY = 20000 };

static void test_logistic_finds_its_weights(void **unused)
{
    (void)unused;
    static double x[MANY * 3];
    static uint8_t label[MANY];
    const double truth[3] = {-0.5, 2, -1};
    double w[3];
    for (int k = 0; k < MANY; k++) {
        x[3 * k] = 1;
        x[3 * k + 1] = 4 * draw() - 2;
        x[3 * k + 2] = 4 * draw() - 2;
        label[k] = draw() < tsr_logistic(truth, x + 3 * k, 3);
    }
    assert_true(tsr_fit_logistic(w, x, label, NULL, MANY, 3, 1e-6));
    for (int k = 0; k < 3; k++)
        assert_true(fabs(w[k] - truth[k]) < 0.1);
}

/* Without the ridge the weights of labels that a line separates would grow for ever; samples without importance do not count. */
static void test_logistic_of_separated_labels(void **unused)
{
    (void)unused;
    double x[2 * 100], importance[100], w[2];
    uint8_t label[100];
    for (int k = 0; k < 100; k++) {
        x[2 * k] = 1;
        x[2 * k + 1] = k / 100.0;
        label[k] = k >= 40;
        importance[k] = 1;
    }
    label[99] = 0;
    importance[99] = 0;
    assert_true(tsr_fit_logistic(w, x, label, importance, 100, 2, 1e-3));
    for (int k = 0; k < 99; k++)
        assert_int_equal(tsr_logistic(w, x + 2 * k, 2) > 0.5, label[k]);
    x[1] = NAN;
    assert_false(tsr_fit_logistic(w, x, label, NULL, 100, 2, 1e-3));
    assert_true(w[0] == 0 && w[1] == 0);
}

static void test_nonnegative_fit(void **unused)
{
    (void)unused;
    double x[100 * 3], y[100], w[3];
    for (int k = 0; k < 100; k++) { /* units that differ by orders of magnitude; the third helps nothing */
        x[3 * k] = 1;
        x[3 * k + 1] = 1e6 * draw();
        x[3 * k + 2] = 1e12 * draw();
        y[k] = 0.25 + 3e-7 * x[3 * k + 1];
    }
    tsr_fit_nonnegative(w, x, y, 100, 3);
    assert_true(fabs(w[0] - 0.25) < 1e-3 && fabs(w[1] - 3e-7) < 1e-9 && w[2] >= 0 && w[2] < 1e-15);
    for (int k = 0; k < 100; k++)
        y[k] = 5 - 1e-13 * x[3 * k + 2]; /* falls with the third: its weight is 0, not negative */
    tsr_fit_nonnegative(w, x, y, 100, 3);
    assert_true(w[2] == 0 && w[0] > 4);
}

/* ---- samples ---- */

/* A GPU that is simple: csr pays for entries, the others for nonzero vectors. */
static double simple_ms(tsr_gpu_kernel kernel, const tsr_gpu_product *p)
{
    double rows = kernel == TSR_GPU_CSR ? p->nvals : 1.6 * p->vectors[kernel == TSR_GPU_ME_BCRS ? 0 : 1];
    return 0.004 + 1e-9 * rows * p->n;
}

static size_t make_samples(tsr_sample *samples)
{
    static const tsr_gpu_kernel kernels[] = {TSR_GPU_CSR, TSR_GPU_ME_BCRS};
    size_t count = 0;
    for (int k = 0; k < 60; k++)
        for (int role = 0; role < 2; role++)
            for (int which = 0; which < 2; which++) {
                double windows = 4096, vectors = 1 + k % 10 * 12, each = 1 + 7 * (k / 10) / 5.0;
                tsr_sample s = {.role = role ? TSR_SAMPLE_GRAPH : TSR_SAMPLE_WINDOW, .height = role ? 0 : 8, .kernel = kernels[which]};
                snprintf(s.matrix, sizeof s.matrix, "m%d", k);
                s.product = (tsr_gpu_product){.nrows = 8 * windows, .ncols = 65536, .nvals = windows * vectors * each, .n = 32,
                                              .vectors = {windows * vectors, windows * vectors, windows * vectors, windows * vectors,
                                                          windows * vectors},
                                              .longest = 9, .hot = {0.0625, 0.125, 0.25, 0.5, 1, 1, 1, 1, 1, 1, 1}};
                s.ms = simple_ms(s.kernel, &s.product);
                samples[count++] = s;
            }
    return count;
}

static void test_fitted_model_chooses_well(void **unused)
{
    (void)unused;
    static tsr_sample samples[240];
    static tsr_model model;
    size_t count = make_samples(samples);
    assert_true(tsr_model_fit(&model, samples, count));
    tsr_accuracy windows = tsr_judge_windows(&model, samples, count, TSR_SAMPLE_WINDOW, -1);
    assert_int_equal(windows.cases, 60);
    assert_true(windows.right > 0.9 && windows.loss < 0.02);
    tsr_accuracy kernels = tsr_judge_kernels(&model, samples, count, TSR_SAMPLE_GRAPH, TSR_GPU_EXACT);
    assert_int_equal(kernels.cases, 60);
    assert_true(kernels.loss < 0.01 && kernels.worst < 0.1);
    for (size_t k = 0; k < count; k++)
        assert_true(fabs(tsr_predict_kernel_ms(&model, samples[k].kernel, &samples[k].product) / samples[k].ms - 1) < 0.05);
    assert_true(tsr_predict_kernel_ms(&model, TSR_GPU_HRPB_16, &samples[0].product) == 0);
}

/* 1024 columns of 1024 entries, 2^20 of 4 or 5 (as if alike): four thousand columns have the first and a little of the others. */
static void test_hot_columns(void **unused)
{
    (void)unused;
    const tsr_degrees counts = {.columns = {[2] = 1 << 20, [10] = 1024}, .entries = {[2] = 5 << 20, [10] = 1 << 20}}, none = {.columns = {0}};
    tsr_gpu_product p = {.nrows = 1e6, .ncols = 2 << 20, .nvals = 6 << 20, .n = 50e6 / 4 / 4096, .vectors = {0, 0, 0, 0, 6}};
    double terms[TSR_KERNEL_TERMS], even = 4096.0 / (2 << 20), share = (1 + 5 * 3072.0 / (1 << 20)) / 6;
    tsr_kernel_terms(terms, TSR_GPU_CSR, &p);
    assert_true(fabs(terms[5] - 6 * (1 - even)) < 1e-6);
    tsr_hot_shares(p.hot, &counts);
    assert_true(fabs(p.hot[0] - share) < 1e-9 && p.hot[7] < 1 && p.hot[9] == 1 && p.hot[10] == 1);
    tsr_kernel_terms(terms, TSR_GPU_CSR, &p);
    assert_true(fabs(terms[5] - 6 * (1 - share)) < 1e-6);
    p.n /= 1.5; /* half of the way to 8192 */
    tsr_kernel_terms(terms, TSR_GPU_CSR, &p);
    assert_true(fabs(terms[5] - 6 * (1 - (p.hot[0] + p.hot[1]) / 2)) < 1e-6);
    p.n *= 3; /* 2048: half of the first */
    tsr_kernel_terms(terms, TSR_GPU_CSR, &p);
    assert_true(fabs(terms[5] - 6 * (1 - p.hot[0] / 2)) < 1e-6);
    p.n = 1; /* all of B */
    tsr_kernel_terms(terms, TSR_GPU_CSR, &p);
    assert_true(terms[5] == 0);
    tsr_hot_shares(p.hot, &none);
    assert_true(p.hot[0] == 1 && p.hot[10] == 1);
}

static void test_windows_without_entries_stay_on_csr(void **unused)
{
    (void)unused;
    tsr_model model = {.window = {{{0}, {-1, 1, 1}}}};
    assert_true(tsr_window_probability(&model, TSR_GPU_EXACT, 0, 0, 32) == 0);
    assert_true(tsr_window_probability(&model, TSR_GPU_EXACT, 64, 8, 32) > 0.5);
    assert_true(tsr_window_probability(&model, TSR_GPU_EXACT, 1, 1, 32) < 0.5);
    assert_true(tsr_window_probability(&model, TSR_GPU_EXACT, 64, 8, 64) > 0.5);
    assert_true(tsr_window_probability(&model, TSR_GPU_EXACT, 64, 8, 8) == 0);
    assert_true(tsr_window_probability(&model, TSR_GPU_TF32, 64, 8, 32) == 0);
}

#define HOT "\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1"

static void test_samples_survive_their_text(void **unused)
{
    (void)unused;
    tsr_sample samples[240], read;
    char line[1024];
    make_samples(samples);
    int length = tsr_sample_print(line, sizeof line, &samples[77]);
    assert_true(tsr_sample_parse(&read, line));
    assert_string_equal(read.matrix, samples[77].matrix);
    assert_true(read.kernel == samples[77].kernel && fabs(read.product.nvals - samples[77].product.nvals) < 1);
    assert_true(read.product.longest == 9 && read.product.hot[0] == 0.0625 && read.product.hot[3] == 0.5 && read.product.hot[10] == 1);
    for (int end = 0; end < length - 2; end++) { /* cut off: the last number may only get shorter */
        char part[1024];
        snprintf(part, sizeof part, "%.*s", end, line);
        if (strrchr(part, '\t') && strchr(line, 0) - line - end < 4)
            continue;
        tsr_sample_parse(&read, part);
    }
    assert_false(tsr_sample_parse(&read, "window\tx\t8\tcsr\texact\tnan\t1\t1\t1\t1\t1\t1\t1\t1" HOT "\t1\t1\n"));
    assert_false(tsr_sample_parse(&read, "window\tx\t8\tcsr\texact\t1\t1\t1\t1\t1\t1\t1\t1\t1" HOT "\t-1\t1\n"));
    assert_false(tsr_sample_parse(&read, "window\tx\t8\tcsr\texact\t1\t1\t1\t1\t1\t1\t1\t1\t1" HOT "1\t1\t1\n"));
    assert_false(tsr_sample_parse(&read, "window\tx\t8\tcsr\texact\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\n")); /* version 1 */
    assert_false(tsr_sample_parse(&read, "window\tx\t8\tcsr\texact\t1\n"));
    assert_true(tsr_sample_parse(&read, "window\tx\t8\tcsr\texact\t1\t1\t1\t1\t1\t1\t1\t1\t1" HOT "\t1\t1\n"));
}

/* ---- models as text ---- */

static const char small[] = "tessera-model 3\ndevice NVIDIA H200\narch 90\ndate 2026-11-21\nwindow exact 32 1 2 3 4 5 -6 7 8 9\n"
                            "kernel csr exact 128 1 2 3 4 5 6 7\nmaking me-bcrs 1 2 3 4\nend\n";

static void test_models_survive_their_text(void **unused)
{
    (void)unused;
    tsr_model model, again;
    char text[4096];
    assert_null(tsr_model_parse(&model, small, strlen(small)));
    assert_int_equal(model.arch, 90);
    assert_string_equal(model.device, "NVIDIA H200");
    assert_true(model.window[TSR_GPU_EXACT][1][5] == -6 && model.kernel[TSR_GPU_CSR][TSR_GPU_EXACT][2][5] == 6);
    assert_true(model.making[TSR_GPU_ME_BCRS][0] == 1 && model.making[TSR_GPU_ME_BCRS][3] == 4);
    size_t length = tsr_model_print(text, sizeof text, &model);
    assert_int_equal(length, strlen(text));
    assert_string_equal(text, small);
    assert_null(tsr_model_parse(&again, text, length));
    assert_memory_equal(&again, &model, sizeof model);
    assert_int_equal(tsr_model_print(NULL, 0, &model), length);
}

static void test_every_cut_is_refused(void **unused)
{
    (void)unused;
    tsr_model model;
    for (size_t length = 0; length < strlen(small); length++)
        assert_non_null(tsr_model_parse(&model, small, length));
}

static void test_hostile_models_are_refused(void **unused)
{
    (void)unused;
    static const char *const hostile[] = {
        "tessera-model 2\ndevice X\narch 90\nend\n",
        "tessera-model 3\ndevice X\nend\n",
        "tessera-model 3\ndevice \narch 90\nend\n",
        "tessera-model 3\ndevice X\narch 0\nend\n",
        "tessera-model 3\ndevice X\narch 90 1\nend\n",
        "tessera-model 3\ndevice X\narch 90\nend\nmore\n",
        "tessera-model 3\ndevice X\narch 90\nwindow exact 32 1 2 3 4 5 6 7 8 nan\nend\n",
        "tessera-model 3\ndevice X\narch 90\nwindow exact 32 1 2 3 4 5 6 7 8 inf\nend\n",
        "tessera-model 3\ndevice X\narch 90\nwindow exact 32 1 2 3 4 5 6 7 8\nend\n",
        "tessera-model 3\ndevice X\narch 90\nwindow exact 32 1 2 3 4 5 6 7 8 9 10\nend\n",
        "tessera-model 3\ndevice X\narch 90\nwindow fp8 32 1 2 3 4 5 6 7 8 9\nend\n",
        "tessera-model 3\ndevice X\narch 90\nkernel csr exact 8 1 2 3 4 5 6 -7\nend\n",
        "tessera-model 3\ndevice X\narch 90\nkernel csr exact 8 1 2 3 4 5 6 1e300\nend\n",
        "tessera-model 3\ndevice X\narch 90\nkernel csr exact 9 1 2 3 4 5 6 7\nend\n",
        "tessera-model 3\ndevice X\narch 90\nkernel gemm exact 8 1 2 3 4 5 6 7\nend\n",
        "tessera-model 3\ndevice X\narch 90\nmaking csr 1 2 3\nend\n",
        "tessera-model 3\ndevice X\narch 90\nmaking bmat-8 1 2 3 -4\nend\n",
        "tessera-model 3\ndevice X\narch 90\nmaking bread 1 2 3 4\nend\n",
        "tessera-model 3\ndevice X\narch 90\ndate yesterday\nend\n",
        "tessera-model 3\ndevice X\narch 90\nsomething else\nend\n",
        "# tessera-samples 1 90 X\n",
    };
    tsr_model model;
    for (size_t k = 0; k < sizeof hostile / sizeof *hostile; k++)
        assert_non_null(tsr_model_parse(&model, hostile[k], strlen(hostile[k])));
}

static void test_files_that_are_no_models_are_refused(void **unused)
{
    (void)unused;
    enum { TOO_LONG = 70000 };
    const char *why;
    tsr_model model;
    assert_non_null(make_folder());
    const char *path = in_folder("model");
    char *text = calloc(1, sizeof small + TOO_LONG);
    assert_non_null(text);
    assert_false(tsr_model_read(&model, "/nonexistent/model", &why));
    assert_false(tsr_model_read(&model, "/", &why));
    assert_false(tsr_model_read(&model, "/dev/zero", &why));
    write_text(path, small);
    assert_true(tsr_model_read(&model, path, &why));
    strcpy(text, small);
    memset(text + strlen(small), '\n', TOO_LONG);
    write_text(path, text);
    assert_false(tsr_model_read(&model, path, &why));
    assert_string_equal(why, "it is too long");
    free(text);
    remove_folder();
}

/* Between the widths times lie between theirs; beyond the last they grow with n. */
static void test_times_between_widths(void **unused)
{
    (void)unused;
    static tsr_model model;
    tsr_gpu_product p = {.nrows = 100, .ncols = 100, .nvals = 1000, .n = 20, .vectors = {900, 800, 700, 600, 500}};
    for (int width = 0; width < TSR_MODEL_WIDTHS; width++)
        model.kernel[TSR_GPU_CSR][TSR_GPU_EXACT][width][1] = 1e-3 * tsr_model_widths[width];
    for (p.n = 1; p.n < 2000; p.n *= 1.7)
        assert_true(fabs(tsr_predict_kernel_ms(&model, TSR_GPU_CSR, &p) / p.n - 1) < 1e-9 || p.n < 8);
    p.n = 2;
    assert_true(tsr_predict_kernel_ms(&model, TSR_GPU_CSR, &p) == 8);
    memset(model.kernel[TSR_GPU_CSR][TSR_GPU_EXACT][1], 0, sizeof model.kernel[0][0][0]);
    p.n = 20;
    assert_true(tsr_predict_kernel_ms(&model, TSR_GPU_CSR, &p) == 0);
}

static void test_unknown_gpus_get_the_nearest_model(void **unused)
{
    (void)unused;
    assert_non_null(tsr_model_default(0));
    assert_int_equal(tsr_model_default(90)->arch, 90);
    assert_non_null(tsr_model_default(999));
}

#define WITH_COMMA(id, name) name,

static void test_kernels_by_name(void **unused)
{
    (void)unused;
    for (int k = 0; k < TSR_FORMS; k++) {
        assert_int_equal(tsr_gpu_find_kernel(tsr_gpu_kernel_names[k]), k);
        int first = tsr_gpu_find_kernel(tsr_gpu_format_names[k]);
        assert_in_range(first, 0, k);
        assert_string_equal(tsr_gpu_format_names[first], tsr_gpu_format_names[k]);
    }
    const char *const formats[] = {TSR_GPU_FORMAT_LIST(WITH_COMMA)};
    for (int k = 0; k < (int)(sizeof formats / sizeof *formats); k++)
        assert_string_equal(tsr_gpu_format_names[tsr_gpu_find_kernel(formats[k])], formats[k]);
    assert_int_equal(tsr_gpu_find_kernel("panel"), TSR_GPU_PANEL_32);
    assert_int_equal(tsr_gpu_find_kernel("me-bcrs-8"), TSR_GPU_ME_BCRS);
    assert_int_equal(tsr_gpu_find_kernel("csr-narrow"), TSR_GPU_CSR);
    assert_int_equal(tsr_gpu_find_kernel("hrpb-8"), -1);
    assert_int_equal(tsr_gpu_find_kernel("panels"), -1);
    assert_int_equal(tsr_gpu_find_kernel(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solves),
        cmocka_unit_test(test_logistic_finds_its_weights),
        cmocka_unit_test(test_logistic_of_separated_labels),
        cmocka_unit_test(test_nonnegative_fit),
        cmocka_unit_test(test_fitted_model_chooses_well),
        cmocka_unit_test(test_windows_without_entries_stay_on_csr),
        cmocka_unit_test(test_hot_columns),
        cmocka_unit_test(test_samples_survive_their_text),
        cmocka_unit_test(test_models_survive_their_text),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_hostile_models_are_refused),
        cmocka_unit_test(test_files_that_are_no_models_are_refused),
        cmocka_unit_test(test_times_between_widths),
        cmocka_unit_test(test_unknown_gpus_get_the_nearest_model),
        cmocka_unit_test(test_kernels_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
