/* Calls on few sparse vectors: SuiteSparse prepares each in about five microseconds and deals work out to threads above 65536 steps a
 * thread; ours begin at once and stay on one thread a vector.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/few.h"

#define STEPS_OF_THREAD 65536

/* Threads that SuiteSparse uses for so many steps. */
static int64_t threads_of(int64_t steps, int nthreads)
{
    const int64_t wanted = 1 + steps / STEPS_OF_THREAD;
    return wanted < nthreads ? wanted : nthreads;
}

/* One thread: pushes of 1 to 20 entries gain 2 us, of 1,000 to 3,000 multiply-adds 6 to 24. */
double tsr_small_gain_us(tsr_small kind, double steps)
{
    static const double ns[] = {[TSR_SMALL_PUSH] = 6, [TSR_SMALL_SPARSE] = 3, [TSR_SMALL_MASKED] = 1, [TSR_SMALL_SELECT] = 1};
    return 2 + steps * ns[kind] * 1e-3;
}

bool tsr_push_pays(const tsr_push_features *f)
{
    const int64_t theirs = threads_of(f->work, f->nthreads), ours = !f->joint && f->vectors < f->nthreads ? f->vectors : f->nthreads;
    return theirs <= 2 * ours;
}

/* SuiteSparse walks over all places of a dense mask or of none as well, and takes each vector by itself; of a list it walks over that only. */
bool tsr_pull_pays(const tsr_pull_features *f)
{
    const int64_t places_of_work = f->listed ? 1 : 16;
    return f->work * places_of_work >= f->places;
}

/* SuiteSparse searches the rows of a mask for the vector's entries or the other way round.  Without one it looks every entry of A up in a hash
 * table, or merges every row with the vector: 5 to 90 ns an entry; ours takes about 1. */
bool tsr_pull_listed_pays(const tsr_pull_listed_features *f)
{
    const int64_t search = 16, searches = f->marked < 8 ? f->marked : 8;
    return f->rows == 0 || f->entries <= search * searches * f->rows;
}

bool tsr_few_step_pays(const tsr_few_step_features *f)
{
    return f->runs || threads_of(f->work, f->nthreads) <= 2;
}

/* One thread, us, SuiteSparse and ours: 326 entries 2.7 and 2.0, 3,200 21 and 9.6, 51,000 422 and 205; of pairs 32 entries 2.0 and 1.1,
 * 1,300 5.8 and 4.5, 5,000 to 200,000 others .85 to 1.07 of the speed, 271,000 at a quarter of C's places 1,750 and 960. */
bool tsr_few_update_pays(const tsr_few_update_features *f)
{
    const double least = 256, few_pairs = 2048, many_pairs = 131072, share = 8;
    if (!f->pairs)
        return f->entries >= least;
    return f->entries <= few_pairs || (f->entries >= many_pairs && f->entries * share >= f->places);
}
