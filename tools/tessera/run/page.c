/* The page that `tessera run --report` writes: what was saved, calls by place over time, kinds of calls, why others were forwarded.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "page_css.h"
#include "tools/tessera/common/plot.h"
#include "tools/tessera/run/report.h"
#include "tools/tessera/common/tool.h"

enum { MOST_KINDS = 128, MOST_DRAWN = 4000, WIDTH = 1000 };

static const char *const places[TSR_PLACES] = {"SuiteSparse", "Tessera, CPU", "Tessera, GPU"};
static const char *const classes[TSR_PLACES] = {"plain", "ours", "device"};

/* Calls that are alike: of one function, computed by one route, or forwarded for one reason. */
typedef struct kind {
    const tsr_report_call *like;
    int64_t count, known; /* known: with SuiteSparse's time */
    double ms, known_ms, other_ms, bytes;
} kind;

typedef struct totals {
    int64_t computed, calls;
    double saved_ms, known_ms, bytes, place_ms[TSR_PLACES];
    kind kinds[MOST_KINDS];
    int used;
} totals;

static void put(FILE *out, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (*s == '<' || *s == '>' || *s == '&' || *s == '"') {
            fprintf(out, "&#%d;", *s);
        } else {
            fputc(*s, out);
        }
    }
}

/* ---- sums ---- */

static bool forwarded(const tsr_report_call *c)
{
    return c->place == TSR_PLACE_SUITESPARSE;
}

/* Reasons with predicted times differ in every call. */
static const char *reason_of(const tsr_report_call *c)
{
    return strstr(c->reason, "predicted ") ? "SuiteSparse is expected to be as fast" : c->reason;
}

static bool alike(const tsr_report_call *a, const tsr_report_call *b)
{
    return strcmp(a->call, b->call) == 0 && strcmp(a->route, b->route) == 0 && (!forwarded(a) || strcmp(reason_of(a), reason_of(b)) == 0);
}

static kind *find(totals *t, const tsr_report_call *c)
{
    int k = 0;
    while (k < t->used && k < MOST_KINDS - 1 && !alike(t->kinds[k].like, c)) {
        k++;
    }
    if (k == t->used) {
        t->kinds[t->used++] = (kind){.like = c};
    }
    return &t->kinds[k];
}

static void add(totals *t, const tsr_report_call *c)
{
    kind *k = find(t, c);
    k->count++;
    k->ms += c->ms;
    k->bytes += c->bytes;
    t->calls++;
    t->computed += !forwarded(c);
    t->place_ms[c->place] += c->ms;
    t->bytes += c->bytes;
    if (c->other_ms > 0) {
        k->known++;
        k->known_ms += c->ms;
        k->other_ms += c->other_ms;
        t->saved_ms += c->other_ms - c->ms;
        t->known_ms += c->ms;
    }
}

static int by_time(const void *left, const void *right)
{
    const kind *a = left, *b = right;
    return a->ms < b->ms ? 1 : a->ms > b->ms ? -1 : 0;
}

/* ---- parts of the page ---- */

static void put_head(FILE *out, const tsr_report *r, const totals *t, const char *program)
{
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, "
                 "initial-scale=1\">\n<title>");
    put(out, tsr_plot_name(program));
    fprintf(out, " through Tessera</title>\n<style>\n%s</style></head>\n<body>\n<h1>", tsr_page_css);
    put(out, tsr_plot_name(program));
    fprintf(out, ": %lld of %lld calls computed by Tessera</h1>\n<p>The program ran %.2f s. ", (long long)t->computed, (long long)t->calls,
            r->elapsed_ms * 1e-3);
    if (t->saved_ms >= 10) {
        fprintf(out, "About %.2f s were saved: without Tessera it would have run about %.2f s, %.1f times as long.", t->saved_ms * 1e-3,
                (r->elapsed_ms + t->saved_ms) * 1e-3, (r->elapsed_ms + t->saved_ms) / r->elapsed_ms);
    } else {
        fputs("No time to speak of was saved.", out);
    }
    if (t->bytes > 0) {
        fprintf(out, " %.1f MB moved between host and GPU.", t->bytes * 1e-6);
    }
    fputs("</p>\n<p class=\"soft\">What SuiteSparse would have taken is estimated: it computes a part of each kind of product.</p>\n", out);
}

/* A place is one lane, a call one box; the shortest ones are left out where there are too many. */
static double shortest_drawn(const tsr_report *r)
{
    double least = 0;
    int64_t drawn = r->count;
    for (least = 0; drawn > MOST_DRAWN; least = least > 0 ? 2 * least : r->elapsed_ms * 1e-6) {
        drawn = 0;
        for (int64_t k = 0; k < r->count; k++) {
            drawn += r->call[k].ms >= least;
        }
    }
    return least;
}

static void put_call(FILE *out, const tsr_report_call *c, double first, double scale)
{
    fprintf(out, "<rect x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"1\"><title>", (c->end_ms - c->ms - first) * scale, fmax(c->ms * scale, 0.7));
    put(out, c->call);
    fputc(' ', out);
    put(out, c->pattern);
    fprintf(out, " %.3f ms, %s: ", c->ms, c->route);
    put(out, c->reason);
    fputs("</title></rect>\n", out);
}

