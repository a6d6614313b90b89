/* One call: match -> decide -> run -> settle -> report.  Every door calls this.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_H
#define TSR_ENGINE_H

#include "kernels/complex.h"
#include "src/engine/call.h"
#include "src/policy/start_history.h"
#include "src/runtime/trace.h"

/* ---- a whole call (engine.c) ---- */

/* Computes a call that came through `door`, or has it computed by the door's library.  true: done, *info is the result; false: nothing has
 * been done, forward it. */
bool tsr_engine_call(const tsr_door *door, const tsr_arguments *given, int *info);

/* Runs a call whose operation and operands are matched.  true: done; false: nothing has been done, call->why may say why.  What the call holds
 * is released. */
bool tsr_engine_run(tsr_call *call);

extern const tsr_operation tsr_sparse_product_operation; /* sparse times sparse */
extern const tsr_operation tsr_full_product_operation, tsr_row_sums_operation, tsr_host_row_sums_operation, tsr_total_operation;

/* ---- products as an operation (product.c) ---- */

extern const tsr_operation tsr_product_operation;

/* The result that was left on the device; NULL: out of memory. */
tsr_device_array *tsr_engine_result_array(tsr_call *call, bool full);

/* ---- decisions about products (decide.c) ---- */

/* So little work that nothing we could do pays (drop-in door; no record is made for such operands).  Not where an operand is with a
 * backend: it would have to be downloaded. */
bool tsr_engine_too_small(const tsr_product *product);
/* The same of a product that is not known yet, but for the most multiply-adds it can have. */
bool tsr_engine_hopeless(double most_work, bool masked);
/* ... and the trace, which wants to know more of each, is off. */
bool tsr_engine_leaves(double most_work, bool masked);

/* How many of the allowed threads the work of a product keeps busy (SuiteSparse's own rule: one per 65536 steps). */
int tsr_engine_useful_threads(const tsr_product *product);

/* Pure but for reading the records: who computes this, with what. */
void tsr_engine_decide(const tsr_call *call, tsr_decision *decision);

/* Would a GPU that has nothing of two full matrices multiply them sooner?  Counts towards starting it. */
bool tsr_engine_gpu_multiplies(const tsr_call *call);

/* Does the GPU run, or does the product wait until it does? */
bool tsr_engine_starts_gpu(tsr_start start);

/* TESSERA_KERNEL=ref: every routed product by the reference kernels, to check an answer. */
bool tsr_engine_by_reference(void);

/* What a product of this decision took in the end, from call to return, whoever computed it; busy: of that, what this thread computed. */
void tsr_engine_learn(const tsr_decision *decision, double ms, double busy_ms);
/* ... of one that SuiteSparse computed, operands downloaded for it included; forwarded: of the decision. */
void tsr_engine_learn_forwarded(uint64_t forwarded, double ms);
/* In auto, one is installed and was not asked for yet. */
bool tsr_engine_may_start_gpu(void);
/* A forwarded product that a running GPU would have computed took so long. */
void tsr_engine_lost(double ms);
/* ... of a forwarded one with observed_ms. */
void tsr_engine_observe(const tsr_call *call, const tsr_decision *decision, double ms);

/* A sparse vector pushed along a matrix in a search. */
typedef struct tsr_frontier {
    double entries, rows, columns; /* of the matrix */
    double vertices;               /* entries of the vector */
    int nthreads;
} tsr_frontier;

/* The same of such a push, of which nothing else is known. */
void tsr_engine_observe_push(const tsr_frontier *f, double ms);

/* Is C certainly full (every row of A has an entry, B is full)?  The caller then needs no result->b. */
bool tsr_engine_result_full(const tsr_call *call);

/* Does SuiteSparse mask its T as it computes that, and have it as C lies?  Not if both operands lie otherwise. */
bool tsr_engine_masks_t(const tsr_call *call);

/* Will the product of this decision be joined to a C that is there (result->c)? */
bool tsr_engine_joins(const tsr_call *call, const tsr_decision *decision);

