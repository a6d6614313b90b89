/* What the generated wrappers use: fast paths of the hooks, call depth, CHECK mode.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HOOKS_H
#define TSR_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <GraphBLAS.h>

#include "src/object/record.h"

#define TSR_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* What is cold lies apart from what every program runs, so that a process touches fewer pages. */
#define TSR_NOINLINE __attribute__((noinline, cold))
#define TSR_APART __attribute__((noinline))
/* A variable of this door, which is read without a look at where it may be. */
#define TSR_OWN __attribute__((visibility("hidden")))
#define TSR_WRAPPER __attribute__((visibility("default")))
#define TSR_RARE_WRAPPER __attribute__((visibility("default"), cold))

/* Bits of tsr_busy: 0 means that no hook has anything to do. */
enum {
    TSR_BUSY_HANDLES = 1, /* some handle may have a record or take part in a deferred product */
    TSR_BUSY_CHECK = 2,   /* CHECK mode */
    TSR_BUSY_ARRAYS = 4,  /* a backend may keep values, or wants them all (TESSERA_MODE=gpu) */
    TSR_BUSY_LOST = 8,    /* contents went with a device */
    TSR_BUSY_FORMS = 16   /* a host's object may not know its sparsity control */
};
extern unsigned tsr_busy_bits TSR_OWN;

static inline unsigned tsr_busy(void)
{
    return __atomic_load_n(&tsr_busy_bits, __ATOMIC_RELAXED);
}

/* Is the number not 0?  Compared where it lies: compilers load what is atomic first, and the smallest calls have 140 instructions. */
static inline bool tsr_is_set(const uint32_t *number)
{
#ifdef __x86_64__
    bool set;
    __asm__("cmpl $0, %1" : "=@ccne"(set) : "m"(*number));
    return set;
#else
    return __atomic_load_n(number, __ATOMIC_RELAXED) != 0;
#endif
}

void tsr_busy_add(unsigned bits);
unsigned tsr_busy_end(void); /* what it was */

/* Counts, by a hash of the address, how often a handle stands in the side table or in the list of deferred products.
 * Relaxed is enough: a program that touches a matrix from two threads has ordered these calls itself. */
enum { TSR_FILTER_BITS = 12, TSR_FILTER_SIZE = 1 << TSR_FILTER_BITS };
extern uint32_t tsr_filter[TSR_FILTER_SIZE] TSR_OWN;

static inline size_t tsr_filter_index(const void *handle)
{
    return (uint32_t)(uintptr_t)handle * 2654435769U >> (32 - TSR_FILTER_BITS);
}

static inline uint32_t *tsr_filter_slot(const void *handle)
{
    return &tsr_filter[tsr_filter_index(handle)];
}

static inline uint32_t tsr_filter_count(const void *handle)
{
    return __atomic_load_n(tsr_filter_slot(handle), __ATOMIC_RELAXED);
}

static inline bool tsr_filter_hit(const void *handle)
{
    return tsr_filter_count(handle) != 0;
}

/* The filter, or while more than handles counts, what every handle hits. */
extern const uint32_t *tsr_hits TSR_OWN;

/* Some hook may have something to do with this handle, the only one of a call. */
static inline bool tsr_busy_with(const void *handle)
{
    if (!TSR_UNLIKELY(tsr_is_set(&tsr_busy_bits)))
        return false;
    const uint32_t *hits = __atomic_load_n(&tsr_hits, __ATOMIC_RELAXED);
    return TSR_UNLIKELY(tsr_is_set(&hits[tsr_filter_index(handle)]));
}

/* The same of several handles.  While only handles have records or wait, those of the call say so (hit). */
#define TSR_BUSY_WITH(hit)                                                    \
    ({                                                                        \
        const unsigned now = tsr_busy();                                      \
        TSR_UNLIKELY(now) && (now != TSR_BUSY_HANDLES || (hit));              \
    })

void tsr_filter_add(const void *handle);
void tsr_filter_remove(const void *handle);

/* ---- hooks as the wrappers call them: only with TSR_BUSY_HANDLES set ---- */

void tsr_will_move(const void *handle); /* contents stay, arrays may move: whatever looks at them runs first */
void tsr_exported(const void *handle); /* before an export: contents move out, then the handle goes */
bool tsr_will_free(const void *handle); /* before a free; true: a result that waits has the object now, it must not be freed */
void tsr_created(const void *handle);  /* after a success that made this handle: what stood at its address is history */
void tsr_hook_read_array(const void *const *handles, size_t count);
void tsr_hook_new_array(const void *const *handles, size_t count);
void tsr_will_replace(const void *handle); /* before new contents: the old ones need not be anywhere any more */
void tsr_discard(const void *handle);      /* the same where the new contents are not the host's either */
void tsr_will_edit(const void *handle);    /* before an entry is written: as a write, but the sparsity control may wait */
void tsr_will_inspect(const void *handle);    /* before we look at the host's arrays: as a read, but the sparsity control may wait */
bool tsr_is_lost(const void *handle);     /* its contents are gone: the call returns GrB_PANIC (table.c) */
bool tsr_is_lost_array(const void *const *handles, size_t count);
size_t tsr_tiles(uint64_t rows, uint64_t columns); /* product; 0 where it overflows */

