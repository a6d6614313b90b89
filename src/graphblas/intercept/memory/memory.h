/* How much memory this process may use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MEMORY_H
#define TSR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes: the machine's, or the least limit of a control group (version 1 or 2) that the process is in.  Looked up once. */
size_t tsr_memory_most(void);

/* A limit on the address space or the data segment: allocations fail then, while others keep what they do not need. */
bool tsr_memory_is_limited(void);

/* The least limit that the control groups named in `groups` (as /proc/self/cgroup) have below `root` (as /sys/fs/cgroup);
 * SIZE_MAX: none. */
size_t tsr_memory_of_groups(const char *groups, const char *root);

#endif
