/* One call: what a door makes of its arguments, and what becomes of it in the engine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_CALL_H
#define TSR_ENGINE_CALL_H

#include "kernels/kernels.h"
#include "kernels/build.h"
#include "kernels/function_product.h"
#include "kernels/kronecker.h"
#include "kernels/selection.h"
#include "tessera/compressed.h"
#include "src/engine/call/copies.h"
#include "src/engine/call/handover.h"
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
    bool here;         /* a device was asked already, and does not compute it: nothing of it is there */
} tsr_arguments;

/* What the descriptor says. */
typedef struct tsr_modifiers {
    bool replace, mask_comp, mask_struct, tran0, tran1;
    int nthreads;
} tsr_modifiers;

/* What becomes of entry (i, j) by where it is: of by_row i + by_column j + by_y y. */
typedef struct tsr_place_rule {
    int by_row, by_column, by_y; /* -1, 0, 1 */
    bool select;                 /* the entry stays where keep (that, 0) holds; false: that is its value */
    tsr_ewise_op keep;
    int64_t y;
} tsr_place_rule;

/* An operand: whose contents it is, and where they are.  The references are the call's. */
typedef struct tsr_object {
    void *handle;            /* the door's, for identity */
    tsr_record *record;      /* NULL: nothing is kept of it */
    tsr_device_array *array; /* what a device has of its contents, dense; NULL: only the host has them, in */
    tsr_view view;           /* ... else without arrays (a product has its own views) */
    tsr_device_array *compressed; /* contents that only a device has, and sparse; the view has no arrays, then */
    tsr_copies copies;       /* what its views show beside the arrays of the host */
    bool given;
    bool transposed;         /* its transpose is the operand */
    bool absent;             /* the host has not got the contents */
    const tsr_place_rule *rule; /* the operand is what this makes of it; NULL: itself */
    const tsr_indices *from;    /* … a vector's elements at these places; NULL: all of them … */
    const tsr_indices *to;      /* … put to these places; NULL: where they are */
    bool lone;               /* it has one entry, not held as one value, … */
    uint64_t one;            /* … of which this is the value: its bytes */
    void *made;              /* on the device, in the form that the operation wants it in, if that is another one */
} tsr_object;

/* Shape, type and orientation: known without looking at contents. */
typedef struct tsr_shape {
    int64_t nrows, ncols;
    tsr_type type;
    bool by_col;
} tsr_shape;

/* Where a product is computed, decided before anything is allocated. */
typedef struct tsr_decision {
    const tsr_backend *backend; /* NULL: forward */
    double predicted_ms;        /* of the chosen route */
    double forward_ms;          /* predicted for SuiteSparse; < 0 unknown */
    char reason[96];
    uint64_t timing;            /* what this product's time is remembered by; 0: it is not */
    uint64_t alike;             /* … and that of others with other counts */
    uint64_t forwarded;         /* the same of one whose operands are downloaded for it */
    double observed_ms;         /* predicted for a GPU that has the operands already; >= 0: the time of the forwarded call is wanted */
    double move_ms;             /* … and what it takes to upload A */
    double started_ms;          /* what a GPU would take that does not run yet */
    double expected_ms;         /* what was expected of it when a GPU that does not run was thought of, or of that, if it is more; 0: it was not */
    bool build_a;               /* build (or use) the representation below */
    tsr_rep_key a_key;          /* of the matrix in the record, not of its transpose */
} tsr_decision;

/* Some rows of a product, computed to see how long that takes. */
typedef struct tsr_sample {
    const int64_t *rows; /* of the mask, or of C */
    int64_t count;
    bool masked;
    int nthreads;
    double ms;            /* found: time, */
    int64_t entries, all; /* how many of all entries (of the mask, of A) */
} tsr_sample;

