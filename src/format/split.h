/* Helpers shared by the converters: how work is cut into parts, and where their memory comes from.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_SPLIT_H
#define TSR_FORMAT_SPLIT_H

#include "src/format/format.h"

/* Fewer parts than threads when there is too little to do. */
int tsr_parts(int64_t work, int64_t least_per_part, int nthreads);

/* First item of part `part` of `nparts` equal parts of [0, n). */
int64_t tsr_part_begin(int64_t n, int part, int nparts);

/* First vector of part `part`, the entries of p[0..nvec] being cut into equal parts at vector boundaries. */
int64_t tsr_part_vector(const int64_t *p, int64_t nvec, int part, int nparts);

/* malloc of count * size bytes with huge pages asked for when large; NULL when out of memory or on overflow.
 * Never NULL for count = 0 otherwise.  Freed with free. */
void *tsr_format_alloc(int64_t count, size_t size);

#endif