/* Ours left the entries of some object in any order, where SuiteSparse might have sorted them; from then on. */
extern bool tsr_gave_jumbled TSR_OWN;
void tsr_sort_operand(const void *handle); /* NULL allowed */
#define TSR_SORT_OPERAND(M, accum, A)                                                               \
    do {                                                                                            \
        if (TSR_UNLIKELY(__atomic_load_n(&tsr_gave_jumbled, __ATOMIC_RELAXED)) && ((M) || (accum))) \
            tsr_sort_operand(A);                                                                    \
    } while (0)

#define TSR_HOOK(function, handle)                \
    do {                                          \
        const void *const hooked = (handle);      \
        if (TSR_UNLIKELY(tsr_filter_hit(hooked))) \
            function(hooked);                     \
    } while (0)
#define TSR_HOOK_READ(handle) TSR_HOOK(tsr_will_read, handle)
#define TSR_HOOK_MOVE(handle) TSR_HOOK(tsr_will_move, handle)
#define TSR_HOOK_WRITE(handle) TSR_HOOK(tsr_will_write, handle)
#define TSR_HOOK_REPLACE(handle) TSR_HOOK(tsr_will_replace, handle)
#define TSR_HOOK_EDIT(handle) TSR_HOOK(tsr_will_edit, handle)
#define TSR_HOOK_FREED(handle) TSR_HOOK(tsr_freed, handle)
#define TSR_HOOK_FREE(at)                                                        \
    do {                                                                         \
        if ((at) && TSR_UNLIKELY(tsr_filter_hit(*(at))) && tsr_will_free(*(at))) \
            *(at) = NULL;                                                        \
    } while (0)
#define TSR_HOOK_EXPORTED(handle) TSR_HOOK(tsr_exported, handle)
#define TSR_HOOK_NEW(handle) TSR_HOOK(tsr_created, handle)

/* The members of a GxB_Container (from version 10 on). */
#define TSR_HOOK_CONTAINER(hook, container) \
    do {                                    \
        if (container) {                    \
            hook((container)->p);           \
            hook((container)->h);           \
            hook((container)->b);           \
            hook((container)->i);           \
            hook((container)->x);           \
            hook((container)->Y);           \
        }                                   \
    } while (0)

#define TSR_LOST(handle) tsr_is_lost((handle))

/* The function whose wrapper runs hooks on this thread, for the trace. */
extern _Thread_local const char *tsr_caller __attribute__((tls_model("initial-exec")));

/* ---- routing ---- */

/* Real calls that may run user operators under way on this thread: products inside of them are not routed. */
extern _Thread_local int tsr_depth __attribute__((tls_model("initial-exec")));

/* GrB_init seen, versions agree, not switched off, not in a forked child, not inside another call. */
bool tsr_may_route(void);

/* ---- context.c ---- */
/* While the GPU is started beside a program that has a thread for each processor, its calls use one thread less: the driver works inside the
 * kernel, and a thread that waits for its processor keeps all others waiting.  A program that asks or says how many there are sees its own number:
 * nothing is lent from _pause, if that says so, to _resume. */
void tsr_threads_lend(void);
void tsr_threads_return(void);
bool tsr_threads_pause(void);
void tsr_threads_resume(void);
extern bool tsr_threads_lent TSR_OWN; /* between _lend and _return */
#define TSR_THREADS_PAUSE() (TSR_UNLIKELY(__atomic_load_n(&tsr_threads_lent, __ATOMIC_ACQUIRE)) && tsr_threads_pause())
#define TSR_RETURN_THREADS()                                                        \
    do {                                                                            \
        if (TSR_UNLIKELY(__atomic_load_n(&tsr_threads_lent, __ATOMIC_ACQUIRE)))     \
            tsr_threads_return();                                                   \
    } while (0)

/* ---- burble.c ---- */
void tsr_burble_changed(void); /* after the program may have set GxB_BURBLE */
extern bool tsr_burbles TSR_OWN;
extern _Thread_local int tsr_quiet_depth __attribute__((tls_model("initial-exec")));
void tsr_quiet_enter(void);
void tsr_quiet_leave(void);
void tsr_quiet_pause(void); /* around a call of the program's, from inside */
void tsr_quiet_resume(void);

