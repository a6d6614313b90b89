/* One product of a graph's adjacency matrix with a tall dense matrix, through Tessera's native interface:
 *     cc spmm.c $(pkg-config --cflags --libs tessera)
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tessera/tessera.h>

/* A cycle of six vertices: vertex v is next to v - 1 and v + 1. */
enum { VERTICES = 6, FEATURES = 3 };
static const int32_t offsets[VERTICES + 1] = {0, 2, 4, 6, 8, 10, 12};
static const int32_t neighbours[2 * VERTICES] = {1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 0, 4};

static int check(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s: %s\n", what, tsr_status_string(status));
    }
    return status == TSR_OK;
}

/* h = A h / 2, as a graph neural network averages the features of neighbours. */
static int average(const tsr_plan *plan, tsr_sparse *a, float *h, float *out)
{
    tsr_dense in = {.data = h, .type = TSR_FP32, .layout = TSR_ROW_MAJOR, .nrows = VERTICES, .ncols = FEATURES, .ld = FEATURES};
    tsr_dense result = in;
    result.data = out;
    return check(tsr_execute(plan, 0.5, a, &in, 0.0, &result, NULL), "execute");
}

int main(void)
{
    float h[VERTICES * FEATURES], out[VERTICES * FEATURES];
    for (int k = 0; k < VERTICES * FEATURES; k++) {
        h[k] = (float)k;
    }

    /* The arrays stay ours: the library only looks at them. No values: every entry of the matrix is 1. */
    tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = neighbours, .type = TSR_FP32};
    tsr_sparse *a = NULL;
    if (!check(tsr_sparse_create_csr(&a, VERTICES, VERTICES, &arrays, 0), "create")) {
        return 1;
    }
    /* A thousand products are to come: what pays over that many may be built at once. */
    tsr_sparse_hint(a, TSR_OP_SPMM, FEATURES, 1000, TSR_PRECISION_EXACT, true);

    /* A plan needs shapes and types only. */
    tsr_dense shape = {.type = TSR_FP32, .layout = TSR_ROW_MAJOR, .nrows = VERTICES, .ncols = FEATURES, .ld = FEATURES};
    tsr_plan *plan = NULL;
    int good = check(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &shape, &shape, 0), "plan");
    if (good) {
        printf("%s\n", tsr_plan_explain(plan));
        good = average(plan, a, h, out);
    }
    for (int v = 0; good && v < VERTICES; v++) {
        printf("vertex %d: %5.1f %5.1f %5.1f\n", v, out[v * FEATURES], out[v * FEATURES + 1], out[v * FEATURES + 2]);
    }
    /* Vertex 2 averages the rows of 1 and 3: (3 + 9) / 2 = 6. */
    good = good && out[2 * FEATURES] == 6.0f;
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
    return good ? 0 : 1;
}
