/* Tessera: sparse products on Tensor Cores, CUDA cores and CPUs.
 * Native interface: create -> hint -> plan (inspect) -> execute.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_H
#define TESSERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define TSR_PUBLIC
#else
#define TSR_PUBLIC __attribute__((visibility("default")))
#endif

/* Result of every native call. Negative: error. */
typedef enum tsr_status {
    TSR_OK = 0,
    TSR_INVALID_VALUE = -1,      /* a null pointer, a negative size, an unknown enumerator, unsorted offsets */
    TSR_DIMENSION_MISMATCH = -2, /* operand shapes do not fit together */
    TSR_OUT_OF_MEMORY = -3,
    TSR_NOT_SUPPORTED = -4, /* valid, but no backend computes it */
    TSR_IO_ERROR = -5,      /* a file cannot be read or is not what it says */
    TSR_INTERNAL_ERROR = -6
} tsr_status;

/* Element types: the eleven built-in types of the GraphBLAS C API, in its order. */
typedef enum tsr_type {
    TSR_BOOL,
    TSR_INT8,
    TSR_INT16,
    TSR_INT32,
    TSR_INT64,
    TSR_UINT8,
    TSR_UINT16,
    TSR_UINT32,
    TSR_UINT64,
    TSR_FP32,
    TSR_FP64
} tsr_type;
#define TSR_TYPE_COUNT 11

/* Additive monoids. On TSR_BOOL only TSR_LOR and TSR_ANY exist. */
typedef enum tsr_add { TSR_ADD_PLUS, TSR_ADD_MIN, TSR_ADD_MAX, TSR_ADD_ANY, TSR_ADD_LOR } tsr_add;
#define TSR_ADD_COUNT 5

/* Multiplicative operators z = mul (a, b). PAIR is also called ONEB. AND is logical: (a != 0) && (b != 0). */
typedef enum tsr_mul { TSR_MUL_TIMES, TSR_MUL_FIRST, TSR_MUL_SECOND, TSR_MUL_PAIR, TSR_MUL_PLUS, TSR_MUL_AND } tsr_mul;
#define TSR_MUL_COUNT 6

/* Arithmetic allowed for FP32 products. EXACT: at least as accurate as adding one by one in FP32. The others allow Tensor Cores
 * to round the inputs; sums are FP32 always. */
typedef enum tsr_precision {
    TSR_PRECISION_EXACT,
    TSR_PRECISION_TF32,
    TSR_PRECISION_BF16,
    TSR_PRECISION_FP16
} tsr_precision;

#ifdef __cplusplus
}
#endif

#endif
