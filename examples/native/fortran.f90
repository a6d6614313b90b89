! The Fortran module: averages over a cycle of six vertices.
! SPDX-License-Identifier: Apache-2.0
program cycle_of_six
  use tessera
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), parameter :: vertices = 6, features = 3
  integer(c_int32_t), target :: offsets(vertices + 1) = [0, 2, 4, 6, 8, 10, 12]
  integer(c_int32_t), target :: neighbours(12) = [1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 0, 4]
  real(c_double), target :: h(vertices, features), mean(vertices, features)
  type(tsr_arrays) :: arrays
  type(tsr_dense) :: in, out
  type(c_ptr) :: graph, plan
  integer :: v

  do v = 1, int(vertices)
    h(v, :) = [3 * v - 3, 3 * v - 2, 3 * v - 1]
  end do
  arrays%offsets = c_loc(offsets)
  arrays%indices = c_loc(neighbours) ! no values: every entry is 1
  call must(tsr_sparse_create_csr(graph, vertices, vertices, arrays, 0))
  in = tsr_dense(data=c_loc(h), nrows=vertices, ncols=features, ld=vertices)
  out = tsr_dense(data=c_loc(mean), nrows=vertices, ncols=features, ld=vertices)
  call must(tsr_plan_create(plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), graph, in, out, 0))
  print '(a)', tsr_text(tsr_plan_explain(plan))
  call must(tsr_execute(plan, 0.5d0, graph, in, 0.0d0, out, c_null_ptr))
  print '(a, 3f6.1)', 'vertex 2:', mean(3, :)

  if (tsr_set_threads(-1) /= TSR_INVALID_VALUE) error stop 'a wrong number of threads is taken'
  print '(a)', tsr_last_error()
  call tsr_plan_destroy(plan)
  call tsr_sparse_destroy(graph)
  if (any(abs(mean(3, :) - [6.0d0, 7.0d0, 8.0d0]) > 0)) error stop 'wrong'

contains

  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status == TSR_OK) return
    print '(a)', tsr_last_error()
    error stop
  end subroutine must
end program cycle_of_six
