/* The native door on streams of the program's own: nothing waits for the device, streams do not wait for each other, graphs are captured.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "tessera/attention.h"
#include "tessera/tessera.h"

#define CUDA(call) assert_int_equal((call), cudaSuccess)

/* A has two long rows, empty rows and a band; numbers are small and whole, so that sums are exact in any order. */
enum { ROWS = 4096, COLUMNS = 40, LONG = 3000, MOST = 4 * ROWS + 2 * LONG };
static int32_t offsets[ROWS + 1], indices[MOST];
static float values[MOST], b[ROWS * COLUMNS], expected[ROWS * COLUMNS], found[ROWS * COLUMNS];

static void add_entry(int *count, int column)
{
    indices[*count] = column;
    values[*count] = (float)(1 + *count % 3);
    ++*count;
}

static void make_operands(void)
{
    int count = 0;
    for (int r = 0; r < ROWS; r++) {
        const int entries = r == 5 || r == 2000 ? LONG : r % 7 == 0 ? 0 : 3, first = r + entries < ROWS ? r : ROWS - entries;
        for (int k = 0; k < entries; k++) {
            add_entry(&count, (entries == LONG ? 0 : first) + k);
        }
        offsets[r + 1] = count;
    }
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        b[k] = (float)(k % 5 - 2);
    }
}

static tsr_dense dense(void *data, tsr_memory_space memory)
{
    return (tsr_dense){.data = data, .type = TSR_FP32, .nrows = ROWS, .ncols = COLUMNS, .ld = COLUMNS, .memory = memory};
}

static const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = indices, .type = TSR_FP32, .values = values};

/* On the host, by the same door. */
static void expect(void)
{
    tsr_sparse *a;
    tsr_plan *plan;
    const tsr_dense host_b = dense(b, TSR_MEMORY_HOST), host_c = dense(expected, TSR_MEMORY_HOST);
    assert_int_equal(tsr_sparse_create_csr(&a, ROWS, ROWS, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &host_b, &host_c, 0), TSR_OK);
    assert_int_equal(tsr_execute(plan, 1, a, &host_b, 0, &host_c, NULL), TSR_OK);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

typedef struct product {
    tsr_sparse *a;
    tsr_plan *plan;
    tsr_dense b, c;
    void *workspace;
    cudaStream_t stream;
} product;

/* Streams of ours do not wait for the default one, on which it is done. */
static void spoil(void *c)
{
    CUDA(cudaMemset(c, 0xff, sizeof b));
    CUDA(cudaDeviceSynchronize());
}

static void make(product *p)
{
    void *there[2];
    for (int k = 0; k < 2; k++) {
        CUDA(cudaMalloc(&there[k], sizeof b));
    }
    CUDA(cudaMemcpy(there[0], b, sizeof b, cudaMemcpyHostToDevice));
    spoil(there[1]);
    p->b = dense(there[0], TSR_MEMORY_DEVICE);
    p->c = dense(there[1], TSR_MEMORY_DEVICE);
    assert_int_equal(tsr_sparse_create_csr(&p->a, ROWS, ROWS, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&p->plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), p->a, &p->b, &p->c, 0), TSR_OK);
    assert_true(tsr_plan_is_asynchronous(p->plan));
    const size_t bytes = tsr_plan_workspace_bytes(p->plan);
    CUDA(cudaMalloc(&p->workspace, bytes + 256));
    assert_int_equal(tsr_plan_set_workspace(p->plan, p->workspace, bytes + 256), TSR_OK);
    CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    assert_int_equal(tsr_execute(p->plan, 1, p->a, &p->b, 0, &p->c, p->stream), TSR_OK); /* loads the kernel */
    CUDA(cudaStreamSynchronize(p->stream));
}

static void drop(product *p)
{
    tsr_plan_destroy(p->plan);
    tsr_sparse_destroy(p->a);
    CUDA(cudaFree(p->b.data));
    CUDA(cudaFree(p->c.data));
    CUDA(cudaFree(p->workspace));
    CUDA(cudaStreamDestroy(p->stream));
}

static void check(const product *p)
{
    CUDA(cudaMemcpy(found, p->c.data, sizeof found, cudaMemcpyDeviceToHost));
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        assert_true(found[k] == expected[k]);
    }
}

/* ---- a stream that is held until the host lets it go ---- */

static atomic_bool let_go;

static void CUDART_CB wait_until_let_go(void *unused)
{
    (void)unused;
    while (!atomic_load(&let_go)) {
    }
}

static void hold(cudaStream_t stream)
{
    atomic_store(&let_go, false);
    CUDA(cudaLaunchHostFunc(stream, wait_until_let_go, NULL));
}

