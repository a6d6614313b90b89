/* The largest eigenvalue of a Hermitian matrix by power iteration, in complex arithmetic, through Tessera's native interface:
 *     cc complex.c $(pkg-config --cflags --libs tessera) -lm
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <tessera/tessera.h>

/* A ring of N sites: hopping with a phase, H(k, k + 1) = exp (i PHASE) and its conjugate below.  Only the upper half is stored, by rows; H x is
 * U x + U' x with the conjugate transpose of U. */
enum { N = 12, STEPS = 2000 };
#define PHASE .1

static int check(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s: %s\n", what, tsr_last_error());
    }
    return status == TSR_OK;
}

static double norm(const double complex *x)
{
    double sum = 0;
    for (int k = 0; k < N; k++) {
        sum += creal(x[k] * conj(x[k]));
    }
    return sqrt(sum);
}

/* y = U x, then y = U' x + y + 2 x: the shift makes the largest eigenvalue the one of largest magnitude. */
static int step(const tsr_plan *upper, const tsr_plan *lower, tsr_sparse *u, const tsr_dense *x, tsr_dense *y)
{
    double complex *to = y->data;
    const double complex *from = x->data;
    const int good = check(tsr_execute(upper, 1, u, x, 0, y, NULL), "U x") && check(tsr_execute(lower, 1, u, x, 1, y, NULL), "U' x");
    for (int k = 0; k < N; k++) {
        to[k] += 2 * from[k];
    }
    return good;
}

static double iterate(tsr_sparse *u, const tsr_plan *upper, const tsr_plan *lower, tsr_dense *x, tsr_dense *y)
{
    double complex *from = x->data, *to = y->data;
    double length = 0;
    for (int s = 0; s < STEPS; s++) {
        if (!step(upper, lower, u, x, y)) {
            return 0;
        }
        length = norm(to);
        for (int k = 0; k < N; k++) {
            from[k] = to[k] / length;
        }
    }
    return length - 2;
}

int main(void)
{
    int32_t offsets[N + 1], columns[N];
    double complex hop[N], in[N], out[N];
    for (int k = 0; k < N; k++) {
        offsets[k] = k;
        columns[k] = (k + 1) % N;
        hop[k] = cexp(I * PHASE);
        in[k] = 1 + k % 3 + I * (k % 2);
    }
    offsets[N] = N;
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = columns, .type = TSR_FC64, .values = hop};
    tsr_dense x = {.data = in, .type = TSR_FC64, .layout = TSR_COL_MAJOR, .nrows = N, .ncols = 1, .ld = N}, y = x;
    const tsr_semiring plus_times = tsr_default_semiring(TSR_FC64);
    tsr_sparse *u = NULL;
    tsr_plan *upper = NULL, *lower = NULL;
    double largest = 0;
    y.data = out;
    if (check(tsr_sparse_create_csr(&u, N, N, &arrays, 0), "create") &&
        check(tsr_plan_create(&upper, TSR_OP_SPMV, plus_times, u, &x, &y, 0), "plan") &&
        check(tsr_plan_create(&lower, TSR_OP_SPMV, plus_times, u, &x, &y, TSR_TRANSPOSE_A | TSR_CONJUGATE_A), "plan")) {
        printf("%s\n%s\n", tsr_plan_explain(upper), tsr_plan_explain(lower));
        largest = iterate(u, upper, lower, &x, &y);
    }
    tsr_plan_destroy(lower);
    tsr_plan_destroy(upper);
    tsr_sparse_destroy(u);
    printf("largest eigenvalue %.6f\n", largest);
    return fabs(largest - 2 * cos(PHASE)) < 1e-6 ? 0 : 1; /* 2 cos (PHASE + 2 pi q / N), largest at q = 0 */
}
