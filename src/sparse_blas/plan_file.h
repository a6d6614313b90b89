/* Plans as files hold them: a fixed number of bytes, which may come from anywhere.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLAN_FILE_H
#define TSR_PLAN_FILE_H

#include <stddef.h>

#include "tessera/tessera.h"

/* X (name, least, most) of every number, in the order of the file. */
#define TSR_DENSE_FIELDS(X, d) \
    X(d##_type, 0, TSR_FC64) X(d##_layout, 0, TSR_COL_MAJOR) X(d##_nrows, 0, INT64_MAX) X(d##_ncols, 0, INT64_MAX) X(d##_ld, 0, INT64_MAX) \
    X(d##_memory, 0, TSR_MEMORY_DEVICE)
#define TSR_PLAN_FIELDS(X) \
    X(op, 0, TSR_OP_COUNT - 1) X(type, 0, TSR_FC64) X(add, 0, TSR_ADD_COUNT - 1) X(mul, 0, TSR_MUL_COUNT - 1) X(flags, 0, UINT32_MAX) \
    X(nrows, 0, INT64_MAX) X(ncols, 0, INT64_MAX) X(nvals, 0, INT64_MAX) X(by_col, 0, 1) X(a_type, 0, TSR_FC64) X(iso, 0, 1) \
    X(pattern, INT64_MIN, INT64_MAX) TSR_DENSE_FIELDS(X, first) TSR_DENSE_FIELDS(X, second) X(precision, 0, TSR_PRECISION_FP16) \
    X(expected_calls, 0, INT64_MAX) X(build_a, 0, 1)

/* pattern: a hash of the matrix's offsets and indices.  expected_calls: rounded up.  kernel: of the device; "": none. */
#define TSR_PLAN_MEMBER(name, least, most) int64_t name;
typedef struct tsr_saved_plan {
    TSR_PLAN_FIELDS(TSR_PLAN_MEMBER)
    char kernel[32];
} tsr_saved_plan;

#define TSR_PLAN_FIELD_COUNT (sizeof(tsr_saved_plan) / 8 - 4)
/* magic, version, numbers, kernel, check sum */
#define TSR_PLAN_FILE_BYTES (8 + 16 + 8 * TSR_PLAN_FIELD_COUNT + 32 + 8)

void tsr_plan_file_print(unsigned char bytes[TSR_PLAN_FILE_BYTES], const tsr_saved_plan *plan);

/* TSR_IO_ERROR: not a plan, or damaged.  TSR_NOT_SUPPORTED: of another version of the library.  *why: in words, static. */
tsr_status tsr_plan_file_parse(tsr_saved_plan *plan, const unsigned char *bytes, size_t size, const char **why);

#endif
