/* Ski-rental of huge pages for operands that products gather rows of.  In small pages a row of an operand that the processor's table of
 * pages does not cover costs some 2 ns more; collapsing small pages into huge ones costs 0.3 to 0.6 ms for each MiB.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/memory/gathers.h"
#include "src/graphblas/intercept/memory/huge_pages.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>

enum {
    LEAST = 4 << 20,  /* bytes that are worth it */
    BYTES_OF_ROW = 2, /* so many bytes are collapsed for what a row has lost, or half of that, on the machines that were measured */
    OPERANDS = 16
};

typedef struct operand {
    const void *block;
    size_t bytes;
    double rows; /* read since it was collapsed; no number: that cannot be done */
} operand;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards */
static operand operands[OPERANDS];
static unsigned next;

/* The mutex is held. */
static operand *find(const void *block, size_t bytes)
{
    for (unsigned n = 0; n < OPERANDS; n++)
        if (operands[n].block == block && operands[n].bytes == bytes)
            return &operands[n];
    operand *o = &operands[next++ % OPERANDS];
    *o = (operand){.block = block, .bytes = bytes};
    return o;
}

/* Does it pay by now?  What was collapsed begins anew: the memory may be another's then.  To collapse it again takes no time. */
static bool is_due(const void *block, size_t bytes, double rows)
{
    pthread_mutex_lock(&mutex);
    operand *o = find(block, bytes);
    o->rows += rows;
    const bool due = o->rows * BYTES_OF_ROW >= (double)bytes;
    if (due)
        o->rows = 0;
    pthread_mutex_unlock(&mutex);
    return due;
}

static void give_up(const void *block, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    find(block, bytes)->rows = NAN;
    pthread_mutex_unlock(&mutex);
}

void tsr_gathers_note(const void *block, size_t bytes, double rows)
{
    if (bytes >= LEAST && is_due(block, bytes, rows) && !tsr_huge_collapse(block, bytes))
        give_up(block, bytes);
}
