/* What the files of the native door share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_NATIVE_H
#define TSR_NATIVE_H

#include "src/engine/call/call.h"
#include "src/format/sparse/format.h"

typedef struct tsr_hint {
    int64_t n;
    double expected_calls;
    tsr_precision precision;
    bool deterministic;
} tsr_hint;

struct tsr_sparse {
    tsr_view view;           /* SPARSE; values absent (x = &one, iso) or the caller's */
    tsr_record *record;      /* representations of A ... */
    tsr_record *transposed;  /* ... and of its transpose: orientation alone does not tell them apart */
    tsr_hint hints[TSR_OP_COUNT];
    bool copied;
    const void *device_values; /* the caller's, in device memory, of which owned_values is a copy; NULL: there are none */
    _Atomic bool stale;        /* the copy is older (tsr_native_refresh) */
    unsigned changes;          /* of values */
    void *owned_offsets, *owned_indices, *owned_values; /* NULL: the caller's */
    union { uint64_t u[2]; double d; float f; } one;    /* the value of a pattern's entries */
};

/* What a plan with operands in device memory has (on_device.c). */
typedef struct tsr_native_device tsr_native_device;

struct tsr_plan {
    tsr_call call; /* operands as given at creation, without data */
    tsr_decision decision;
    tsr_dense first, second; /* shapes, types, layouts */
    unsigned flags;
    tsr_op op; /* as given: of one column an SpMM may be computed as SpMV */
    const tsr_sparse *a;
    char kernel[32]; /* wanted on the device; "": its choice */
    size_t bytes;
    tsr_native_device *device; /* NULL: operands are in host memory */
    const tsr_backend *gpu;    /* else whose memory others are in */
    tsr_compressed turned;     /* complex numbers: op(A) by row where A is not, with the places of its entries as values */
    char explanation[640];
};

/* ---- indices and offsets of the caller's (indices.c) ---- */

static inline int64_t tsr_native_index_at(const void *indices, tsr_index_type type, int64_t k)
{
    return tsr_offset(indices, type == TSR_INDEX_32, k);
}
void tsr_native_count_from_0(void *indices, size_t size, int64_t count, int base);

/* Of indices in range that count from base: no vector has one of them twice. */
tsr_status tsr_native_check_repeats(const tsr_view *v, int base);

/* Values in host memory that are about to be read become those of the device.  Any thread. */
tsr_status tsr_native_refresh(const tsr_sparse *a);

/* Threads that a call may use. */
int tsr_native_threads(void);
void tsr_native_set_alone(bool alone); /* of this thread: calls use no others */

/* ---- plans (plan.c) ---- */

/* A as the plan multiplies by it. */
static inline tsr_view tsr_native_op_of(const tsr_plan *plan, const tsr_sparse *a)
{
    return plan->flags & TSR_TRANSPOSE_A ? tsr_view_transposed(a->view) : a->view;
}

struct tsr_saved_plan;

/* tsr_plan_create; saved: what a file says was decided (NULL: nothing). */
tsr_status tsr_native_plan(tsr_plan **out, tsr_op op, tsr_semiring semiring, tsr_sparse *a, const tsr_dense *first, const tsr_dense *second,
                           unsigned flags, const struct tsr_saved_plan *saved);

/* The plan of a file that has these bytes (saved.c). */
tsr_status tsr_native_load(tsr_plan **plan, tsr_sparse *a, const unsigned char *bytes, size_t size);

/* ---- executions, checked and done (execute.c) ---- */

tsr_status tsr_native_check_execute(const tsr_plan *plan, tsr_complex alpha, const tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                    const tsr_dense *c, const void *stream);
tsr_status tsr_native_run(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta, const tsr_dense *c,
                          void *stream);
tsr_status tsr_native_check_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, const tsr_sparse *s,
                                  const void *values, const void *stream);
tsr_status tsr_native_run_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, tsr_sparse *s,
                                void *values, void *stream);

/* ---- errors (error.c): the status, and what is wrong for tsr_last_error ---- */

