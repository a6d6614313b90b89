/* What was measured, as a table and as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tools/tessera/common/tool.h"

bool tsr_bench_add(tsr_bench_lines *lines, const tsr_bench_case *c, int64_t nvals, const tsr_bench_result *result)
{
    if (lines->count == lines->room) {
        int64_t room = lines->room ? 2 * lines->room : 64;
        tsr_bench_line *bigger = realloc(lines->line, (size_t)room * sizeof *bigger);
        if (!bigger) {
            return false;
        }
        lines->line = bigger;
        lines->room = room;
    }
    const tsr_product *p = &c->product;
    tsr_bench_line *line = &lines->line[lines->count++];
    *line = (tsr_bench_line){.op = c->op, .math = c->math, .nrows = p->m, .ncols = c->op == TSR_BENCH_SDDMM ? p->n : p->k, .nvals = nvals,
                             .n = c->op == TSR_BENCH_SDDMM ? p->k : p->n, .flops = c->flops, .compulsory_bytes = c->compulsory_bytes,
                             .result = *result};
    snprintf(line->file, sizeof line->file, "%s", c->file);
    return true;
}

static bool same_case(const tsr_bench_line *a, const tsr_bench_line *b)
{
    return strcmp(a->file, b->file) == 0 && a->op == b->op && a->math == b->math && a->n == b->n;
}

static double gflops(const tsr_bench_line *line)
{
    return line->result.ms > 0 ? line->flops / line->result.ms * 1e-6 : 0;
}

/* ---- text ---- */

static void print_title(const tsr_bench_line *line)
{
    printf("\n%s: %s", line->file, tsr_bench_op_names[line->op]);
    if (line->op == TSR_BENCH_TRIANGLES) {
        printf(" (plus_pair int64)");
    } else {
        printf(" %s, N = %lld", tsr_bench_math_names[line->math], (long long)line->n);
    }
    printf(", %lld x %lld, %lld entries\n", (long long)line->nrows, (long long)line->ncols, (long long)line->nvals);
    printf("  %-14s %12s %8s %10s %10s %9s %9s %13s  %s\n", "route", "median ms", "spread", "GFLOP/s", "once ms", "of bound", "error",
           "on device ms", "");
}

static void print_line(const tsr_bench_line *line)
{
    const tsr_bench_result *r = &line->result;
    if (r->ms < 0) {
        printf("  %-14s %12s %8s %10s %10s %9s %9s %13s  %s\n", r->route->name, "-", "", "", "", "", "", "", r->note);
        return;
    }
    char on_device[24] = "-";
    if (r->device_ms >= 0) {
        snprintf(on_device, sizeof on_device, "%.4g", r->device_ms);
    }
    printf("  %-14s %12.4g %7.1f%% %10.4g %10.4g %8.1f%% %9.1e %13s  %s\n", r->route->name, r->ms, 100 * r->spread, gflops(line),
           r->convert_ms, 100 * r->bound_ms / r->ms, r->error, on_device, r->note);
}

static const char *version_of(const tsr_peer *peer, const char *otherwise)
{
    return peer ? peer->version : otherwise;
}

void tsr_bench_print_text(const tsr_bench_machine *machine, const tsr_bench_lines *lines)
{
    printf("%d threads (%s), memory %.1f GB/s; SuiteSparse:GraphBLAS %s; GPU %s; cuSPARSE %s\n", machine->threads,
           tsr_isa_name(tsr_cpu_isa()), machine->host_gbs, version_of(machine->suitesparse, "not found"),
           machine->gpu ? machine->device : "none", version_of(machine->cusparse, machine->gpu ? "not found" : "-"));
    for (int64_t k = 0; k < lines->count; k++) {
        if (k == 0 || !same_case(&lines->line[k], &lines->line[k - 1])) {
            print_title(&lines->line[k]);
        }
        print_line(&lines->line[k]);
    }
}

/* ---- JSON ---- */

static void print_object(const tsr_bench_line *line)
{
    const tsr_bench_result *r = &line->result;
    fputs("{\"file\": ", stdout);
    tsr_tool_json_string(stdout, line->file);
    printf(", \"nrows\": %lld, \"ncols\": %lld, \"nvals\": %lld, \"op\": \"%s\", \"n\": %lld, \"precision\": \"%s\", \"route\": \"%s\"",
           (long long)line->nrows, (long long)line->ncols, (long long)line->nvals, tsr_bench_op_names[line->op], (long long)line->n,
           tsr_bench_math_names[line->math], r->route->name);
    if (r->ms < 0) {
        printf(", \"ms\": null, \"note\": \"%s\"}", r->note);
        return;
    }
    printf(", \"ms\": %.6g, \"spread\": %.4g, \"repeats\": %d, \"gflops\": %.6g, \"convert_ms\": %.6g, \"bound_ms\": %.6g, "
           "\"error\": %.3g, ",
           r->ms, r->spread, r->repeats, gflops(line), r->convert_ms, r->bound_ms, r->error);
    if (r->device_ms >= 0) {
        printf("\"device_ms\": %.6g, ", r->device_ms);
    }
    printf("\"kernel\": \"%s\"}", r->note);
}

void tsr_bench_print_json(const tsr_bench_machine *machine, const tsr_bench_lines *lines)
{
    printf("{\"threads\": %d, \"cpu_isa\": \"%s\", \"host_gbs\": %.4g, \"suitesparse\": ", machine->threads, tsr_isa_name(tsr_cpu_isa()),
           machine->host_gbs);
    tsr_tool_json_string(stdout, version_of(machine->suitesparse, ""));
    fputs(", \"cusparse\": ", stdout);
    tsr_tool_json_string(stdout, version_of(machine->cusparse, ""));
    fputs(", \"gpu\": ", stdout);
    tsr_tool_json_string(stdout, machine->device);
    fputs(", \"results\": [", stdout);
    for (int64_t k = 0; k < lines->count; k++) {
        fputs(k ? ",\n " : "\n ", stdout);
        print_object(&lines->line[k]);
    }
    puts("]}");
}
