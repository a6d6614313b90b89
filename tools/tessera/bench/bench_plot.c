/* What was measured, as a picture: a bar for each route of each product, with its number and its ratio.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tools/tessera/bench/bench.h"
#include "tools/tessera/common/plot.h"

enum { WIDTH = 860, LEFT = 150, BAR_ROOM = 420, TOP = 64, TITLE_HEIGHT = 34, LINE_HEIGHT = 24, GAP = 18, BOTTOM = 34 };

static double gflops(const tsr_bench_line *line)
{
    return line->flops / line->result.ms * 1e-6;
}

/* What the memory of the host, or the bus, allows. */
static double bound(const tsr_bench_line *line)
{
    return line->flops / line->result.bound_ms * 1e-6;
}

static bool is_new_case(const tsr_bench_lines *lines, int64_t k)
{
    const tsr_bench_line *a = &lines->line[k], *b = a - 1;
    return k == 0 || strcmp(a->file, b->file) != 0 || a->op != b->op || a->math != b->math || a->n != b->n;
}

static int64_t end_of_case(const tsr_bench_lines *lines, int64_t first)
{
    int64_t k = first + 1;
    while (k < lines->count && !is_new_case(lines, k)) {
        k++;
    }
    return k;
}

static const char *words_of(const tsr_bench_route *route)
{
    return route->who == TSR_BENCH_SUITESPARSE ? "SuiteSparse" : route->who == TSR_BENCH_CPU ? "Tessera, CPU"
           : route->who == TSR_BENCH_CUSPARSE ? "cuSPARSE" : *route->kernel ? route->name : "Tessera, GPU";
}

static const char *class_of(const tsr_bench_line *line)
{
    const int who = line->result.route->who;
    return who == TSR_BENCH_CPU ? "ours" : who == TSR_BENCH_GPU ? "device" : "plain";
}

static void draw_title(const tsr_plot *plot, const tsr_bench_line *line, double y)
{
    static const char *const words[TSR_BENCH_OPS] = {"sparse × dense", "sparse × vector", "sampled dense × dense", "triangles"};
    static const char *const maths[TSR_BENCH_MATHS] = {"FP32", "FP32 as TF32", "FP32 as BF16", "FP32 as FP16", "FP64"};
    char width[32] = "", entries[32];
    if (line->op == TSR_BENCH_SPMM || line->op == TSR_BENCH_SDDMM) {
        snprintf(width, sizeof width, ", %lld columns", (long long)line->n);
    }
    tsr_plot_text(plot, 16, y, "title", "%s%s%s%s", words[line->op], width, line->op == TSR_BENCH_TRIANGLES ? "" : ", ",
                  line->op == TSR_BENCH_TRIANGLES ? "" : maths[line->math]);
    tsr_plot_text(plot, WIDTH - 16, y, "soft number", "%s, %s entries", tsr_plot_name(line->file), tsr_plot_count(entries, line->nvals));
}

/* Of the same case, SuiteSparse's line; NULL: it was not measured. */
static const tsr_bench_line *peer_of(const tsr_bench_lines *lines, int64_t first, int64_t end)
{
    for (int64_t k = first; k < end; k++) {
        if (lines->line[k].result.route->who == TSR_BENCH_SUITESPARSE && lines->line[k].result.ms > 0) {
            return &lines->line[k];
        }
    }
    return NULL;
}

static double fastest(const tsr_bench_lines *lines, int64_t first, int64_t end)
{
    double most = 1e-9;
    for (int64_t k = first; k < end; k++) {
        most = lines->line[k].result.ms > 0 ? fmax(most, gflops(&lines->line[k])) : most;
    }
    return most;
}

/* Is its bound in the picture, which ends with the fastest of the case? */
static bool is_marked(const tsr_bench_line *line, double most)
{
    return line->result.ms > 0 && bound(line) <= most;
}

