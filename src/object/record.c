/* Versions, representations and the ski-rental of one matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/object/record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tsr_rep {
    atomic_int refs;
    tsr_rep_key key;
    tsr_compressed store;
};

typedef struct rep_slot {
    struct rep_slot *next;
    tsr_rep_key key;
    tsr_rep *rep;   /* NULL: not built */
    double regret;  /* ms lost without it since the last write */
} rep_slot;

/* Entries are shared by matrices with the same contents. */
typedef struct entry_of {
    tsr_cache_entry *entry;
    tsr_derivation how; /* of those that are remembered for others; the lists are its own */
    struct entry_of *next;
} entry_of;

struct tsr_cache_entry {
    atomic_int refs;
    const tsr_backend *owner;
    void *place;
    entry_of *derived; /* of what was made of these contents, latest first; guarded by derived_lock */
};

enum { MOST_DERIVED = 4 };
static pthread_mutex_t derived_lock = PTHREAD_MUTEX_INITIALIZER;

struct tsr_record {
    atomic_int refs;
    pthread_mutex_t lock; /* guards everything below; held while a representation is built */
    atomic_uint_least64_t version;
    rep_slot *slots;
    entry_of *entries;   /* one per backend that asked */
    tsr_device_array *value;
    tsr_wait *waits;     /* guarded by whoever waits */
    atomic_int wait_count, target_count;
    atomic_uint uses;    /* of this version */
    atomic_bool had;     /* a product has had this version */
    atomic_bool lost;
    atomic_int form;
    int rows_present[2]; /* every row [0], column [1] has an entry: -1 unknown, else 0 or 1; dropped by invalidate */
};

static atomic_size_t alive_bytes;
static atomic_int_least64_t built_count, dropped_count;

static bool same_key(tsr_rep_key x, tsr_rep_key y)
{
    return x.by_col == y.by_col && x.pattern == y.pattern && x.device == y.device && (x.pattern || x.type == y.type);
}

tsr_record *tsr_record_new(void)
{
    tsr_record *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    if (pthread_mutex_init(&m->lock, NULL) != 0) {
        free(m);
        return NULL;
    }
    atomic_init(&m->refs, 1);
    m->rows_present[0] = m->rows_present[1] = -1;
    return m;
}

