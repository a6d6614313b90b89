/* Names of operators, for the trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/elementwise/elementwise.h"

const char *tsr_ewise_name(tsr_ewise_op op)
{
    static const char *const text[TSR_EWISE_COUNT] = {
        [TSR_EWISE_IDENTITY] = "identity", [TSR_EWISE_AINV] = "ainv", [TSR_EWISE_MINV] = "minv", [TSR_EWISE_ABS] = "abs",
        [TSR_EWISE_LNOT] = "lnot", [TSR_EWISE_ONE] = "one", [TSR_EWISE_SQRT] = "sqrt", [TSR_EWISE_FIRST] = "first",
        [TSR_EWISE_SECOND] = "second", [TSR_EWISE_PAIR] = "pair", [TSR_EWISE_PLUS] = "plus", [TSR_EWISE_MINUS] = "minus",
        [TSR_EWISE_RMINUS] = "rminus", [TSR_EWISE_TIMES] = "times", [TSR_EWISE_DIV] = "div", [TSR_EWISE_RDIV] = "rdiv",
        [TSR_EWISE_MIN] = "min", [TSR_EWISE_MAX] = "max", [TSR_EWISE_ISEQ] = "iseq", [TSR_EWISE_ISNE] = "isne",
        [TSR_EWISE_ISGT] = "isgt", [TSR_EWISE_ISLT] = "islt", [TSR_EWISE_ISGE] = "isge", [TSR_EWISE_ISLE] = "isle",
        [TSR_EWISE_LOR] = "lor", [TSR_EWISE_LAND] = "land", [TSR_EWISE_LXOR] = "lxor", [TSR_EWISE_EQ] = "eq",
        [TSR_EWISE_NE] = "ne", [TSR_EWISE_GT] = "gt", [TSR_EWISE_LT] = "lt", [TSR_EWISE_GE] = "ge", [TSR_EWISE_LE] = "le"};
    return text[op];
}
