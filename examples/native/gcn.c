/* A layer of a graph convolutional network for a batch of feature sets, with a plan that a file keeps, through Tessera's native interface:
 *     cc gcn.c $(pkg-config --cflags --libs tessera) -lm
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <tessera/tessera.h>

/* A ring of four vertices with loops: every row of A sums to 1. */
enum { VERTICES = 4, ENTRIES = 12, WIDTH = 2, SETS = 3, ALL = VERTICES * WIDTH };
static const int32_t offsets[VERTICES + 1] = {0, 3, 6, 9, 12};
static const int32_t neighbours[ENTRIES] = {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3};
static const float bias[WIDTH] = {-1, .5f};

static int check(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s: %s\n", what, tsr_last_error());
    }
    return status == TSR_OK;
}

static tsr_dense features(float *data)
{
    return (tsr_dense){.data = data, .type = TSR_FP32, .nrows = VERTICES, .ncols = WIDTH, .ld = WIDTH};
}

/* The plan of an earlier run, or a new one, which is saved. */
static int get_plan(tsr_plan **plan, tsr_sparse *graph, const tsr_dense *x, const tsr_dense *h, const char *path)
{
    if (tsr_plan_load(plan, graph, path) == TSR_OK) {
        return 1;
    }
    return check(tsr_plan_create(plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), graph, x, h, 0), "plan") && check(tsr_plan_save(*plan, path), "save");
}

static int run(tsr_sparse *graph, float *x, float *h, float *sums, const char *path)
{
    const tsr_dense in = features(x), out = features(h), all = features(sums);
    const tsr_epilogue relu = {bias, TSR_ACTIVATION_RELU};
    const tsr_batch sets = {.count = SETS, .first_stride = ALL, .second_stride = ALL};
    tsr_plan *plan = NULL;
    const int good = get_plan(&plan, graph, &in, &out, path) && check(tsr_execute_fused(plan, 1, graph, &in, 0, &out, &relu, NULL), "layer") &&
                     check(tsr_execute_batch(plan, 1, graph, &in, 0, &all, &sets, NULL), "batch");
    if (good) {
        printf("%s\n", tsr_plan_explain(plan));
    }
    tsr_plan_destroy(plan);
    return good;
}

int main(void)
{
    static const char path[] = "gcn.plan";
    float weights[ENTRIES], x[SETS * ALL], h[ALL], sums[SETS * ALL];
    for (int e = 0; e < ENTRIES; e++) {
        weights[e] = 1.f / 3;
    }
    for (int k = 0; k < SETS * ALL; k++) {
        x[k] = (float)(k / ALL + 1) * (k % 2 ? -3.f : 3.f);
    }
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = neighbours, .type = TSR_FP32, .values = weights};
    tsr_sparse *graph = NULL;
    if (!check(tsr_sparse_create_csr(&graph, VERTICES, VERTICES, &arrays, 0), "create")) {
        return 1;
    }
    int good = run(graph, x, h, sums, path) && run(graph, x, h, sums, path); /* the second time from the file */
    for (int v = 0; good && v < VERTICES; v++) { /* 3 - 1, and max (-3 + .5, 0) */
        printf("vertex %d: %.3f %.3f\n", v, h[v * WIDTH], h[v * WIDTH + 1]);
        good = fabsf(h[v * WIDTH] - 2) < 1e-5f && h[v * WIDTH + 1] == 0;
    }
    for (int k = 0; good && k < SETS * ALL; k++) { /* what is equal everywhere stays */
        good = fabsf(sums[k] - x[k]) < 1e-5f;
    }
    tsr_sparse_destroy(graph);
    remove(path);
    return good ? 0 : 1;
}