/* What a door that stands before another library does for the engine.  A native call has none: its arrays are the caller's. */
typedef struct tsr_door {
    const tsr_memory *memory;
    bool (*allows_devices)(void); /* may contents be on a device at all? */
    int (*threads)(void);

    /* ---- the call ---- */
    /* May it pay to take operands where they are, rather than on the host? */
    bool (*concerns_device)(const struct tsr_door *door, const tsr_arguments *given);
    const char *(*match)(struct tsr_call *call); /* sets operation and operands.  NULL: matched; else why not (static text) */
    bool (*match_full)(struct tsr_call *call);   /* the same as a product of full matrices on a device: operators and descriptor only */
    bool (*download)(const tsr_arguments *given);   /* all contents to the host; false: they are lost */
    bool (*pays)(const tsr_arguments *given);    /* is a look at the host's contents worth it? */
    int (*forward)(const tsr_arguments *given);  /* the other library computes the call */
    bool (*sample)(const tsr_arguments *given, tsr_sample *sample); /* … or some rows of it.  No contents change; false: not possible */

    /* ---- where contents are (handles may be NULL) ---- */
    tsr_record *(*record)(const void *handle, bool create);  /* with a reference */
    tsr_device_array *(*array)(const void *handle);          /* what a device has, dense, with a reference; NULL: nothing */
    tsr_device_array *(*compressed)(const void *handle);     /* … that the host has not got, and sparse */
    bool (*is_absent)(const void *handle);       /* the host has not got its contents */
    bool (*is_lost)(const void *handle);         /* nobody has */
    void (*keep)(const void *handle, tsr_device_array *array); /* a device has them as well */
    void (*note_use)(const void *handle);        /* a product has read it whole from the host */
    void (*report_download)(const tsr_backend *backend, tsr_type type, int64_t n, int64_t bytes_moved, double ms);

    /* ---- the host's objects ---- */
    void (*inspect)(const void *handle);         /* what is pending of it is finished */
    bool (*held)(tsr_view *view, void *handle, tsr_copies *copies); /* after that; sorts.  Narrow offsets stay so */
    bool (*view)(tsr_view *view, void *handle);  /* the same, perhaps without p and h */
    bool (*shape)(tsr_shape *shape, void *handle, bool vector);
    unsigned (*form)(const void *handle);        /* how it is held: 1 << TSR_SPARSE …; 0: no object */
    bool (*form_waits)(const void *handle);      /* … and the host makes a bitmap of it before it is read there */
    bool (*left_sparse)(void *handle);           /* only the host has it, and sparse.  Sorts nothing */
    bool (*has_entries)(void *handle, size_t vectors); /* of one held sparse, pending ones included */
    bool (*may_be_bitmap)(void *handle);         /* its settings allow that */
    bool (*has_its_form)(void *handle, bool vector); /* of one that is finished: not another than its contents ask for */
    bool (*holds_sparse)(void *handle, int64_t entries, double places); /* would so many of a bitmap be held sparse … */
    bool (*makes_sparse)(void *handle, int64_t entries, double places); /* … when they are handed over? */
    bool (*makes_dense)(void *handle, int64_t entries, double places);  /* would so many of a sparse one become a bitmap, or full? */
    bool (*takes_narrow)(void *C);               /* may a result for it have indices of 32 bits? */
    bool (*accumulator)(tsr_ewise_op *op, tsr_type *type, void *accum);
    bool (*is_page_locked)(const void *block);   /* ... or will be, when products use it again */
    void (*use_block)(const void *block, const tsr_backend *device);
    void (*note_gathers)(const void *block, size_t bytes, double rows); /* the host is about to read so many rows of it, anywhere */
    void (*begin_result)(size_t bytes);          /* of so many bytes */
    void (*note_scratch)(const void *block, size_t bytes); /* the call holds this beside its result, or in it, where the library would use a block again */

    /* ---- the result ---- */
    bool (*is_read_only)(void *C);               /* its arrays are the program's, and stay as they are */
    bool (*may_be_absent)(void *C);              /* its contents may be on a device only, dense */
    bool (*may_be_compressed)(void *C);          /* … or sparse */
    bool (*may_wait)(const struct tsr_call *call); /* handing it over later cannot fail */
    bool (*yield)(const struct tsr_call *call);  /* C and M as the host must have them before C is overwritten; false: lost */
    bool (*take)(tsr_handover *arrays, void *C, bool vector, bool by_col); /* the arrays of C, a bitmap, which is empty then */
    int (*hand_over)(struct tsr_call *call); /* C<M> accum= the arrays of the call; 0: success */
    bool (*leave)(const tsr_arguments *given, tsr_device_array *array, tsr_handover *arrays); /* C is the array from now on, with the
                                                    host's memory for it; both are taken over.  False: nothing has changed */
    bool (*defer)(const struct tsr_call *call, void (*run)(void *kept), void (*cancel)(void *kept), void *kept);
} tsr_door;

