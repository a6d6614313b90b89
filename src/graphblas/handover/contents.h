/* Matrices and vectors whose contents a device has: as well, or alone until the host wants them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HANDOVER_CONTENTS_H
#define TSR_HANDOVER_CONTENTS_H

#include "src/graphblas/handover/finish.h"
#include "src/runtime/trace.h"

/* May a call be computed on device arrays at all: routing on, not in blocking mode, not disabled?  bit: TSR_DISABLE_ELEMENTWISE or 0. */
bool tsr_contents_allowed(unsigned bit);
bool tsr_contents_allowed_inside(void); /* ... asked by a product that is being routed */

/* What a backend has of the present contents of a handle, dense or compressed, with a reference; NULL: nothing. */
tsr_device_array *tsr_contents_find(const void *handle);
tsr_device_array *tsr_contents_find_dense(const void *handle);
/* … compressed, and the host has them not. */
tsr_device_array *tsr_contents_find_compressed(const void *handle);

/* Does only the host have them, and sparse?  Nothing is sorted for the answer; deferred products may have to run. */
bool tsr_contents_left_sparse(GrB_Matrix handle);

/* A product took these contents from the host; did one before?  Then they are worth uploading. */
void tsr_contents_note_use(const void *handle);
bool tsr_contents_noted(const void *handle);

/* May the contents of C be only with a backend?  Only a hand-over that cannot fail may wait. */
bool tsr_contents_may_wait(GrB_Matrix C);
bool tsr_contents_may_be_compressed(GrB_Matrix C);

/* The host's C is large and has no entries yet.  To hold it as bitmap would fill memory that a result of ours replaces: it gets that form
 * when the host looks at it.  False: not such a one. */
bool tsr_contents_delay_control(GrB_Matrix C, int32_t control);

/* Another one, of such contents, which stay where they are.  False: they must be downloaded for it. */
bool tsr_contents_set_control(GrB_Matrix C, bool vector, int32_t control);

/* C is `value` from now on (the reference is taken over), with the host's memory for it, which is taken over too (of compressed contents it is
 * allocated here).  What C was is gone.
 * False: out of memory, nothing has changed, nothing was taken over. */
bool tsr_contents_put(GrB_Matrix C, bool vector, tsr_device_array *value, tsr_handover *arrays);

/* The present contents of an object, which the host has, are also `value`. */
void tsr_contents_keep(const void *handle, tsr_device_array *value);

/* Should contents be downloaded for this call (its name), that is why (static text; NULL: it is no longer): for the trace. */
void tsr_contents_decline(const char *call, const char *why);

/* In the trace: contents (n places or entries) were downloaded. */
void tsr_contents_report_download(const tsr_backend *backend, tsr_type type, int64_t n, int64_t bytes_moved, double ms);

#endif
