! The Fortran module: averages over a cycle of six vertices, held by rows, by coordinates that count from 1, and as blocks; attention.
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
  integer :: v, k

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

  call average_listed()
  call average_tiled()
  call attend()
  if (tsr_set_threads(-1) /= TSR_INVALID_VALUE) error stop 'a wrong number of threads is taken'
  print '(a)', tsr_last_error()
  call tsr_plan_destroy(plan)
  call tsr_sparse_destroy(graph)
  if (any(abs(mean(3, :) - [6.0d0, 7.0d0, 8.0d0]) > 0)) error stop 'wrong'

contains

  ! The same average of another matrix.
  subroutine expect_average(a)
    type(c_ptr), intent(in) :: a
    real(c_double), target :: again(vertices, features)
    type(c_ptr) :: other
    out%data = c_loc(again)
    call must(tsr_plan_create(other, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), a, in, out, 0))
    call must(tsr_execute(other, 0.5d0, a, in, 0.0d0, out, c_null_ptr))
    call tsr_plan_destroy(other)
    call tsr_sparse_destroy(a)
    if (any(abs(again - mean) > 0)) error stop 'another average'
  end subroutine expect_average

  subroutine average_listed()
    integer(c_int32_t), target :: rows(12), columns(12)
    type(c_ptr) :: a
    rows = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    columns = neighbours + 1
    call must(tsr_sparse_create_coo(a, vertices, vertices, tsr_coordinates(nvals=12, rows=c_loc(rows), &
                                                                          columns=c_loc(columns), index_base=1)))
    call expect_average(a)
  end subroutine average_listed

  subroutine average_tiled()
    integer(c_int32_t), target :: starts(4) = [1, 4, 7, 10], columns(9) = [1, 2, 3, 1, 2, 3, 1, 2, 3]
    real(c_double), target :: blocks(2, 2, 9)
    integer :: r, c
    type(c_ptr) :: a
    blocks = 0
    do k = 0, 11
      r = k / 2
      c = neighbours(k + 1)
      blocks(1 + mod(r, 2), 1 + mod(c, 2), 1 + 3 * (r / 2) + c / 2) = 1
    end do
    call must(tsr_sparse_create_bsr(a, vertices, vertices, tsr_blocks(height=2, width=2, offsets=c_loc(starts), &
                                                                     indices=c_loc(columns), values=c_loc(blocks), index_base=1)))
    call expect_average(a)
  end subroutine average_tiled

  ! With scale 0 each vertex attends to its neighbours alike.  Numbers of a vertex are consecutive: features x vertices.
  subroutine attend()
    real(c_float), target :: x(features, vertices), o(features, vertices)
    type(tsr_heads) :: given, taken
    type(c_ptr) :: layer
    x = real(transpose(h), c_float)
    given = tsr_heads(data=c_loc(x), rows=vertices, width=features, ld=features, head_stride=features)
    taken = given
    taken%data = c_loc(o)
    call must(tsr_attention_plan_create(layer, graph, given, given, given, taken, 0))
    call must(tsr_attention_execute(layer, 0.0d0, given, given, given, taken, c_null_ptr, c_null_ptr))
    call tsr_attention_plan_destroy(layer)
    if (any(abs(o - transpose(mean)) > 1e-5)) error stop 'attention differs'
  end subroutine attend

  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status == TSR_OK) return
    print '(a)', tsr_last_error()
    error stop
  end subroutine must
end program cycle_of_six
