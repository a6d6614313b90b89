/* The model that TESSERA_MODEL names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MODEL_FILE_H
#define TSR_MODEL_FILE_H

#include "src/policy/model/model.h"

/* Read once; NULL: none is named, or it was refused, which one line on stderr said.  Whether it is of the GPU at hand is for who knows
 * that GPU. */
const tsr_model *tsr_model_named(void);

/* Reads a file.  False: *why (static storage) says what is wrong; *model is unchanged. */
bool tsr_model_read(tsr_model *model, const char *path, const char **why);

#endif
