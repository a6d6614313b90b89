/* What the trace says of calls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_REPORT_H
#define TSR_ENGINE_REPORT_H

#include "tessera/backend.h"
#include "src/runtime/trace.h"

/* In the trace: `kernel` of a backend was run, with operands that were there; `record` says the rest. */
void tsr_engine_report(const tsr_backend *backend, const char *kernel, tsr_trace_record record);

/* The trace record of a call that is not ours (declined, or forwarded by the router). */
void tsr_engine_report_forward(const char *call, const char *pattern, const char *reason, double ms);

/* Readable one-line description of a product, for traces and messages. */
void tsr_engine_describe(char *text, size_t size, const tsr_product *product);

#endif