tsr_status tsr_native_fail(tsr_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
tsr_status tsr_native_null(const char *name); /* TSR_INVALID_VALUE: the argument is NULL */
tsr_status tsr_native_no_memory(void);        /* TSR_OUT_OF_MEMORY */
tsr_status tsr_native_check_range(const char *name, int64_t value, int64_t least, int64_t most);
tsr_status tsr_native_check_type(const char *name, tsr_type type); /* of values of a matrix: not of 16 bits */

/* ---- overlaps (overlap.c) ---- */

/* `count` pieces of `length` bytes, each `period` after the one before. */
typedef struct tsr_span {
    uintptr_t begin;
    size_t length, period;
    int64_t count;
} tsr_span;

bool tsr_native_overlap(tsr_span a, tsr_span b);
tsr_span tsr_native_span(const void *data, int64_t n, size_t size); /* one array */

/* The arrays of `a` are those that the caller gave, or copies that nobody else has. */
bool tsr_native_overlaps_pattern(tsr_span written, const tsr_view *a);
/* With `values` values of a, where the caller has them: in device memory, if the view has copies. */
bool tsr_native_overlaps_matrix(tsr_span written, const tsr_sparse *a, int64_t values);

/* ---- device memory (device.c) ---- */

/* Whose device memory it is; NULL: nobody's, which tsr_last_error says (TSR_NOT_SUPPORTED). */
const tsr_backend *tsr_native_find_device(void);

/* An array of device memory into host memory, after all that is on the device. */
tsr_status tsr_native_download(void *host, const void *device, size_t bytes);

/* Is p memory of the kind that it claims to be?  Asked with option check_pointers only. */
tsr_status tsr_native_check_pointer(const char *name, const void *p, tsr_memory_space memory);

/* On which device is the first of these that is on any, as tsr_backend_device.which counts; 0: none of them. */
int tsr_native_which(const tsr_backend *gpu, const void *const *p, int count);
/* Is p on that device?  Asked with option check_pointers only; p NULL: yes. */
tsr_status tsr_native_check_which(const char *name, const void *p, int which);

/* ---- plans with operands in device memory (on_device.c) ---- */

/* Makes plan->device, and adds to the explanation. */
tsr_status tsr_native_plan_on_device(tsr_plan *plan);
void tsr_native_drop_device(tsr_native_device *device); /* NULL allowed */
int tsr_native_plan_which(const tsr_plan *plan);            /* of a plan that has plan->device; 0: any */
const char *tsr_native_device_kernel(const tsr_plan *plan); /* that queued work takes; "": nothing is queued */

/* The checked executions of a plan that has plan->device.  epilogue: NULL, or what is done with C then. */
tsr_status tsr_native_execute_on_device(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                        const tsr_dense *c, const tsr_epilogue *epilogue, void *stream);
/* Products of one plan, queued together.  TSR_DECLINED: nothing was queued. */
tsr_status tsr_native_batch_on_device(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                      const tsr_dense *c, const tsr_batch *of, void *stream);
tsr_status tsr_native_sample_batch_on_device(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, void *values,
                                             const tsr_batch *of, void *stream);
tsr_status tsr_native_execute_sddmm_on_device(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                                              tsr_sparse *s, void *values, void *stream);

/* ---- the same through the host (through_host.c): operands in device memory are copied, and so is the result.  Waits. ---- */

tsr_status tsr_native_execute_through_host(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                           const tsr_dense *c, const tsr_epilogue *epilogue, void *stream);
tsr_status tsr_native_sample_through_host(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, tsr_sparse *s,
                                          void *values, void *stream);

/* ---- operands in host memory (on_host.c) ---- */

tsr_status tsr_native_execute_on_host(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                      const tsr_dense *c);
tsr_status tsr_native_execute_sddmm_on_host(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                                            tsr_sparse *s, void *values);

/* ---- complex numbers (complex.c) ---- */

bool tsr_native_is_complex(const tsr_plan *plan);

/* Types of the operands and the semiring, where one of them is complex. */
tsr_status tsr_native_check_complex(const tsr_plan *plan, tsr_op op);
tsr_status tsr_native_plan_complex(tsr_plan *plan);
tsr_status tsr_native_execute_complex(const tsr_plan *plan, tsr_complex alpha, const tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                      const tsr_dense *c);

static inline tsr_complex tsr_complex_of(double real) { return (tsr_complex){real, 0}; }
static inline bool tsr_complex_is(tsr_complex s, double real) { return s.re == real && s.im == 0; }

/* ---- operands of 16-bit numbers (half.c) ---- */

/* An operand as FP32; others as they are.  copy: to be freed. */
typedef struct tsr_widened {
    tsr_dense dense;
    void *copy;
} tsr_widened;

tsr_status tsr_native_widen(tsr_widened *w, const tsr_dense *d);

/* Is it computed from a B as it is? */
bool tsr_native_takes_half(const tsr_plan *plan);
tsr_status tsr_native_execute_half(const tsr_plan *plan, double alpha, const tsr_sparse *a, const tsr_dense *b, double beta, const tsr_dense *c);

/* ---- operands (operands.c) ---- */

/* Elements of one row or column, whichever are consecutive. */
int64_t tsr_native_vector_length(const tsr_dense *d);

/* Read-only view of a dense operand (of 16-bit numbers: of its FP32 copy); a column of consecutive elements becomes by_col. */
tsr_view tsr_native_dense_view(const tsr_dense *d);

/* Shape, enumerators and leading dimension in order; data is not looked at. */
tsr_status tsr_native_check_dense(const char *name, const tsr_dense *d);

/* Product with the operands of a plan (op(A) resolved), dense ones from `first` and `second`. */
void tsr_native_bind(tsr_call *call, const tsr_plan *plan, tsr_sparse *a, const tsr_dense *first,
                     const tsr_dense *second);

/* C in host memory, after its product (epilogue.c). */
void tsr_native_finish_epilogue(const tsr_dense *c, const tsr_epilogue *epilogue);

/* ---- results (finish.c) ---- */

/* C = alpha T + beta C, where T has the places present[] (NULL: all); T itself NULL: none.  Absent places count as the
 * monoid's identity.  T and present are `outer` vectors of `inner` elements without padding, C has leading dimension
 * ld.  c may be t.  alpha and beta: 1 and 0, or the semiring adds floating-point numbers. */
typedef struct tsr_finish {
    tsr_semiring semiring;
    double alpha, beta;
    const void *t;
    const int8_t *present;
    void *c;
    int64_t outer, inner, ld;
    int nthreads;
} tsr_finish;

void tsr_native_finish(const tsr_finish *f);

#endif