/* What is done with a result. */
typedef enum tsr_settlement {
    TSR_HAND_OVER, /* its arrays become C, or C<M> accum= of them */
    TSR_SETTLED,   /* C has it */
    TSR_WAITS      /* C will have it: a copy of the call does that */
} tsr_settlement;

/* A kind of call.  The engine asks in this order; what is NULL has nothing to do. */
typedef struct tsr_operation {
    const char *(*resolve)(struct tsr_call *call); /* operands with records and contents; NULL: fine, else why not */
    void (*decide)(struct tsr_call *call);    /* where the result may be, and who computes it: call->decision */
    bool (*reserve)(struct tsr_call *call);   /* memory of the result, in the program's allocator; false: there is none */
    tsr_status (*run)(struct tsr_call *call); /* fills the arrays, or leaves the result on the device */
    tsr_settlement (*settle)(struct tsr_call *call, tsr_status *status); /* of a result that is left on the device */
    void (*use)(struct tsr_call *call);       /* it is computed: what is learnt about its operands */
    void (*drop)(struct tsr_call *call);      /* what is left on the device */
    void (*describe)(char *text, size_t size, const struct tsr_call *call);
    const char *kernel;                       /* for the trace; NULL: whoever runs it reports */
    bool may_wait;                            /* it can run later, from a copy of the call (TESSERA_DEFER) */
} tsr_operation;

/* A result that is left on a device, or may be. */
typedef struct tsr_remote {
    tsr_device_array *array; /* the result of operations other than products */
    bool may_stay;  /* a backend may leave it where it is computed … */
    void *stays;    /* … and has */
    const char *kernel; /* that computed it, for the trace; NULL: the operation's */
    uint64_t total; /* the sum of its entries */
    bool may_keep;  /* a dense result is downloaded, a copy may stay */
    bool compressed; /* a sparse one stays, as compressed contents */
    bool updates;   /* C<M> accum= T is computed there (call->update) */
    bool trial;     /* … though nobody asked for such a result there before */
    uint64_t key;   /* of products of this kind, in the placement history */
    uint64_t loop;  /* … and in that of stays; 0: it has none */
    bool settled;   /* they are computed where the result stays, whatever one of them costs (src/policy/history/stay_history.h) */
} tsr_remote;

/* All entries joined: one scalar. */
typedef struct tsr_total {
    tsr_reduce_op op;
    tsr_type type;
    uint64_t value; /* its bytes */
    bool any;       /* is there an entry? */
} tsr_total;

/* C<M> accum= op (x, y): an elementwise operation, or the end of another one, which computes x (src/engine/elementwise/elementwise.h). */
typedef struct tsr_elementwise {
    const tsr_door *door;
    tsr_arguments given; /* A, B: x and y; NULL: a scalar in `step`, or what is promised */
    tsr_modifiers mod;
    tsr_ewise step;      /* op, type, result, scalars, unite, select */
    tsr_place_rule place;
    bool placed;         /* x is what `place` makes of A */
    tsr_indices list;    /* whether its places are there nobody has looked yet */
    bool gathers;        /* x is A's elements at these places, one for each of C */
    bool scatters;       /* x is A's elements put to these places of C, all others of which stay */
    bool flip;           /* A stands for its transpose, whatever the descriptor says beside that */
    bool assigns;        /* GrB_assign */
    bool of_product;     /* T is what GrB_mxm computes, or SuiteSparse by it */
    bool full_only;      /* what it means where only one operand is present no step can say */
    bool recast;         /* values are compared in another type: what is selected of two values is not iso for that */
    bool on_host;        /* everything is on the host, where it is computed */
    bool follows;        /* nothing of it is on the device: it goes there for its result's sake */
    bool binary;         /* has such an operator */
    bool masks_t;        /* SuiteSparse masks T as it computes that, and T lies as C does */

    /* ---- planned ---- */
    tsr_object x, y, c, m;
    int64_t nrows, ncols; /* of C */
    tsr_type type;
    bool by_col;
    bool full;            /* every entry of the result is present */
    uint64_t key;         /* in the placement history */
    const tsr_backend *backend;
    int64_t moved;
} tsr_elementwise;

