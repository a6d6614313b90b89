/* Preprocessed at build time: the prototypes that get wrappers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
