/* How often a route is in a trace.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_TRACE_ROUTES_H
#define TEST_TRACE_ROUTES_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file is gone afterwards. */
static inline int trace_routes(const char *trace, const char *route)
{
    FILE *file = fopen(trace, "r");
    char line[4096];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, route) != NULL;
    if (file)
        fclose(file);
    unlink(trace);
    return count;
}

#endif
