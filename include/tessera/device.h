/* What a backend does with arrays that are in the memory of its device already, on a stream of the caller's.
 * Plain C data only: no CUDA type.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include "tessera/attention.h"
#include "tessera/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Several products of one pattern in one run: what lies between the operands of neighbouring ones, in elements.
 * count 0: one product. */
typedef struct tsr_device_batch {
    int64_t count;
    int64_t values, first, second; /* A's values, B and C; or those of an SDDMM, X and Y */
} tsr_device_batch;

/* Dense operands in device memory, of the orientation that the product was prepared for (product.b.by_col, product.c_by_col).
 * C = alpha T + beta C, alpha and beta as tsr_device_spmm.scales allows. */
typedef struct tsr_device_operands {
    int device; /* of prepare: where all will be, as `which` counts; 0: the device of the options */
    tsr_complex alpha, beta;
    bool conjugate; /* complex numbers: of A's values */
    const void *values; /* A's, in device memory, of the semiring's type and in the order of the caller's entries; NULL: those that were prepared */
    tsr_device_batch batch;
    tsr_type b_type; /* the semiring's; under semirings of FP32 also TSR_FP16 or TSR_BF16 */
    const void *b;
    int64_t ldb; /* elements between the starts of two vectors (of one column: between two of its elements), as below */
    void *c;
    int64_t ldc;
    const void *bias; /* one element for each column, added to C; NULL: none */
    bool rectified;   /* then what is below 0 becomes 0 */
    void *workspace; /* 256-byte aligned; NULL: the stream's pool */
    size_t workspace_bytes;
    void *stream;
} tsr_device_operands;

/* A prepared SpMM or SpMV. */
typedef struct tsr_device_spmm {
    void *prepared;        /* the backend's */
    const char *kernel;    /* static storage */
    size_t workspace;      /* bytes of one run whose operands are laid out as in the product */
    bool scales;           /* alpha and beta may be anything; else 1 and 0 */
} tsr_device_spmm;

/* Dense operands of an SDDMM in device memory, of the orientation that the product was prepared for, and its values. */
typedef struct tsr_device_samples {
    int device; /* as above */
    double alpha, beta; /* alpha not 0; other than 1 and 0 where tsr_device_sddmm.scales.  Of prepare: not looked at */
    tsr_type x_type, y_type; /* as b_type */
    const void *x, *y;
    int64_t ldx, ldy;
    void *values; /* one for each entry of the mask, in its order */
    tsr_device_batch batch;
    bool softmax; /* then of each row: only of a mask by row, FP32 and FP64 */
    void *workspace; /* as above */
    size_t workspace_bytes;
    void *stream;
} tsr_device_samples;

/* A prepared SDDMM. */
typedef struct tsr_device_sddmm {
    void *prepared;
    const char *kernel;
    size_t workspace; /* where beta is 0; else a run may take more, of the stream's pool */
    bool scales;      /* as above */
} tsr_device_sddmm;

/* A rectangle of `height` rows of `width` bytes, their starts `pitch` bytes apart, from or to the device. */
typedef struct tsr_device_copy {
    void *device, *host;
    size_t device_pitch, host_pitch, width, height;
    bool to_device;
    void *stream;
} tsr_device_copy;

/* A sparse result in device memory, for as many entries as it has. */
typedef struct tsr_device_entries {
    void *offsets, *indices; /* of index_size bytes; NULL: not wanted */
    int index_size;
    void *values;
    void *stream;            /* after what is on it; what is queued on it afterwards finds them */
} tsr_device_entries;

/* Attention (tessera/attention.h) over a pattern by row.  lse: rows x heads; NULL: not wanted.
 * Backward: o and lse are read, and so is grad_o; grad_q, grad_k and grad_v are written where their data is not NULL. */
typedef struct tsr_attention_operands {
    tsr_heads q, k, v, o;
    float *lse;
    double scale;
    void *stream;
    const char *kernel; /* of prepare: asked for by name; NULL or "": its choice */
    int device;         /* as above */
    tsr_heads grad_o, grad_q, grad_k, grad_v;
} tsr_attention_operands;

/* Any thread may call any function at any time.  Status as for tsr_backend.execute.  What was prepared for a device runs there, with operands and
 * streams of it. */
typedef struct tsr_backend_device {
    /* All that runs of a product that is supported need, kept until drop: A, which needs a_slot, in the form that is best for expected_calls
     * of them.  like: leading dimensions, alignment and scalars that are expected.  bounded: B holds nothing that Tensor Cores do not take.
     * TSR_DECLINED: a run would have to wait, or would not write the monoid's identity where T has no entry.  When it returns nothing of it
     * is under way. */
    tsr_status (*prepare)(const tsr_product *product, const tsr_device_operands *like, bool bounded, tsr_device_spmm *spmm);
    /* Queued on the stream; may be captured.  No other status than TSR_OK leaves something queued that writes C.  TSR_DECLINED: bias, or rectified,
     * of a product for which there is no such kernel; a batch, or values, that one launch does not take; complex numbers that do not begin at a
     * multiple of their size. */
    tsr_status (*run)(const tsr_device_spmm *spmm, const tsr_device_operands *operands);
    void (*drop)(tsr_device_spmm *spmm); /* waits for the device */
    /* The same for an SDDMM whose mask is structural, which needs mask_slot. */
    tsr_status (*sddmm_prepare)(const tsr_product *product, const tsr_device_samples *like, tsr_device_sddmm *sddmm);
    /* TSR_DECLINED: a batch that one launch does not take. */
    tsr_status (*sddmm_run)(const tsr_device_sddmm *sddmm, const tsr_device_samples *operands);
    void (*sddmm_drop)(tsr_device_sddmm *sddmm);
    tsr_status (*copy)(const tsr_device_copy *copy); /* after what is on the stream; waits */
    tsr_status (*wait)(const void *p); /* for all streams of the device whose memory it is */
    int (*which)(const void *p); /* in the memory of device number which - 1, as the driver knows it; 0: of none */
    tsr_status (*allocate)(void **p, size_t bytes, int which); /* NULL on failure */
    void (*release)(void *p);
    /* Attention over the pattern s, which may be kept in *slot: as prepare, run and drop.  like: operands without data.  backward: wanted, too.
     * *kernel: static storage. */
    tsr_status (*attention_prepare)(const tsr_view *s, void **slot, const tsr_attention_operands *like, bool backward, void **prepared,
                                    const char **kernel);
    tsr_status (*attention_run)(const void *prepared, const tsr_attention_operands *operands);
    tsr_status (*attention_backward)(const void *prepared, const tsr_attention_operands *operands);
    void (*attention_drop)(void *prepared);
} tsr_backend_device;

#ifdef __cplusplus
}
#endif

#endif