/* Around what we call beside the program's call: the real library prints nothing of it.  Scopes may nest. */
static inline void tsr_quiet_begin(void)
{
    if (TSR_UNLIKELY(__atomic_load_n(&tsr_burbles, __ATOMIC_RELAXED)))
        tsr_quiet_enter();
}

static inline void tsr_quiet_end(void)
{
    if (TSR_UNLIKELY(tsr_quiet_depth))
        tsr_quiet_leave();
}

/* ---- real.c ---- */
bool tsr_real_resolve(void *slot, const char *name); /* false: no such function, one line on stderr */
bool tsr_real_version_agrees(void);          /* after GrB_init: ask the library itself */
extern bool tsr_keeps_nothing; /* it has functions that we do not know: no record, nothing deferred */

/* ---- state.c ---- */
GrB_Info tsr_state_init(GrB_Mode mode);
GrB_Info tsr_state_init_with(GrB_Mode mode, void *(*user_malloc)(size_t), void *(*user_calloc)(size_t, size_t),
                             void *(*user_realloc)(void *, size_t), void (*user_free)(void *));
GrB_Info tsr_state_finalize(void);

/* ---- context.c (contexts from version 8 on) ---- */
#if GxB_IMPLEMENTATION_MAJOR >= 8
GrB_Info tsr_context_engage(GxB_Context context);
GrB_Info tsr_context_disengage(GxB_Context context);
GrB_Info tsr_context_free(GxB_Context *context);
#endif

/* ---- table.c ---- */
void tsr_table_drop(const void *handle);
void tsr_table_begin(void); /* before the first record */
void tsr_table_clear(void);
/* Calls `visit` for every record, under a lock; how many times it was true. */
size_t tsr_table_each(bool (*visit)(const void *handle, tsr_record *record));

/* ---- defer.c ---- */
void tsr_defer_before_read(const void *handle);
void tsr_defer_before_write(const void *handle);
void tsr_defer_before_replace(const void *handle); /* the contents go: targets are cancelled, operands run */
bool tsr_defer_before_free(const void *handle);    /* the same, but what may drop its operands holds this one: true */
void tsr_defer_run_all(void);
void tsr_defer_run_idle(void); /* all that no thread is running */
void tsr_defer_end(void);      /* GrB_finalize: products run, contents that nobody can look at any more are forgotten */
bool tsr_defer_is_target(const void *handle);

/* ---- held.c: where the arrays of lists lie that were handed over, until the next write ---- */
bool tsr_held_find(tsr_view *view, int64_t ends[2], const void *handle); /* ends: a vector's offsets */
bool tsr_held_jumbled(const void *handle); /* it is one, and a call of SuiteSparse may sort it, which takes a while */
void tsr_held_keep(const void *handle, const tsr_view *view);
void tsr_held_forget(const void *handle); /* they are SuiteSparse's alone from now on */
void tsr_held_clear(void);

/* ---- forms.c: sparsity controls of what the host has not got, or not in that form ---- */
bool tsr_form_waits(const void *handle);   /* the host has the contents, but its object not the sparsity control that was set */
void tsr_settle_form(const void *handle);  /* it is told now */
void tsr_settle_all(void);                 /* ... all that wait for it */
int32_t tsr_form_promised(const void *handle); /* 0: none */
void tsr_form_set(const void *handle, int32_t form); /* of one with a record */
bool tsr_form_promise(GrB_Matrix C, int32_t control); /* C, which has no contents yet, will have this one; false: no memory */
int32_t tsr_form_control(GrB_Matrix C); /* the one that the program sees, whatever the host's object knows; 0: not a valid object */

/* ---- check.c ---- */

enum {
    TSR_TOUCH_READ, TSR_TOUCH_WRITE, TSR_TOUCH_MOVE,
    TSR_TOUCH_MOVE_AT, TSR_TOUCH_FREE_AT, TSR_TOUCH_EXPORT_AT, TSR_TOUCH_NEW_AT, /* handle: where the handle stands */
    TSR_TOUCH_READ_ARRAY, TSR_TOUCH_NEW_ARRAY,                                   /* handle: the first of count */
    TSR_TOUCH_SCALAR = 16                                                        /* a GrB_Scalar: no fingerprint */
};

typedef struct tsr_touch {
    const void *handle;
    int role;
    size_t count;
} tsr_touch;

typedef struct tsr_check_call {
    const char *name;
    const tsr_touch *touches;
    size_t count;
    bool blind; /* TESSERA_CHECK_BLIND names this function: its write hooks are left out */
} tsr_check_call;

/* In CHECK mode these two stand around every call that takes handles; the first one runs the hooks as well. */
void tsr_check_before(tsr_check_call *call, const char *name, const tsr_touch *touches, size_t count);
void tsr_check_after(const tsr_check_call *call);
void tsr_check_start(void);
void tsr_check_stop(void); /* forget every fingerprint */

#endif