tsr_record *tsr_record_ref(tsr_record *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

static void drop_slots(tsr_record *m)
{
    for (rep_slot *s = m->slots, *next; s; s = next) {
        next = s->next;
        if (s->rep)
            atomic_fetch_add(&dropped_count, 1);
        tsr_rep_unref(s->rep);
        free(s);
    }
    m->slots = NULL;
}

/* One list for rows and columns is kept, and compared, once. */
static bool is_list_again(const tsr_derivation *how, int k)
{
    return k > 0 && how->lists[k].numbers && how->lists[k].numbers == how->lists[0].numbers && how->lists[k].count == how->lists[0].count;
}

static void drop_entries(entry_of *entries)
{
    for (entry_of *e = entries, *next; e; e = next) {
        next = e->next;
        tsr_cache_entry_unref(e->entry);
        if (!is_list_again(&e->how, 1))
            free((void *)(uintptr_t)e->how.lists[1].numbers);
        free((void *)(uintptr_t)e->how.lists[0].numbers);
        free(e);
    }
}

void tsr_record_unref(tsr_record *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    drop_slots(m);
    drop_entries(m->entries);
    tsr_device_array_unref(m->value);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

void tsr_record_invalidate(tsr_record *m)
{
    pthread_mutex_lock(&m->lock);
    atomic_fetch_add_explicit(&m->version, 1, memory_order_release);
    atomic_store(&m->uses, 0);
    atomic_store(&m->had, false);
    drop_slots(m);
    entry_of *entries = m->entries;
    m->entries = NULL;
    tsr_device_array *value = m->value;
    m->value = NULL;
    m->rows_present[0] = m->rows_present[1] = -1;
    pthread_mutex_unlock(&m->lock);
    drop_entries(entries);
    tsr_device_array_unref(value);
}

uint64_t tsr_record_version(const tsr_record *m)
{
    return atomic_load_explicit(&m->version, memory_order_acquire);
}

static rep_slot *find_slot(tsr_record *m, tsr_rep_key key)
{
    rep_slot *s = m->slots;
    while (s && !same_key(s->key, key))
        s = s->next;
    return s;
}

static rep_slot *find_or_add_slot(tsr_record *m, tsr_rep_key key)
{
    rep_slot *s = find_slot(m, key);
    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->key = key;
    s->next = m->slots;
    m->slots = s;
    return s;
}

static tsr_rep *ref_rep(tsr_rep *rep)
{
    if (rep)
        atomic_fetch_add_explicit(&rep->refs, 1, memory_order_relaxed);
    return rep;
}

tsr_rep *tsr_record_find(tsr_record *m, tsr_rep_key key)
{
    pthread_mutex_lock(&m->lock);
    const rep_slot *s = find_slot(m, key);
    tsr_rep *rep = ref_rep(s ? s->rep : NULL);
    pthread_mutex_unlock(&m->lock);
    return rep;
}

static tsr_rep *new_rep(tsr_rep_key key, const tsr_view *view, int nthreads)
{
    tsr_rep *rep = calloc(1, sizeof *rep);
    if (!rep)
        return NULL;
    unsigned flags = (key.pattern ? TSR_COMPRESS_PATTERN : 0u) | (key.by_col != view->by_col ? TSR_COMPRESS_FLIP : 0u);
    if (tsr_compress(&rep->store, view, key.type, flags, nthreads) != TSR_OK) {
        free(rep);
        return NULL;
    }
    atomic_init(&rep->refs, 1);
    rep->key = key;
    atomic_fetch_add(&alive_bytes, rep->store.bytes);
    atomic_fetch_add(&built_count, 1);
    return rep;
}

tsr_rep *tsr_record_build(tsr_record *m, tsr_rep_key key, const tsr_view *view, int nthreads)
{
    pthread_mutex_lock(&m->lock);
    tsr_rep *rep = NULL;
    rep_slot *s = find_or_add_slot(m, key);
    if (s && !s->rep)
        s->rep = new_rep(key, view, nthreads);
    if (s)
        rep = ref_rep(s->rep);
    pthread_mutex_unlock(&m->lock);
    return rep;
}

const tsr_view *tsr_rep_view(const tsr_rep *rep)
{
    return &rep->store.view;
}

void tsr_rep_unref(tsr_rep *rep)
{
    if (!rep || atomic_fetch_sub_explicit(&rep->refs, 1, memory_order_acq_rel) != 1)
        return;
    atomic_fetch_sub(&alive_bytes, rep->store.bytes);
    tsr_compressed_free(&rep->store);
    free(rep);
}

static tsr_cache_entry *new_entry(const tsr_backend *owner)
{
    tsr_cache_entry *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    s->owner = owner;
    return s;
}

static tsr_cache_entry *entry_ref(tsr_cache_entry *s)
{
    if (s)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

/* First in the list, which takes the entry over (NULL allowed); NULL: out of memory. */
static entry_of *link_entry(entry_of **list, tsr_cache_entry *entry)
{
    entry_of *e = entry ? calloc(1, sizeof *e) : NULL;
    if (!e) {
        tsr_cache_entry_unref(entry);
        return NULL;
    }
    *e = (entry_of){.entry = entry, .next = *list};
    return *list = e;
}

static entry_of *of_owner(entry_of *e, const tsr_backend *owner)
{
    while (e && e->entry->owner != owner)
        e = e->next;
    return e;
}

tsr_cache_entry *tsr_record_cache_entry(tsr_record *m, const tsr_backend *owner)
{
    pthread_mutex_lock(&m->lock);
    entry_of *e = of_owner(m->entries, owner);
    if (!e)
        e = link_entry(&m->entries, new_entry(owner));
    tsr_cache_entry *s = e ? entry_ref(e->entry) : NULL;
    pthread_mutex_unlock(&m->lock);
    return s;
}

static bool same_derivation(const tsr_derivation *x, const tsr_derivation *y)
{
    bool same = memcmp(x->parts, y->parts, sizeof x->parts) == 0;
    for (int k = 0; k < 2 && same; k++) {
        const int64_t count = x->lists[k].count;
        const bool compared = !count || (is_list_again(x, k) && is_list_again(y, k));
        same = count == y->lists[k].count &&
               (compared || memcmp(x->lists[k].numbers, y->lists[k].numbers, (size_t)count * sizeof(uint64_t)) == 0);
    }
    return same;
}

static bool copy_derivation(tsr_derivation *to, const tsr_derivation *how)
{
    memcpy(to->parts, how->parts, sizeof to->parts);
    for (int k = 0; k < 2; k++) {
        const size_t bytes = is_list_again(how, k) ? 0 : (size_t)how->lists[k].count * sizeof(uint64_t);
        uint64_t *copy = bytes ? malloc(bytes) : NULL;
        if (bytes && !copy)
            return false;
        if (copy)
            memcpy(copy, how->lists[k].numbers, bytes);
        to->lists[k].numbers = is_list_again(how, k) ? to->lists[0].numbers : copy;
        to->lists[k].count = how->lists[k].count;
    }
    return true;
}

static entry_of *remember(tsr_cache_entry *of, const tsr_derivation *how)
{
    entry_of *e = link_entry(&of->derived, new_entry(of->owner));
    if (!e || copy_derivation(&e->how, how))
        return e;
    of->derived = e->next;
    e->next = NULL;
    drop_entries(e);
    return NULL;
}

/* Those behind the latest ones. */
static entry_of *cut_derived(tsr_cache_entry *of)
{
    entry_of **at = &of->derived;
    for (int k = 0; k < MOST_DERIVED && *at; k++)
        at = &(*at)->next;
    entry_of *rest = *at;
    *at = NULL;
    return rest;
}

/* With a reference; NULL: out of memory. */
static tsr_cache_entry *derived_entry(tsr_cache_entry *of, const tsr_derivation *how)
{
    pthread_mutex_lock(&derived_lock);
    entry_of *e = of->derived;
    while (e && !same_derivation(&e->how, how))
        e = e->next;
    if (!e)
        e = remember(of, how);
    tsr_cache_entry *s = e ? entry_ref(e->entry) : NULL;
    entry_of *rest = cut_derived(of);
    pthread_mutex_unlock(&derived_lock);
    drop_entries(rest);
    return s;
}

tsr_cache_entry *tsr_record_derived(tsr_record *of, const tsr_derivation *how, const tsr_backend *owner)
{
    tsr_cache_entry *from = tsr_record_cache_entry(of, owner), *s = from ? derived_entry(from, how) : NULL;
    tsr_cache_entry_unref(from);
    return s;
}

void tsr_record_take(tsr_record *made, tsr_cache_entry *entry)
{
    pthread_mutex_lock(&made->lock);
    if (!of_owner(made->entries, entry->owner))
        link_entry(&made->entries, entry_ref(entry));
    pthread_mutex_unlock(&made->lock);
}

void tsr_record_share(tsr_record *made, tsr_record *of, const tsr_derivation *how, const tsr_backend *owner)
{
    tsr_cache_entry *s = tsr_record_derived(of, how, owner);
    if (s)
        tsr_record_take(made, s);
    tsr_cache_entry_unref(s);
}

void **tsr_cache_entry_place(tsr_cache_entry *slot)
{
    return &slot->place;
}

void tsr_cache_entry_unref(tsr_cache_entry *slot)
{
    if (!slot || atomic_fetch_sub_explicit(&slot->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (slot->place && slot->owner->release)
        slot->owner->release(slot->place);
    drop_entries(slot->derived);
    free(slot);
}

tsr_device_array *tsr_record_device_array(tsr_record *m)
{
    pthread_mutex_lock(&m->lock);
    tsr_device_array *value = tsr_device_array_ref(m->value);
    pthread_mutex_unlock(&m->lock);
    return value;
}

void tsr_record_set_device_array(tsr_record *m, tsr_device_array *value)
{
    pthread_mutex_lock(&m->lock);
    tsr_device_array *old = m->value;
    m->value = tsr_device_array_ref(value);
    pthread_mutex_unlock(&m->lock);
    tsr_device_array_unref(old);
}

int tsr_record_form(tsr_record *m)
{
    return atomic_load(&m->form);
}

void tsr_record_set_form(tsr_record *m, int form)
{
    atomic_store(&m->form, form);
}

void tsr_record_add_wait(tsr_record *m, tsr_wait *wait)
{
    tsr_wait **link = &m->waits;
    while (*link)
        link = &(*link)->next;
    wait->next = NULL;
    *link = wait;
    atomic_fetch_add(&m->wait_count, 1);
    atomic_fetch_add(&m->target_count, wait->target);
}

void tsr_record_remove_wait(tsr_record *m, tsr_wait *wait)
{
    tsr_wait **link = &m->waits;
    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    atomic_fetch_sub(&m->wait_count, 1);
    atomic_fetch_sub(&m->target_count, wait->target);
}

tsr_wait *tsr_record_first_wait(const tsr_record *m)
{
    return m->waits;
}

bool tsr_record_waits(const tsr_record *m)
{
    return atomic_load_explicit(&m->wait_count, memory_order_acquire) > 0;
}

bool tsr_record_is_absent(const tsr_record *m)
{
    return atomic_load_explicit(&m->target_count, memory_order_acquire) > 0;
}

void tsr_record_lose(tsr_record *m)
{
    atomic_store(&m->lost, true);
}

bool tsr_record_is_lost(const tsr_record *m)
{
    return atomic_load(&m->lost);
}

void tsr_record_note_use(tsr_record *m)
{
    atomic_fetch_add(&m->uses, 1);
}

unsigned tsr_record_uses(const tsr_record *m)
{
    return atomic_load(&m->uses);
}

void tsr_record_note_product(tsr_record *m)
{
    atomic_store(&m->had, true);
}

bool tsr_record_had_product(const tsr_record *m)
{
    return atomic_load(&m->had);
}

double tsr_record_regret(tsr_record *m, tsr_rep_key key, double lost_ms)
{
    pthread_mutex_lock(&m->lock);
    rep_slot *s = find_or_add_slot(m, key);
    double sum = s ? (s->regret += lost_ms) : 0.0;
    pthread_mutex_unlock(&m->lock);
    return sum;
}

/* By row: offsets tell.  By column: the indices must be walked, by threads that write where others read; but not if the first few share more
 * rows than there are entries to spare. */
static bool rows_present(const tsr_view *a, int nthreads)
{
    if (a->nrows == 0)
        return true;
    if (a->nvals < a->nrows)
        return false;
    if (a->format == TSR_FULL)
        return true;
    if (!a->p) /* only a device knows */
        return false;
    if (!a->by_col)
        return a->nvec == a->nrows && tsr_no_vector_empty(a, nthreads);
    if (tsr_share_rows(a, a->nvals - a->nrows))
        return false;
    int8_t *flags = malloc((size_t)a->nrows);
    bool all = flags && tsr_nonempty_rows(flags, a, nthreads) == a->nrows;
    free(flags);
    return all;
}

bool tsr_record_all_rows_present(tsr_record *m, const tsr_view *view, bool transposed, int nthreads)
{
    if (!m)
        return rows_present(view, nthreads);
    pthread_mutex_lock(&m->lock);
    int *known = &m->rows_present[transposed];
    if (*known < 0)
        *known = rows_present(view, nthreads);
    bool all = *known;
    pthread_mutex_unlock(&m->lock);
    return all;
}

tsr_record_stats tsr_record_get_stats(void)
{
    return (tsr_record_stats){atomic_load(&alive_bytes), atomic_load(&built_count), atomic_load(&dropped_count)};
}