/* Stretched to the width that there is, so it has no letters. */
static void put_lane(FILE *out, const tsr_report *r, tsr_report_place place, double first, double scale, double least)
{
    fprintf(out, "<div class=\"name\">%s</div><svg viewBox=\"0 0 %d 1\" preserveAspectRatio=\"none\" role=\"img\" fill=\"var(--%s)\"><title>Calls over "
                 "time: %s</title>\n", places[place], WIDTH, classes[place], places[place]);
    for (int64_t k = 0; k < r->count; k++) {
        if (r->call[k].place == place && r->call[k].ms >= least) {
            put_call(out, &r->call[k], first, scale);
        }
    }
    fputs("</svg>\n", out);
}

static void put_timeline(FILE *out, const tsr_report *r)
{
    double first = INFINITY, last = -INFINITY;
    for (int64_t k = 0; k < r->count; k++) {
        first = fmin(first, r->call[k].end_ms - r->call[k].ms);
        last = fmax(last, r->call[k].end_ms);
    }
    const double length = fmax(last - first, 1e-3), least = shortest_drawn(r);
    fputs("<h2>When, and where</h2>\n<div class=\"lanes\">\n", out);
    for (int p = 0; p < TSR_PLACES; p++) {
        put_lane(out, r, (tsr_report_place)p, first, WIDTH / length, least);
    }
    fprintf(out, "<div class=\"axis soft\"><span>0</span><span>%.4g ms</span></div></div>\n", length);
    if (least > 0) {
        fprintf(out, "<p class=\"soft\">Calls below %.3g ms are not drawn.</p>\n", least);
    }
}

static void put_bar(FILE *out, const char *class, double ms, double longest)
{
    fprintf(out, "<div class=\"bar\"><i class=\"%s\" style=\"width:%.1f%%\"></i>%.4g ms</div>", class, fmax(0.3, 70 * ms / longest), ms);
}

/* Products that we computed: their time beside what SuiteSparse would have taken for them. */
static void put_computed(FILE *out, const totals *t)
{
    double longest = 1e-9;
    for (int k = 0; k < t->used; k++) {
        longest = forwarded(t->kinds[k].like) ? longest : fmax(longest, fmax(t->kinds[k].ms, t->kinds[k].other_ms));
    }
    fputs("<h2>Computed here</h2>\n<p class=\"soft\"><span class=\"key ours\" style=\"margin-left:0\"></span>Tessera<span class=\"key plain\"></span>"
          "SuiteSparse, estimated</p>\n<div class=\"bars\">", out);
    for (int k = 0; k < t->used; k++) {
        const kind *d = &t->kinds[k];
        if (forwarded(d->like)) {
            continue;
        }
        fputs("<div class=\"rule\"></div><div class=\"name\">", out);
        put(out, d->like->call);
        fprintf(out, ", %lld calls<br><span class=\"soft\">%s</span></div><div class=\"ratio\">", (long long)d->count, d->like->route);
        fprintf(out, d->known ? "%.2f×" : "–", d->known ? d->other_ms / d->known_ms : 0);
        fputs("</div><div class=\"track\">", out);
        put_bar(out, classes[d->like->place], d->ms, longest);
        if (d->known) {
            put_bar(out, "plain", d->other_ms, longest);
        }
        fputs("</div>", out);
    }
    fputs("</div>\n", out);
}

static bool any_forwarded(const totals *t)
{
    for (int k = 0; k < t->used; k++) {
        if (forwarded(t->kinds[k].like)) {
            return true;
        }
    }
    return false;
}

static void put_forwarded(FILE *out, const totals *t)
{
    fputs("<h2>Left to SuiteSparse</h2>\n", out);
    if (!any_forwarded(t)) {
        fputs("<p>No product or step.</p>\n", out);
        return;
    }
    fputs("<div class=\"wide\"><table><tr><th>call</th><th class=\"number\">calls</th><th class=\"number\">ms</th><th>why</th></tr>\n", out);
    for (int k = 0; k < t->used; k++) {
        const kind *d = &t->kinds[k];
        if (forwarded(d->like)) {
            fputs("<tr><td>", out);
            put(out, d->like->call);
            fprintf(out, "</td><td class=\"number\">%lld</td><td class=\"number\">%.3f</td><td>", (long long)d->count, d->ms);
            put(out, reason_of(d->like));
            fputs("</td></tr>\n", out);
        }
    }
    fputs("</table></div>\n", out);
}

int tsr_report_write(const char *path, const tsr_report *report, const char *program)
{
    static totals t;
    FILE *out = fopen(path, "w");
    if (!out) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", path, strerror(errno));
    }
    for (int64_t k = 0; k < report->count; k++) {
        add(&t, &report->call[k]);
    }
    qsort(t.kinds, (size_t)t.used, sizeof *t.kinds, by_time);
    put_head(out, report, &t, program);
    if (t.calls == 0) {
        fputs("<p>It made no call that Tessera looks at: no GrB_mxm, mxv or vxm of a shared libgraphblas.</p>\n", out);
    } else {
        put_timeline(out, report);
        put_computed(out, &t);
        put_forwarded(out, &t);
    }
    fputs("</body></html>\n", out);
    const bool whole = !ferror(out) && fflush(out) == 0;
    return fclose(out) == 0 && whole ? 0 : tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", path, strerror(errno));
}
