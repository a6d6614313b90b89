/* One call: what a door makes of its arguments, and what becomes of it in the engine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_CALL_H
#define TSR_ENGINE_CALL_H

#include "kernels/kernels.h"
#include "src/engine/handover.h"
#include "src/object/record.h"

struct tsr_call;

/* The program's arguments: handles that only the door looks into.  vector: C, M and B are vectors. */
typedef struct tsr_arguments {
    const char *name; /* "GrB_mxm", for the trace */
    void *C, *M, *A, *B;
    void *accum, *semiring, *desc;
    bool vector;
    bool flip;         /* vxm: A stands for the transposed matrix and mul is called with operands swapped */
    unsigned disable;  /* TSR_DISABLE_MXM … */
} tsr_arguments;

/* What the descriptor says. */
typedef struct tsr_modifiers {
    bool replace, mask_comp, mask_struct, tran0, tran1;
    int nthreads;
} tsr_modifiers;

/* An operand: whose contents it is.  The references are the call's. */
typedef struct tsr_object {
    void *handle;            /* the door's, for identity */
    tsr_record *record;      /* NULL: nothing is kept of it */
    tsr_device_array *array; /* what a device has of its contents */
    bool transposed;         /* the operand shows the object transposed */
    bool absent;             /* only the device has them */
} tsr_object;

/* Where a product is computed, decided before anything is allocated. */
typedef struct tsr_decision {
    const tsr_backend *backend; /* NULL: forward */
    double predicted_ms;        /* of the chosen route */
    double forward_ms;          /* predicted for SuiteSparse; < 0 unknown */
    char reason[96];
    uint64_t timing;            /* what this product's time is remembered by; 0: it is not */
    uint64_t alike;             /* … and that of others with other counts */
    uint64_t away;              /* the same of one whose operands are downloaded for it */
    double observed_ms;         /* predicted for a GPU that has the operands already; >= 0: the time of the forwarded call is wanted */
    bool build_a;               /* build (or use) the representation below */
    tsr_rep_key a_key;          /* of the matrix in the record, not of its transpose */
} tsr_decision;

/* C<M> accum= T on a device, planned before T is computed.  The rest is the door's. */
typedef struct tsr_update {
    bool reads_c;    /* C before the call counts … */
    bool c_is_free;  /* … and need not be uploaded for it */
    bool mask_there; /* neither need the mask, if there is one */
} tsr_update;

/* What a door that stands before another library does for the engine.  A native call has none: its arrays are the caller's. */
typedef struct tsr_door {
    const tsr_memory *memory;

    /* ---- the call ---- */
    bool (*concerns_device)(const tsr_arguments *given); /* may it pay to take operands where they are, rather than on the host? */
    const char *(*match)(struct tsr_call *call);  /* sets operation and operands.  NULL: matched; else why not (static text) */
    bool (*bring)(const tsr_arguments *given);    /* all contents to the host; false: they are lost */
    bool (*pays)(const tsr_arguments *given);     /* is a look at the host's contents worth it? */
    bool (*try_full)(int *info, const tsr_arguments *given, bool there, bool pays); /* full times full, on a device; true: done */
    int (*forward)(const tsr_arguments *given);   /* the other library computes the call */

    /* ---- objects ---- */
    tsr_record *(*record)(const void *handle, bool create); /* with a reference */
    bool (*is_absent)(const void *handle);        /* the host has not got its contents */
    bool (*form_waits)(const void *handle);       /* the host makes a bitmap of it before it is read there */
    tsr_status (*upload)(tsr_object *object, const tsr_view *view, const tsr_backend *backend, int64_t *moved);
    void (*note_use)(const void *handle);         /* a product has read it whole from the host */
    bool (*is_page_locked)(const void *block);    /* ... or will be, when products use it again */
    void (*use_block)(const void *block, const tsr_backend *device);
    void (*begin_result)(size_t bytes);           /* of so many bytes */

    /* ---- the result ---- */
    bool (*may_stay)(const tsr_arguments *given); /* the contents of C may be on a device only */
    bool (*may_wait)(const struct tsr_call *call); /* handing it over later cannot fail */
    bool (*yield)(const struct tsr_call *call);   /* C and M as the host must have them before C is overwritten; false: lost */
    int (*hand_over)(struct tsr_call *call, bool conform); /* C<M> accum= the arrays of the call; 0: success.  conform: may allocate */
    bool (*leave)(struct tsr_call *call, tsr_device_array *array); /* C is the array from now on, which is taken over; false: not */
    void (*keep)(const struct tsr_call *call, tsr_device_array *array); /* C is the array as well, which is taken over */
    bool (*defer)(const struct tsr_call *call, void (*run)(void *kept), void (*cancel)(void *kept), void *kept);
    tsr_update *(*plan_update)(struct tsr_call *call, bool full); /* for T full or not; NULL: not on a device */
    bool (*update)(struct tsr_call *call, tsr_device_array *t); /* T is taken over; false: not, C is as it was */
    void (*drop_update)(tsr_update *update);
    void (*report_download)(const tsr_backend *backend, tsr_type type, int64_t n, int64_t bytes_moved, double ms);
} tsr_door;

