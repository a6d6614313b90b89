! The Fortran module: the product of two sparse matrices, its pattern first, then its values, then those of changed operands.
! SPDX-License-Identifier: Apache-2.0
program walks_of_two_steps
  use tessera
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), parameter :: vertices = 3
  ! 1 -> 2, 1 -> 3, 2 -> 3; indices count from 1.
  integer(c_int32_t), target :: offsets(vertices + 1) = [1, 3, 4, 4], heads(3) = [2, 3, 3]
  real(c_double), target :: lengths(3) = [2, 5, 3]
  integer(c_int64_t), allocatable, target :: walk_offsets(:), walk_heads(:)
  real(c_double), allocatable, target :: products(:)
  integer(c_int64_t) :: nrows, ncols, entries
  type(tsr_arrays) :: arrays
  type(c_ptr) :: graph, plan, walks

  arrays%offsets = c_loc(offsets)
  arrays%indices = c_loc(heads)
  arrays%values = c_loc(lengths)
  arrays%index_base = 1
  call must(tsr_sparse_create_csr(graph, vertices, vertices, arrays, 0))
  call must(tsr_spgemm_plan_create(plan, tsr_default_semiring(TSR_FP64), graph, graph, 0))
  call must(tsr_spgemm_plan_size(plan, nrows, ncols, entries))
  allocate (walk_offsets(nrows + 1), walk_heads(entries), products(entries))
  call must(tsr_spgemm_execute(plan, TSR_INDEX_64, c_loc(walk_offsets), c_loc(walk_heads), c_loc(products)))
  print '(a, i0, a, f4.1)', '1 -> ', walk_heads(1) + 1, ': ', products(1) ! C's indices count from 0
  if (entries /= 1 .or. walk_heads(1) /= 2 .or. abs(products(1) - 6) > 0) error stop 'product'

  lengths(1) = 7
  call must(tsr_sparse_values_changed(graph))
  call must(tsr_spgemm_execute_values(plan, c_loc(products)))
  if (abs(products(1) - 21) > 0) error stop 'changed values'

  call must(tsr_spgemm_execute_new(plan, walks)) ! as a matrix
  call must(tsr_sparse_size(walks, nrows, ncols, entries))
  if (nrows /= vertices .or. entries /= 1) error stop 'a new matrix'
  call tsr_sparse_destroy(walks)
  call tsr_spgemm_plan_destroy(plan)
  call tsr_sparse_destroy(graph)

contains

  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status == TSR_OK) return
    print '(a)', tsr_last_error()
    error stop
  end subroutine must
end program walks_of_two_steps