/* SuiteSparse ends at the first hit, so that nobody predicts what it takes. */
static inline bool tsr_is_search(const tsr_call *call)
{
    return call->one_value || call->positions;
}

/* Operands that only a device can read: nobody else computes the product then. */
static inline bool tsr_reads_device(const tsr_call *call)
{
    return call->product.a_value || call->product.b_value;
}

/* The result need not be downloaded. */
static inline bool tsr_result_stays(const tsr_call *call)
{
    return call->remote.may_stay && !call->remote.trial;
}

/* ---- time (clock.c) ---- */

double tsr_engine_clock_ms(void);

/* When work began: by the clock, and the CPU time of this thread and of all. */
typedef struct tsr_stopwatch {
    double clock_ms, thread_ms, process_ms;
} tsr_stopwatch;

tsr_stopwatch tsr_engine_stopwatch(void);

/* What work of the CPU took since.  What else runs on a busy machine does not count: of one thread its CPU time; of several the time that
 * passed, but not more than what this one computed, or each of them on average. */
double tsr_engine_work_ms(const tsr_stopwatch *start, int nthreads);

/* Without the time in which this thread waited or others had its processor. */
double tsr_engine_busy_ms(void);

/* ---- execution (execute.c) ---- */

/* Run a decision (decision->backend != NULL) into the caller's arrays and write the trace record.  What the GPU does not finish
 * is computed by the CPU.  Anything but TSR_OK: nothing usable was written, inputs are untouched, compute it elsewhere. */
tsr_status tsr_engine_execute(const tsr_call *call, const tsr_decision *decision, tsr_result *result);

/* tsr_engine_execute for a product that can go nowhere else any more: with one thread, then with the reference kernels.  Fails
 * only when not even scratch of the size of the operands' values can be had. */
tsr_status tsr_engine_execute_surely(const tsr_call *call, const tsr_decision *decision, tsr_result *result);

/* Softmax of every row of x, values of FP32 or FP64 held by row: row r has x[p[r]..p[r+1]). */
void tsr_engine_softmax_rows(void *x, const int64_t *p, int64_t nrows, tsr_type type, int nthreads);

/* Attention of host arrays over the pattern s, by row (tessera/attention.h); columns: the pattern of its transpose, by row: gradients. */
tsr_status tsr_engine_attention(const tsr_view *s, const tsr_view *columns, const tsr_attention_operands *operands, int nthreads);

/* SpMM of host arrays with a B of 16-bit numbers (kernels/kernels.h). */
tsr_status tsr_engine_spmm_half(const tsr_half_spmm *product);
tsr_status tsr_engine_spmm_complex(const tsr_complex_spmm *product);

/* x[0..n) = c + x: the end of C += A*B where C and the product are full. */
void tsr_engine_add_to(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads);

/* One elementwise step on host arrays (kernels/kernels.h); how many entries are present then. */
int64_t tsr_engine_ewise(const tsr_host_ewise *step, int nthreads);

/* In the trace: `kernel` of a backend was run, with operands that were there; `record` says the rest. */
void tsr_engine_report(const tsr_backend *backend, const char *kernel, tsr_trace_record record);

/* The door's library does the call, timed, where the trace wants to know; false: it is the wrapper's, nobody does, or contents are lost. */
bool tsr_engine_forward(const tsr_door *door, const tsr_arguments *given, const char *reason, int *info);

/* The same of a push: always timed, and what is lost without the GPU is found out.  False: contents are lost. */
bool tsr_engine_forward_push(const tsr_door *door, const tsr_arguments *given, const tsr_frontier *f, const char *reason, int *info);

/* The trace record of a call that is not ours (declined, or forwarded by the router). */
void tsr_engine_report_forward(const char *call, const char *pattern, const char *reason, double ms);

/* Readable one-line description of a product, for traces and messages. */
void tsr_engine_describe(char *text, size_t size, const tsr_product *product);

#endif