/* What is done with a result. */
typedef enum tsr_settlement {
    TSR_HAND_OVER, /* its arrays become C, or C<M> accum= of them */
    TSR_SETTLED,   /* C has it */
    TSR_WAITS      /* C will have it: a copy of the call does that */
} tsr_settlement;

/* A kind of call.  The engine asks in this order. */
typedef struct tsr_operation {
    void (*resolve)(struct tsr_call *call);   /* what is matched finds its records */
    void (*decide)(struct tsr_call *call);    /* where the result may be, and who computes it: call->decision */
    bool (*reserve)(struct tsr_call *call);   /* memory of the result, in the program's allocator; false: there is none */
    tsr_status (*run)(struct tsr_call *call); /* fills the arrays, or leaves the result on the device */
    tsr_settlement (*settle)(struct tsr_call *call, tsr_status *status); /* of a result that is left on the device */
    void (*use)(struct tsr_call *call);       /* it is computed: what is learnt about its operands */
    void (*drop)(struct tsr_call *call);      /* what is left on the device */
    void (*describe)(char *text, size_t size, const struct tsr_call *call);
} tsr_operation;

/* A result that is left on a device, or may be. */
typedef struct tsr_remote {
    bool may_stay;  /* a backend may leave it where it is computed … */
    void *stays;    /* … and has */
    uint64_t total; /* the sum of its entries */
    bool may_keep;  /* a dense result is downloaded, a copy may stay */
    bool updates;   /* C<M> accum= T is computed there */
    bool trial;     /* … though nobody asked for such a result there before */
    uint64_t key;   /* of products of this kind, in the placement history */
    tsr_update *update;
} tsr_remote;

typedef struct tsr_call {
    tsr_arguments given;
    const tsr_door *door; /* NULL: native */
    const tsr_operation *operation;
    int info;             /* what the door returns */

    /* ---- matched: the product in normal form; a and b may still have another type than the semiring's ---- */
    tsr_product product;
    tsr_object a, b, mask;
    tsr_modifiers mod;
    bool in_place;     /* operands are taken where they are; else the host has everything */
    bool c_by_col;     /* orientation of C itself (product.c_by_col is that of the product, maybe transposed) */
    bool t_by_col;     /* … and of the arrays that are handed over */
    bool swapped;      /* the product computes C' */
    bool through_t;    /* C<M> accum= T must follow … */
    bool add_c;        /* … instead C, which is full, is added to T, should it be full as well */
    tsr_view c;        /* with add_c: C before the call */
    bool one_value;    /* T has one value and a pattern, for which SuiteSparse has special cases … */
    uint64_t one;      /* … this one, in the semiring's type … */
    bool iso;          /* … and what is handed over, T or C, is iso */
    bool b_sparse;     /* the host holds b sparse; product.b is the bitmap that would be made of it: x tells that there are values */
    tsr_view sparse;   /* … as the host holds it */

    /* ---- what the price depends on ---- */
    bool may_forward;  /* SuiteSparse is a route */
    bool direct;       /* dense operands lie in blocks that are page-locked when products use them again */
    double waiting;    /* places of C and M that the host makes bitmaps of before anything is computed there */
    double expected_calls;   /* hint; 0 = unknown */
    tsr_precision precision; /* hint; EXACT: as configured */

    /* ---- what becomes of it ---- */
    tsr_decision decision;
    tsr_handover arrays;
    void *masked_x;    /* masked results before compaction, one per mask entry */
    int8_t *masked_b;
    bool deferred;     /* nobody else can compute it any more */
    tsr_remote remote;
    int64_t moved;     /* bytes, to have operands on the device */
    double pin_ms;     /* spent once on memory that products will use again */
} tsr_call;

#endif
