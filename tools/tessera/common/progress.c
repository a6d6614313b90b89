/* A progress bar on a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/common/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 40 };
static const double first_s = 2.0, again_s = 0.1;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tsr_progress_begin(tsr_progress *bar, const char *what)
{
    *bar = (tsr_progress){.what = what, .began = now_s(), .wanted = isatty(STDERR_FILENO) == 1};
}

void tsr_progress_at(tsr_progress *bar, double share)
{
    static const char full[] = "########################################";
    double now = bar->wanted ? now_s() : 0;
    if (!bar->wanted || now - bar->began < first_s || now - bar->drawn < again_s) {
        return;
    }
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    int done = (int)(share * WIDTH);
    fprintf(stderr, "\r%-20.20s [%.*s%*s] %3.0f %%", bar->what, done, full, WIDTH - done, "", 100 * share);
    fflush(stderr);
    bar->drawn = now;
    bar->shown = true;
}

void tsr_progress_end(tsr_progress *bar)
{
    if (bar->shown) {
        fputs("\r\033[K", stderr);
    }
    bar->shown = false;
}
