/* What was measured, as a picture.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tools/tessera/bench.h"
#include "tools/tessera/plot.h"

static const char *colour_of(int route)
{
    static const char *const colours[] = {TSR_PLOT_GREY, TSR_PLOT_CUDA, "#000000", TSR_PLOT_TENSOR, "#92c5de", "#1b9e77",
                                          "#e7298a",     "#7570b3",     "#a6761d", "#66a61e",       "#e6ab02"};
    return colours[(size_t)route % (sizeof colours / sizeof *colours)];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double gflops(const tsr_bench_line *line)
{
    return line->flops / line->result.ms * 1e-6;
}

static bool is_new_case(const tsr_bench_lines *lines, int64_t k)
{
    const tsr_bench_line *a = &lines->line[k], *b = a - 1;
    return k == 0 || strcmp(a->file, b->file) != 0 || a->op != b->op || a->math != b->math || a->n != b->n;
}

/* "name spmm 32 fp64": the file without its ending, at most 16 letters. */
static void print_label(const tsr_plot *plot, const tsr_bench_line *line)
{
    char width[24] = "", label[96];
    const char *name = base_name(line->file);
    int length = (int)strcspn(name, ".");
    if (line->op == TSR_BENCH_SPMM || line->op == TSR_BENCH_SDDMM) {
        snprintf(width, sizeof width, " %lld", (long long)line->n);
    }
    const char *math = line->math == TSR_BENCH_EXACT ? "" : tsr_bench_math_names[line->math];
    snprintf(label, sizeof label, "%.*s %s%s%s%s", length < 16 ? length : 16, name, tsr_bench_op_names[line->op], width, *math ? " " : "",
             math);
    tsr_plot_text(plot, label);
}

/* A block per route: its place among the cases, the case, GFLOP/s, flops per compulsory byte.  Returns the number of cases. */
static int print_blocks(const tsr_plot *plot, const tsr_bench_lines *lines, bool used[TSR_BENCH_ROUTES])
{
    int cases = 0;
    for (int r = 0; r < TSR_BENCH_ROUTES; r++) {
        fprintf(plot->script, "$route%d << EOD\n", r);
        cases = 0;
        for (int64_t k = 0; k < lines->count; k++) {
            const tsr_bench_line *line = &lines->line[k];
            cases += is_new_case(lines, k);
            if (line->result.route == &tsr_bench_routes[r] && line->result.ms > 0) {
                fprintf(plot->script, "%d %g %g\n", cases - 1, gflops(line), line->flops / line->compulsory_bytes);
                used[r] = true;
            }
        }
        fputs("EOD\n", plot->script);
    }
    return cases;
}

static void print_tics(const tsr_plot *plot, const tsr_bench_lines *lines)
{
    int cases = 0;
    fputs("set xtics (", plot->script);
    for (int64_t k = 0; k < lines->count; k++) {
        if (is_new_case(lines, k)) {
            fputs(k ? ", " : "", plot->script);
            print_label(plot, &lines->line[k]);
            fprintf(plot->script, " %d", cases++);
        }
    }
    fputs(") rotate by -65 noenhanced\n", plot->script);
}

static void plot_bars(const tsr_plot *plot, const bool used[TSR_BENCH_ROUTES], int cases)
{
    int count = 0, place = 0;
    for (int r = 0; r < TSR_BENCH_ROUTES; r++) {
        count += used[r];
    }
    double width = 0.8 / (count > 0 ? count : 1);
    fprintf(plot->script, "set title 'GFLOP/s by route'\nset ylabel 'GFLOP/s'\nset yrange [0:*]\nset xrange [-0.6:%g]\n"
                          "set style fill solid\nset boxwidth %g\nset grid ytics lc rgb '#dddddd'\n"
                          "set key outside top center horizontal noenhanced\nplot ",
            cases - 0.4, 0.92 * width);
    for (int r = 0; r < TSR_BENCH_ROUTES; r++) {
        if (used[r]) {
            fprintf(plot->script, "%s$route%d using ($1 + %g):2 with boxes lc rgb '%s' title '%s'", place ? ", " : "", r,
                    (place + 0.5) * width - 0.4, colour_of(r), tsr_bench_routes[r].name);
            place++;
        }
    }
    fputs("\nreset\n", plot->script);
}

/* Each product at its flops per compulsory byte, under the line that the memory of the host allows. */
static void plot_roofline(const tsr_plot *plot, const tsr_bench_machine *machine, const bool used[TSR_BENCH_ROUTES])
{
    fprintf(plot->script,
            "set title 'roofline'\nset xlabel 'operations per byte of operands and result'\nset ylabel 'GFLOP/s'\nset logscale xy\n"
            "set grid lc rgb '#dddddd'\nset key outside right noenhanced\nset xrange [0.05:200]\n"
            "plot %g * x with lines lw 2 dt 2 lc rgb 'black' title 'memory of the host, %.0f GB/s'", machine->host_gbs, machine->host_gbs);
    for (int r = 0; r < TSR_BENCH_ROUTES; r++) {
        if (used[r]) {
            fprintf(plot->script, ", $route%d using 3:2 with points pt 7 ps 1.2 lc rgb '%s' title '%s'", r, colour_of(r),
                    tsr_bench_routes[r].name);
        }
    }
    fputs("\nreset\n", plot->script);
}

int tsr_bench_plot(const tsr_bench_machine *machine, const tsr_bench_lines *lines, const char *path)
{
    tsr_plot plot;
    bool used[TSR_BENCH_ROUTES] = {false};
    int code = tsr_plot_begin(&plot, path, 1400, 600);
    if (code != 0) {
        return code;
    }
    int cases = print_blocks(&plot, lines, used);
    fputs("set multiplot layout 1,2\n", plot.script);
    print_tics(&plot, lines);
    plot_bars(&plot, used, cases);
    plot_roofline(&plot, machine, used);
    fputs("unset multiplot\n", plot.script);
    return tsr_plot_end(&plot);
}
