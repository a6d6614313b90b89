#!/usr/bin/env bash
# The layers of docs/architecture.md, checked by what files include.  SPDX-License-Identifier: Apache-2.0
set -u
cd "$(dirname "$0")/../.." || exit 1
status=0

# refuse PATTERN WHERE-IT-MAY-STAND MESSAGE
refuse() {
    local found
    found=$(grep -rlE --include='*.[ch]' --include='*.cu' --include='*.cuh' --include='*.py' "$1" \
        include src backends kernels test tools examples bench | grep -vE "$2")
    [ -z "$found" ] && return
    printf '%s:\n%s\n' "$3" "$found" >&2
    status=1
}

refuse '#[[:space:]]*include[[:space:]]*[<"]cuda' '^(backends|kernels|bench)/cuda/' "CUDA headers outside backends, kernels and bench/cuda"
refuse '#[[:space:]]*include[[:space:]]*[<"]GraphBLAS\.h' '^(src/graphblas|test|examples|bench)/' \
    "GraphBLAS.h outside src/graphblas, test, examples, bench"
refuse '#[[:space:]]*include[[:space:]]*"src/(graphblas|sparse_blas)/' '^(src/graphblas|src/sparse_blas|test)/' "a door included below it"
refuse '(tsr_[a-z]+ ?\(|[<"]tessera/)' '^(include|src|backends|kernels|test|tools|bench|examples/native|examples/graph\.c)' \
    "a Tessera call in an example that is to be plain GraphBLAS"
exit $status
