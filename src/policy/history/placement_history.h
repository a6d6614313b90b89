/* Where elementwise calls go, and whether results stay: where the operands are, and what became of such results before.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLACEMENT_H
#define TSR_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Elements below which a result is computed on the host: a kernel's start costs more than it gains; with TESSERA_MODE=gpu, where what it
 * needs is mostly there. */
#define TSR_PLACEMENT_LEAST 1e5
#define TSR_PLACEMENT_LEAST_FORCED 1e4
double tsr_placement_least(double configured, bool forced); /* configured (min_work) < 0: one of these */

/* A result of this kind of call (tsr_history_key of operation, operator, type, sizes) was used where it was computed; or it was downloaded
 * before anybody did. */
void tsr_placement_used(uint64_t key);
void tsr_placement_read(uint64_t key);

/* It was computed on a device though its operands had to be uploaded: worth two uses of the result. */
void tsr_placement_moved(uint64_t key);

/* Were results of this kind used where they were computed, lately? */
bool tsr_placement_stays(uint64_t key);

/* Is a copy of a result that is downloaded worth keeping on the device?  After four that nobody used one of sixteen is. */
bool tsr_placement_keeps(uint64_t key);

/* C is computed on the host by a call of this kind, for nothing that it needs is on a device; NULL: that may be C too, or nothing.  And: C is uploaded
 * to one, where it would better have been computed, and what it was computed from as well. */
void tsr_placement_lost_time(const void *C, uint64_t kind, const void *A, const void *B);
void tsr_placement_uploaded(const void *C);

/* What pulls one elementwise call. */
typedef struct tsr_pull {
    double elements;
    double least;   /* elements, as configured */
    bool on_device; /* an operand, or what is overwritten, is there */
    bool device_only; /* an operand, no smaller than the result: it would be downloaded for the host, at no less than the result costs */
    bool forced;    /* TESSERA_MODE=gpu */
    uint64_t key;
} tsr_pull;

/* To the device?  Unless device_only not when two results in a row were downloaded unused; then every so often, and more and more seldom, one is tried. */
bool tsr_placement_pulls(const tsr_pull *pull);

void tsr_placement_forget(void); /* everything (tests) */

#endif
