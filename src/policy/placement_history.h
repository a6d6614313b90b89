/* Where elementwise calls go, and whether results stay: where the operands are, and what became of such results before.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLACEMENT_H
#define TSR_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements below which a result is computed on the host: a kernel's start costs more than it gains; with TESSERA_MODE=gpu, where what it
 * needs is mostly there. */
#define TSR_PLACEMENT_LEAST 1e5
#define TSR_PLACEMENT_LEAST_FORCED 1e4
double tsr_placement_least(double configured, bool forced); /* configured (min_work) < 0: one of these */

/* Calls of one kind (operation, operator, type, sizes) have the same key, never 0. */
uint64_t tsr_placement_key(const uint64_t *parts, size_t count);

/* A result of this kind of call was used where it was computed; or it was brought to the host before anybody did. */
void tsr_placement_used(uint64_t key);
void tsr_placement_read(uint64_t key);

/* It was computed there though its operands had to be brought: worth two uses of the result. */
void tsr_placement_moved(uint64_t key);

/* Were results of this kind used where they were computed, lately? */
bool tsr_placement_stays(uint64_t key);

/* Is a copy of a result that goes home worth keeping?  After four that nobody used one of sixteen is. */
bool tsr_placement_keeps(uint64_t key);

/* C is computed on the host by a call of this kind, for nothing that it needs is with a backend.  And: C is brought to a backend, where
 * it would better have been computed. */
void tsr_placement_lost_time(const void *C, uint64_t key);
void tsr_placement_brought(const void *C);

/* What pulls one elementwise call. */
typedef struct tsr_pull {
    double elements;
    double least;  /* elements, as configured */
    bool there;    /* an operand, or what is overwritten, has a value with the backend */
    bool forced;   /* TESSERA_MODE=gpu */
    uint64_t key;
} tsr_pull;

/* To the backend?  Not when two results in a row went home unused; then every so often, and more and more seldom, one is tried. */
bool tsr_placement_pulls(const tsr_pull *pull);

void tsr_placement_forget(void); /* everything (tests) */

#endif