static bool any_mark(const tsr_bench_lines *lines)
{
    double most = 0;
    for (int64_t k = 0; k < lines->count; k++) {
        most = is_new_case(lines, k) ? fastest(lines, k, end_of_case(lines, k)) : most;
        if (is_marked(&lines->line[k], most)) {
            return true;
        }
    }
    return false;
}

static void draw_line(const tsr_plot *plot, const tsr_bench_line *line, const tsr_bench_line *peer, double most, double y)
{
    tsr_plot_text(plot, LEFT - 10, y + 15, "number", "%s", words_of(line->result.route));
    if (line->result.ms <= 0) {
        tsr_plot_text(plot, LEFT, y + 15, "soft", "%s", line->result.note);
        return;
    }
    const double length = BAR_ROOM * gflops(line) / most, limit = is_marked(line, most) ? BAR_ROOM * bound(line) / most : 0;
    tsr_plot_bar(plot, LEFT, y + 3, length, LINE_HEIGHT - 8, class_of(line));
    if (limit > 0) {
        tsr_plot_line(plot, LEFT + limit, y + 1, LEFT + limit, y + LINE_HEIGHT - 3, "mark");
    }
    tsr_plot_text(plot, LEFT + fmax(length, limit) + 8, y + 15, "soft", "%.3g GFLOP/s, %.3g ms", gflops(line), line->result.ms);
    if (peer && line != peer) {
        const double ratio = peer->result.ms / line->result.ms;
        tsr_plot_text(plot, WIDTH - 16, y + 15, ratio >= 1.05 ? "good number" : ratio < 0.95 ? "bad number" : "number", "%.2f×", ratio);
    }
}

/* One product: where the next one begins. */
static double draw_case(const tsr_plot *plot, const tsr_bench_lines *lines, int64_t first, int64_t end, double y)
{
    const double most = fastest(lines, first, end);
    draw_title(plot, &lines->line[first], y + 18);
    const tsr_bench_line *peer = peer_of(lines, first, end);
    for (int64_t k = first; k < end; k++) {
        draw_line(plot, &lines->line[k], peer, most, y + TITLE_HEIGHT + (double)(k - first) * LINE_HEIGHT);
    }
    return y + TITLE_HEIGHT + (double)(end - first) * LINE_HEIGHT + GAP;
}

static double height_of(const tsr_bench_lines *lines)
{
    double height = TOP + BOTTOM;
    for (int64_t k = 0; k < lines->count; k = end_of_case(lines, k)) {
        height += TITLE_HEIGHT + (double)(end_of_case(lines, k) - k) * LINE_HEIGHT + GAP;
    }
    return height;
}

int tsr_bench_plot(const tsr_bench_machine *machine, const tsr_bench_lines *lines, const char *path)
{
    tsr_plot plot;
    const double height = height_of(lines);
    double y = TOP;
    int code = tsr_plot_begin(&plot, path, WIDTH, height, "Products on every route: GFLOP/s, milliseconds, times as fast as SuiteSparse");
    if (code != 0) {
        return code;
    }
    tsr_plot_text(&plot, 16, 30, "title", "Speed of each route");
    tsr_plot_text(&plot, 16, 50, "soft", "%d thread%s, memory %.0f GB/s%s%s", machine->threads,
                  machine->threads == 1 ? "" : "s", machine->host_gbs, machine->gpu ? "; GPU: " : "", machine->device);
    if (machine->suitesparse) {
        tsr_plot_text(&plot, WIDTH - 16, 50, "soft number", "times as fast as SuiteSparse");
    }
    for (int64_t k = 0; k < lines->count; k = end_of_case(lines, k)) {
        y = draw_case(&plot, lines, k, end_of_case(lines, k), y);
    }
    tsr_plot_text(&plot, 16, height - 14, "soft", "Longer is faster%s", !any_mark(lines) ? "." :
                  "; | is what passing operands and result once through the memory, or the bus, allows.");
    return tsr_plot_end(&plot);
}
