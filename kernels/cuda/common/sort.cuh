// Sums and sorts of whole device arrays.  The only place that uses CUB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/tessera.h"

/* Sums before each element, in place, of `arrays` arrays of n + 1 elements one after the other; the last element, whatever it
 * was, becomes the total.  scratch: tsr_cuda_scan_bytes(n). */
size_t tsr_cuda_scan_bytes(int64_t n);
tsr_status tsr_cuda_scan(int64_t *x, int64_t n, int arrays, void *scratch, void *stream);

/* Stable sort of n pairs by bits [0, bits) of the key.  Both arrays exist twice; the result is in keys[*at], payloads[*at].
 * payload_size: 4 or 8 bytes.  scratch: tsr_cuda_sort_bytes. */
size_t tsr_cuda_sort_bytes(int64_t n, int payload_size, int bits);
tsr_status tsr_cuda_sort_pairs(uint32_t *const keys[2], void *const payloads[2], int payload_size, int64_t n, int bits, int *at,
                               void *scratch, void *stream);
