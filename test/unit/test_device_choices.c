/* What the native door chooses between for operands in device memory, on the matrices that were measured: where bias and activation of a graph
 * network's layer come in, and whether attention of FP32 is one pass or three calls.
 *   test_device_choices LAYERS ATTENTION ATTENTION-BY-THE-DOOR
 * Records of bench_device --layers 1 and bench_attention (bench/results).
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

#include "src/policy/model/forms.h"
#include "src/policy/price/attention.h"
#include "test/unit/replay_times.h"

static const char *records[3];

/* ---- rows of a record ---- */

/* The text behind "key": of a row; NULL: it has none. */
static const char *find(const char *row, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(row, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static double number(const char *row, const char *key)
{
    const char *at = find(row, key);
    return at ? strtod(at, NULL) : -1;
}

static bool is(const char *row, const char *key, const char *text)
{
    const char *at = find(row, key);
    return at && *at == '"' && strncmp(at + 1, text, strlen(text)) == 0 && at[1 + strlen(text)] == '"';
}

enum { ROW = 2048, MOST = 200 };

/* Returns how many. */
static int read_rows(const char *path, char (*rows)[ROW])
{
    FILE *file = fopen(path, "r");
    int count = 0;
    assert_non_null(file);
    while (count < MOST && fgets(rows[count], ROW, file)) {
        count += find(rows[count], "matrix") != NULL;
    }
    fclose(file);
    return count;
}

/* ---- layers ---- */

static const replay_matrix *matrix_of(const char *row)
{
    for (size_t m = 0; m < sizeof replay_matrices / sizeof *replay_matrices; m++) {
        if (is(row, "matrix", replay_matrices[m].name)) {
            return &replay_matrices[m];
        }
    }
    return NULL;
}

/* Times that the model predicts: of the faster panel, and of csr. */
static void predict(double *panel, double *csr, const replay_matrix *m, double n)
{
    double ms[TSR_FORMS];
    tsr_gpu_matrix a = {.nrows = m->nrows, .ncols = m->ncols, .nvals = m->nvals, .longest = m->longest};
    memcpy(a.hot, m->hot, sizeof a.hot);
    for (int h = 0; h < 5; h++) {
        a.own[h] = a.vectors[h] = m->vectors[h];
    }
    tsr_predict_forms(ms, tsr_model_default(90), &a, TSR_GPU_EXACT, n, TSR_ALL_FORMS);
    *csr = ms[TSR_GPU_CSR];
    *panel = fmin(ms[TSR_GPU_PANEL_32], ms[TSR_GPU_PANEL_64]);
}

/* What a layer takes in each way, as measured.  A panel that stores what is finished was not: as long as without. */
typedef struct layer {
    double by_csr, in_pass, in_kernel;
} layer;

static double taken(const layer *l, tsr_finish_way way)
{
    return way == TSR_FINISH_BY_CSR ? l->by_csr : way == TSR_FINISH_IN_PASS ? l->in_pass : l->in_kernel;
}

/* can: the kernel stores what is finished.  0 where the model errs about the product itself, and the kernel can not. */
static double loss(const layer *l, const replay_matrix *m, double n, bool can)
{
    double panel, csr;
    predict(&panel, &csr, m, n);
    if (!can && (panel < csr) != (l->in_kernel < l->by_csr)) {
        return 0;
    }
    const double paid = taken(l, tsr_choose_finish(can, panel, csr, m->nrows * n * 4));
    return paid / fmin(l->by_csr, can ? l->in_kernel : l->in_pass);
}

/* Rows come in threes: fused, with one pass, with two. */
static void test_layers(void **state)
{
    static char rows[MOST][ROW];
    const int count = read_rows(records[0], rows);
    int panels = 0, in_pass = 0;
    (void)state;
    for (int k = 0; k + 2 < count; k += 3) {
        const replay_matrix *m = matrix_of(rows[k]);
        const double n = number(rows[k], "n"), fused = number(rows[k], "ms"), two = number(rows[k + 1], "ms"), three = number(rows[k + 2], "ms");
        assert_true(m && is(rows[k], "kernel", "layer:fused") && is(rows[k + 2], "kernel", "layer:three-passes"));
        if (!is(rows[k], "note", "panel-fp32")) {
            assert_true(fused < two); /* csr stores what is finished */
            continue;
        }
        const layer l = {.by_csr = fused, .in_pass = two, .in_kernel = two - (three - two)};
        const double with = loss(&l, m, n, true), without = loss(&l, m, n, false);
        print_message("%-10s N = %3.0f: lost %4.1f %% where panels finish, %5.1f %% where they do not\n", m->name, n, 100 * (with - 1), 100 * (without - 1));
        assert_true(with < 1.1 && without < 1.1);
        panels++;
        in_pass += two < fused;
    }
    assert_true(panels >= 8 && in_pass > 0 && in_pass < panels); /* there was a choice */
}

static void test_unknown_times(void **state)
{
    (void)state;
    assert_int_equal(tsr_choose_finish(true, -1, -1, 1e6), TSR_FINISH_IN_KERNEL);
    assert_int_equal(tsr_choose_finish(false, -1, -1, 1e6), TSR_FINISH_IN_PASS);
    assert_int_equal(tsr_choose_finish(true, 2, 1, 1e6), TSR_FINISH_BY_CSR);
    assert_int_equal(tsr_choose_finish(false, 1, 1.001, 1e9), TSR_FINISH_BY_CSR);
}

/* ---- attention ---- */

static void test_attention(void **state)
{
    static char rows[MOST][ROW];
    const int count = read_rows(records[1], rows);
    int cases = 0, in_three = 0;
    (void)state;
    for (int k = 0; k < count; k++) {
        if (!is(rows[k], "type", "fp32")) {
            continue;
        }
        const double size = number(rows[k], "nrows"), pass = number(rows[k], "ms"), three = number(rows[k], "three_ms");
        const tsr_attention_features f = {.rows = size, .columns = size, .entries = number(rows[k], "entries"), .heads = number(rows[k], "heads"),
                                          .width = number(rows[k], "n")};
        const double paid = tsr_attention_splits(&f) ? three : pass;
        print_message("%.0f rows, %.0f heads of %.0f: one pass %.3f ms, three calls %.3f, lost %.1f %%\n", f.rows, f.heads, f.width, pass, three,
                      100 * (paid / fmin(pass, three) - 1));
        assert_true(paid <= 1.05 * fmin(pass, three));
        cases++;
        in_three += three < pass;
    }
    assert_true(cases >= 12 && in_three > 4 && in_three < cases);
}

/* The same by the door, heads side by side, on another GPU than that of the prices. */
static void test_attention_by_door(void **state)
{
    static char rows[MOST][ROW];
    const int count = read_rows(records[2], rows);
    (void)state;
    assert_true(count >= 18);
    for (int k = 0; k < count; k++) {
        const double size = number(rows[k], "nrows"), pass = number(rows[k], "pass_ms"), three = number(rows[k], "three_ms");
        const tsr_attention_features f = {.rows = size, .columns = size, .entries = number(rows[k], "nvals"), .heads = number(rows[k], "heads"),
                                          .width = number(rows[k], "n")};
        assert_true((tsr_attention_splits(&f) ? three : pass) <= 1.05 * fmin(pass, three));
    }
}

/* Of small patterns nothing was measured. */
static void test_small_patterns(void **state)
{
    (void)state;
    const tsr_attention_features f = {.rows = 1000, .columns = 1000, .entries = 1e5, .heads = 1, .width = 512};
    assert_false(tsr_attention_splits(&f));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers), cmocka_unit_test(test_unknown_times), cmocka_unit_test(test_attention), cmocka_unit_test(test_attention_by_door),
                                       cmocka_unit_test(test_small_patterns)};
    if (argc != 4) {
        return 2;
    }
    memcpy(records, argv + 1, sizeof records);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