static void test_returns_at_once(void **state)
{
    (void)state;
    product p;
    make(&p);
    spoil(p.c.data);
    hold(p.stream);
    for (int k = 0; k < 10; k++) {
        assert_int_equal(tsr_execute(p.plan, 1, p.a, &p.b, 0, &p.c, p.stream), TSR_OK);
    }
    assert_int_equal(cudaStreamQuery(p.stream), cudaErrorNotReady);
    atomic_store(&let_go, true);
    CUDA(cudaStreamSynchronize(p.stream));
    check(&p);
    drop(&p);
}

static void test_streams_do_not_wait_for_each_other(void **state)
{
    (void)state;
    product held, other;
    make(&held);
    make(&other);
    spoil(held.c.data);
    spoil(other.c.data);
    hold(held.stream);
    assert_int_equal(tsr_execute(held.plan, 1, held.a, &held.b, 0, &held.c, held.stream), TSR_OK);
    assert_int_equal(tsr_execute(other.plan, 1, other.a, &other.b, 0, &other.c, other.stream), TSR_OK);
    CUDA(cudaStreamSynchronize(other.stream));
    assert_int_equal(cudaStreamQuery(held.stream), cudaErrorNotReady);
    atomic_store(&let_go, true);
    CUDA(cudaStreamSynchronize(held.stream));
    check(&other);
    check(&held);
    drop(&held);
    drop(&other);
}

/* One plan on two streams at once. */
static void test_one_plan_two_streams(void **state)
{
    (void)state;
    product p;
    make(&p);
    cudaStream_t second;
    tsr_dense c = p.c;
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&c.data, sizeof b));
    assert_int_equal(tsr_plan_set_workspace(p.plan, NULL, 0), TSR_OK); /* each from its pool */
    for (int k = 0; k < 50; k++) {
        assert_int_equal(tsr_execute(p.plan, 1, p.a, &p.b, 0, &p.c, p.stream), TSR_OK);
        assert_int_equal(tsr_execute(p.plan, 1, p.a, &p.b, 0, &c, second), TSR_OK);
    }
    CUDA(cudaStreamSynchronize(p.stream));
    CUDA(cudaStreamSynchronize(second));
    check(&p);
    product other = p;
    other.c = c;
    check(&other);
    CUDA(cudaFree(c.data));
    CUDA(cudaStreamDestroy(second));
    drop(&p);
}

/* ---- graphs ---- */

static void capture_and_launch(const product *p)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(p->stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(tsr_execute(p->plan, 1, p->a, &p->b, 0, &p->c, p->stream), TSR_OK);
    CUDA(cudaStreamEndCapture(p->stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    spoil(p->c.data);
    for (int k = 0; k < 3; k++) {
        CUDA(cudaGraphLaunch(exec, p->stream));
    }
    CUDA(cudaStreamSynchronize(p->stream));
    check(p);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

static void test_graph(void **state)
{
    (void)state;
    product p;
    make(&p);
    capture_and_launch(&p);
    assert_int_equal(tsr_plan_set_workspace(p.plan, NULL, 0), TSR_OK);
    capture_and_launch(&p); /* scratch is a node of the graph */
    drop(&p);
}

/* SDDMM, and the softmax of its rows: queued behind what holds the stream, and captured. */
static void test_sampled(void **state)
{
    (void)state;
    product p;
    float *values_there;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    tsr_plan *plan;
    make(&p);
    tsr_dense y = p.b;
    y.layout = TSR_COL_MAJOR;
    y.nrows = COLUMNS;
    y.ncols = ROWS;
    y.ld = COLUMNS;
    CUDA(cudaMalloc((void **)&values_there, sizeof values));
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP32), p.a, &p.b, &y, TSR_SOFTMAX_ROWS), TSR_OK);
    assert_true(tsr_plan_is_asynchronous(plan));
    assert_int_equal(tsr_execute_sddmm(plan, 1, &p.b, &y, 0, p.a, values_there, p.stream), TSR_OK);
    CUDA(cudaStreamSynchronize(p.stream));
    hold(p.stream);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &p.b, &y, 0, p.a, values_there, p.stream), TSR_OK);
    assert_int_equal(cudaStreamQuery(p.stream), cudaErrorNotReady);
    atomic_store(&let_go, true);
    CUDA(cudaStreamSynchronize(p.stream));
    CUDA(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(tsr_execute_sddmm(plan, 1, &p.b, &y, 0, p.a, values_there, p.stream), TSR_OK);
    CUDA(cudaStreamEndCapture(p.stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaMemset(values_there, 0xff, sizeof values));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGraphLaunch(exec, p.stream));
    CUDA(cudaStreamSynchronize(p.stream));
    CUDA(cudaMemcpy(found, values_there, sizeof values, cudaMemcpyDeviceToHost));
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int e = offsets[r]; e < offsets[r + 1]; e++) {
            sum += found[e];
        }
        assert_true(offsets[r] == offsets[r + 1] || (sum > .999 && sum < 1.001)); /* weights of a row */
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    tsr_plan_destroy(plan);
    CUDA(cudaFree(values_there));
    drop(&p);
}

