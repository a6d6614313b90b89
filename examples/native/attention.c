/* One attention layer over a graph, forward and backward, through Tessera's native interface:
 *     cc attention.c $(pkg-config --cflags --libs tessera) -lm
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <tessera/attention.h>

/* A path of four vertices; each attends to itself and its neighbours. */
enum { VERTICES = 4, ENTRIES = 10, HEADS = 2, WIDTH = 4, ALL = VERTICES * HEADS * WIDTH };
static const int32_t offsets[VERTICES + 1] = {0, 2, 5, 8, 10};
static const int32_t neighbours[ENTRIES] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};

static int check(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s: %s\n", what, tsr_last_error());
    }
    return status == TSR_OK;
}

/* Vertices x heads x width. */
static tsr_heads heads_of(float *data)
{
    return (tsr_heads){.data = data, .type = TSR_FP32, .rows = VERTICES, .heads = HEADS, .width = WIDTH, .ld = HEADS * WIDTH, .head_stride = WIDTH};
}

/* The loss is the sum of O, so its gradient with respect to O is 1 everywhere. */
static int run(tsr_sparse *graph, float x[ALL], float out[ALL], float gradient[3][ALL])
{
    static float lse[VERTICES * HEADS], ones[ALL];
    const double scale = 1 / sqrt((double)WIDTH);
    const tsr_heads in = heads_of(x), o = heads_of(out), grad_o = heads_of(ones);
    const tsr_heads grad_q = heads_of(gradient[0]), grad_k = heads_of(gradient[1]), grad_v = heads_of(gradient[2]);
    tsr_attention_plan *plan = NULL;
    for (int k = 0; k < ALL; k++) {
        ones[k] = 1;
    }
    int good = check(tsr_attention_plan_create(&plan, graph, &in, &in, &in, &o, TSR_ATTENTION_BACKWARD), "plan");
    if (good) {
        printf("%s\n", tsr_attention_plan_explain(plan));
        good = check(tsr_attention_execute(plan, scale, &in, &in, &in, &o, lse, NULL), "execute") &&
               check(tsr_attention_backward(plan, scale, &in, &in, &in, &o, lse, &grad_o, &grad_q, &grad_k, &grad_v, NULL), "backward");
    }
    tsr_attention_plan_destroy(plan);
    return good;
}

int main(void)
{
    float x[ALL], out[ALL], gradient[3][ALL], given = 0;
    for (int k = 0; k < ALL; k++) {
        x[k] = (float)(k % 5) / 5;
    }
    tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = neighbours, .type = TSR_FP32};
    tsr_sparse *graph = NULL;
    if (!check(tsr_sparse_create_csr(&graph, VERTICES, VERTICES, &arrays, 0), "create")) {
        return 1;
    }
    int good = run(graph, x, out, gradient);
    for (int v = 0; good && v < VERTICES; v++) {
        printf("vertex %d: %.3f %.3f %.3f %.3f\n", v, out[v * HEADS * WIDTH], out[v * HEADS * WIDTH + 1], out[v * HEADS * WIDTH + 2],
               out[v * HEADS * WIDTH + 3]);
    }
    /* Weights of a row sum to 1: of the gradient of V, so do the rows of each column. */
    for (int v = 0; v < VERTICES; v++) {
        given += gradient[2][v * HEADS * WIDTH];
    }
    tsr_sparse_destroy(graph);
    return good && fabsf(given - VERTICES) < 1e-5f ? 0 : 1;
}