/* Entries of a sparse matrix that a device takes out of it. */
typedef struct tsr_picking {
    tsr_indices rows, columns; /* of an extraction, … */
    tsr_indices vectors, places; /* … of A as it is held; lists in which nothing was looked up yet */
    tsr_compressed_rule rule;  /* of a selection by value; by place: update.place */
    tsr_type type;             /* that values are compared in */
    bool remembered;           /* results that come again share what a device has of them; */
    tsr_derivation how;        /* … what says that they do */
} tsr_picking;

typedef struct tsr_call {
    tsr_arguments given;
    const tsr_door *door; /* NULL: native */
    const tsr_operation *operation;
    int info;             /* what the door returns */
    const char *why;      /* it is not computed (static text) */

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
    bool joins_c;      /* … accum is the monoid of the product, too: a backend may do it by itself, whether T is full or not */
    tsr_view c;        /* with add_c or joins_c: C before the call */
    bool one_value;    /* T has one value and a pattern, for which SuiteSparse has special cases … */
    uint64_t one;      /* … this one, in the semiring's type … */
    bool iso;          /* … and what is handed over, T or C, is iso */
    bool unifies;      /* tuples: values that turn out to be one are held so */
    tsr_elementwise update; /* elementwise operations; C<M> accum= T of others */
    union {
        tsr_dense_product full; /* full times full */
        tsr_sums sums;          /* of rows */
        tsr_total total;        /* of all entries */
        tsr_host_ewise host;    /* elementwise on the host: dense, or the entries of sparse matrices */
        tsr_selection selection; /* sparse, by value or by update.place */
        tsr_picking picking;     /* on a device */
        tsr_compressed_step entries; /* likewise: of the values of a and, if it is given, b */
        tsr_function_product function; /* with a full vector, by the program's function */
        tsr_tuples tuples;      /* of which an object is built */
        tsr_extraction extraction; /* of a compressed matrix, or by places only of a full vector */
    } of;
    bool b_sparse;     /* the host holds b sparse; product.b is the bitmap that would be made of it: x tells that there are values */
    tsr_view sparse;   /* … as the host holds it, also where `positions` */
    bool positions;    /* b, a vector, stands for the places of its entries, plus offset: their values do not count */
    int64_t offset;

    /* ---- what the price depends on ---- */
    bool may_forward;  /* SuiteSparse is a route */
    bool waits_for_gpu; /* forwarded, and would not be if a GPU ran */
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
    double other_ms;   /* what the door's library would have taken, as far as it is known; 0 or less: not */
    double pin_ms;     /* spent once on memory that products will use again */
} tsr_call;

/* ---- settle.c ---- */

/* References, arrays of a result that was not handed over, copies: they are gone. */
void tsr_call_release(tsr_call *call);

/* Before a result of one value is handed over; of an empty one it counts, too. */
void tsr_call_unify(tsr_call *call);

/* Does SuiteSparse mask its T as it computes that, and have it as C lies?  Not if both operands lie otherwise. */
bool tsr_engine_masks_t(const tsr_call *call);

/* The call is finished later, from a copy that has taken over all it holds.  False: it cannot wait. */
bool tsr_call_defer(const tsr_call *call);

/* An accumulator that works on this type and makes it: its operator; no comparison of numbers, which makes booleans. */
static inline bool tsr_accumulates(tsr_ewise_op *op, const tsr_door *door, void *accum, tsr_type type)
{
    tsr_type own;
    return door->accumulator(op, &own, accum) && own == type && (!tsr_ewise_compares(*op) || type == TSR_BOOL);
}

/* A sparse result whose indices are below `length` gets such of 32 bits. */
static inline bool tsr_call_narrows(const tsr_call *call, int64_t length)
{
    return length <= INT32_MAX && call->door->takes_narrow(call->given.C);
}

#endif