/* ---- every function in a graph: the same bits as outside of one ---- */

/* What a call writes, and whatever it needs. */
typedef struct call {
    tsr_sparse *a;
    tsr_plan *plan;
    tsr_attention_plan *attention;
    tsr_dense b, c;
    tsr_heads q, o, gradient;
    float *lse, *bias;
    void *written;
    size_t bytes;
    cudaStream_t stream;
} call;

typedef tsr_status (*call_function)(const call *c);

static const tsr_batch two = {.count = 2, .first_stride = ROWS * COLUMNS, .second_stride = ROWS * COLUMNS};

static tsr_status call_execute(const call *c)
{
    return tsr_execute(c->plan, 2, c->a, &c->b, 0, &c->c, c->stream);
}
static tsr_status call_complex(const call *c)
{
    return tsr_execute_complex(c->plan, (tsr_complex){1, 2}, c->a, &c->b, (tsr_complex){0, 0}, &c->c, c->stream);
}
static tsr_status call_fused(const call *c)
{
    const tsr_epilogue epilogue = {.bias = c->bias, .activation = TSR_ACTIVATION_RELU};
    return tsr_execute_fused(c->plan, 1, c->a, &c->b, 0, &c->c, &epilogue, c->stream);
}
static tsr_status call_batch(const call *c)
{
    return tsr_execute_batch(c->plan, 1, c->a, &c->b, 0, &c->c, &two, c->stream);
}
static tsr_status call_sampled(const call *c)
{
    return tsr_execute_sddmm(c->plan, 3, &c->b, &c->c, 0, c->a, c->written, c->stream);
}
static tsr_status call_sampled_batch(const call *c)
{
    const tsr_batch batch = {.count = 2, .values_stride = offsets[ROWS], .first_stride = two.first_stride, .second_stride = two.second_stride};
    return tsr_execute_sddmm_batch(c->plan, 3, &c->b, &c->c, 0, c->a, c->written, &batch, c->stream);
}
static tsr_status call_attention(const call *c)
{
    return tsr_attention_execute(c->attention, .1, &c->q, &c->q, &c->q, &c->o, c->lse, c->stream);
}
static tsr_status call_backward(const call *c)
{
    return tsr_attention_backward(c->attention, .1, &c->q, &c->q, &c->q, &c->o, c->lse, &c->q, &c->gradient, NULL, NULL, c->stream);
}

static char *contents(const void *there, size_t bytes)
{
    char *here = malloc(bytes);
    assert_non_null(here);
    CUDA(cudaMemcpy(here, there, bytes, cudaMemcpyDeviceToHost));
    return here;
}

static void check_in_a_graph(const call *c, call_function function)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaMemset(c->written, 0xff, c->bytes));
    CUDA(cudaDeviceSynchronize());
    assert_int_equal(function(c), TSR_OK);
    CUDA(cudaStreamSynchronize(c->stream));
    char *first = contents(c->written, c->bytes);
    CUDA(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeGlobal));
    assert_int_equal(function(c), TSR_OK);
    CUDA(cudaStreamEndCapture(c->stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaMemset(c->written, 0xff, c->bytes));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGraphLaunch(exec, c->stream));
    CUDA(cudaStreamSynchronize(c->stream));
    char *second = contents(c->written, c->bytes);
    assert_memory_equal(first, second, c->bytes);
    free(first);
    free(second);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

/* B and C for two products; bias and lse beside. */
static call make_call(void)
{
    call c = {.bytes = 2 * sizeof b};
    void *from;
    CUDA(cudaMalloc(&from, 2 * sizeof b));
    for (int k = 0; k < 2; k++) {
        CUDA(cudaMemcpy((char *)from + (size_t)k * sizeof b, b, sizeof b, cudaMemcpyHostToDevice));
    }
    CUDA(cudaMalloc(&c.written, 2 * sizeof b));
    CUDA(cudaMemset(c.written, 0, 2 * sizeof b));
    CUDA(cudaMalloc((void **)&c.bias, COLUMNS * sizeof(float)));
    CUDA(cudaMemset(c.bias, 0, COLUMNS * sizeof(float)));
    CUDA(cudaMalloc((void **)&c.lse, ROWS * sizeof(float)));
    CUDA(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking));
    CUDA(cudaDeviceSynchronize());
    c.b = dense(from, TSR_MEMORY_DEVICE);
    c.c = dense(c.written, TSR_MEMORY_DEVICE);
    return c;
}

