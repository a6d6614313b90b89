/* Sizes and names of the element types.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/types.h"

const char *tsr_type_name(tsr_type type)
{
    static const char *const names[] = {"bool",  "int8",   "int16",  "int32", "int64", "uint8",
                                                      "uint16", "uint32", "uint64", "fp32",  "fp64",   "fp16",  "bf16",
                                                      "fc32",   "fc64"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}