static void drop_call(call *c)
{
    CUDA(cudaFree(c->b.data));
    CUDA(cudaFree(c->written));
    CUDA(cudaFree(c->bias));
    CUDA(cudaFree(c->lse));
    CUDA(cudaStreamDestroy(c->stream));
}

static void capture_products(tsr_type type, const call_function *functions, int count)
{
    call c = make_call();
    tsr_arrays of_type = arrays;
    if (type == TSR_FC32) { /* pairs of neighbouring numbers */
        of_type.type = c.b.type = c.c.type = type;
        of_type.values = b;
        c.b.ncols = c.c.ncols = c.b.ld = c.c.ld = COLUMNS / 2;
    }
    assert_int_equal(tsr_sparse_create_csr(&c.a, ROWS, ROWS, &of_type, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&c.plan, TSR_OP_SPMM, tsr_default_semiring(type), c.a, &c.b, &c.c, 0), TSR_OK);
    assert_true(tsr_plan_is_asynchronous(c.plan));
    for (int k = 0; k < count; k++) {
        check_in_a_graph(&c, functions[k]);
    }
    tsr_plan_destroy(c.plan);
    tsr_sparse_destroy(c.a);
    drop_call(&c);
}

static void test_graphs_of_products(void **state)
{
    (void)state;
    static const call_function real[] = {call_execute, call_fused, call_batch}, complex[] = {call_complex};
    capture_products(TSR_FP32, real, 3);
    capture_products(TSR_FC32, complex, 1);
}

static void test_graphs_of_samples(void **state)
{
    (void)state;
    call c = make_call();
    c.bytes = 2 * (size_t)offsets[ROWS] * sizeof(float);
    c.c = c.b; /* Y */
    c.c.layout = TSR_COL_MAJOR;
    c.c.nrows = COLUMNS;
    c.c.ncols = ROWS;
    assert_int_equal(tsr_sparse_create_csr(&c.a, ROWS, ROWS, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&c.plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP32), c.a, &c.b, &c.c, 0), TSR_OK);
    assert_true(tsr_plan_is_asynchronous(c.plan));
    check_in_a_graph(&c, call_sampled_batch);
    c.bytes /= 2;
    check_in_a_graph(&c, call_sampled);
    tsr_plan_destroy(c.plan);
    tsr_sparse_destroy(c.a);
    drop_call(&c);
}

/* As FP16, the halves of these numbers are 0 and numbers from -2 to 2. */
static void capture_attention(tsr_type type)
{
    call c = make_call();
    const int64_t width = 40;
    c.q = (tsr_heads){.data = c.b.data, .type = type, .rows = ROWS, .heads = 1, .width = width, .ld = width, .memory = TSR_MEMORY_DEVICE};
    c.o = c.gradient = c.q;
    c.o.data = c.written;
    assert_int_equal(tsr_sparse_create_csr(&c.a, ROWS, ROWS, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_attention_plan_create(&c.attention, c.a, &c.q, &c.q, &c.q, &c.o, TSR_ATTENTION_BACKWARD), TSR_OK);
    assert_true(tsr_attention_plan_is_asynchronous(c.attention));
    c.bytes = (size_t)(ROWS * width) * (type == TSR_FP32 ? 4 : 2);
    check_in_a_graph(&c, call_attention);
    c.gradient.data = (char *)c.written + c.bytes; /* beside o, which is read */
    c.written = c.gradient.data;
    check_in_a_graph(&c, call_backward);
    c.written = c.o.data;
    tsr_attention_plan_destroy(c.attention);
    tsr_sparse_destroy(c.a);
    drop_call(&c);
}

static void test_graphs_of_attention(void **state)
{
    (void)state;
    capture_attention(TSR_FP32);
    capture_attention(TSR_FP16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_returns_at_once), cmocka_unit_test(test_streams_do_not_wait_for_each_other),
        cmocka_unit_test(test_one_plan_two_streams), cmocka_unit_test(test_graph), cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_graphs_of_products), cmocka_unit_test(test_graphs_of_samples), cmocka_unit_test(test_graphs_of_attention),
    };
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("no GPU\n");
        return 77;
    }
    make_operands();
    expect();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
