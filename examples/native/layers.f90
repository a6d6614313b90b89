! The Fortran module: a saved plan, a layer of a graph network with bias and ReLU, two products in one call, and complex numbers.
! SPDX-License-Identifier: Apache-2.0
program path_of_three
  use tessera
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int64_t), parameter :: vertices = 3, features = 2
  integer(c_int32_t), target :: offsets(vertices + 1) = [0, 1, 3, 4], neighbours(4) = [1, 0, 2, 1]
  real(c_double), target :: h(vertices, features, 2), sums(vertices, features, 2)
  type(tsr_arrays) :: arrays
  type(tsr_dense) :: in, out
  type(c_ptr) :: graph, plan

  h(:, 1, 1) = [1, 3, 5]
  h(:, 2, 1) = [2, 4, 6]
  h(:, :, 2) = 10 * h(:, :, 1)
  arrays%offsets = c_loc(offsets)
  arrays%indices = c_loc(neighbours) ! no values: every entry is 1
  call must(tsr_sparse_create_csr(graph, vertices, vertices, arrays, 0))
  in = tsr_dense(data=c_loc(h), nrows=vertices, ncols=features, ld=vertices)
  out = tsr_dense(data=c_loc(sums), nrows=vertices, ncols=features, ld=vertices)
  call must(tsr_plan_create(plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), graph, in, out, 0))
  call save_and_load()
  call layer()
  call batch()
  call sampled()
  call tsr_plan_destroy(plan)
  call tsr_sparse_destroy(graph)
  call turn()

contains

  subroutine save_and_load()
    character(*), parameter :: path = 'tessera-layers-f.plan'
    integer :: file
    call must(tsr_plan_save(plan, path))
    call tsr_plan_destroy(plan)
    call must(tsr_plan_load(plan, graph, path))
    open (newunit=file, file=path)
    close (file, status='delete')
  end subroutine save_and_load

  ! ReLU (A H + bias)
  subroutine layer()
    real(c_double), target :: bias(features) = [-5, 1]
    call must(tsr_execute_fused(plan, 1.0d0, graph, in, 0.0d0, out, tsr_epilogue(c_loc(bias), TSR_ACTIVATION_RELU), c_null_ptr))
    print '(a, 2f6.1)', 'vertex 2:', sums(2, :, 1)
    if (any(abs(sums(:, 1, 1) - [0, 1, 0]) > 0) .or. any(abs(sums(:, 2, 1) - [5, 9, 5]) > 0)) error stop 'layer'
  end subroutine layer

  ! A times two matrices that lie one after the other.
  subroutine batch()
    integer(c_int64_t), parameter :: stride = vertices * features
    call must(tsr_execute_batch(plan, 1.0d0, graph, in, 0.0d0, out, tsr_batch(2, 0, stride, stride), c_null_ptr))
    if (any(abs(sums(:, 1, 1) - [3, 6, 3]) > 0) .or. any(abs(sums(:, :, 2) - 10 * sums(:, :, 1)) > 0)) error stop 'batch'
  end subroutine batch

  ! The scalar product of the features of each edge's ends, for both.
  subroutine sampled()
    integer(c_int64_t), parameter :: stride = vertices * features
    real(c_double), target :: values(4, 2), turned(features, vertices, 2)
    type(tsr_dense) :: y
    type(c_ptr) :: other
    turned(:, :, 1) = transpose(h(:, :, 1))
    turned(:, :, 2) = transpose(h(:, :, 2))
    y = tsr_dense(data=c_loc(turned), nrows=features, ncols=vertices, ld=features)
    call must(tsr_plan_create(other, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP64), graph, in, y, 0))
    call must(tsr_execute_sddmm_batch(other, 1.0d0, in, y, 0.0d0, graph, c_loc(values), tsr_batch(2, 4, stride, stride), &
                                      c_null_ptr))
    call tsr_plan_destroy(other)
    if (any(abs(values(1, :) - [11, 1100]) > 0)) error stop 'sampled'
  end subroutine sampled

  ! i times the conjugate transpose
  subroutine turn()
    complex(c_float_complex), target :: values(4) = [(0, 1), (1, 1), (2, 0), (0, -1)]
    complex(c_float_complex), target :: x(vertices) = [(1, 0), (1, 0), (1, 0)], y(vertices)
    type(c_ptr) :: a, product
    arrays%type = TSR_FC32
    arrays%values = c_loc(values)
    call must(tsr_sparse_create_csr(a, vertices, vertices, arrays, 0))
    in = tsr_dense(data=c_loc(x), type=TSR_FC32, nrows=vertices, ncols=1_c_int64_t, ld=vertices)
    out = tsr_dense(data=c_loc(y), type=TSR_FC32, nrows=vertices, ncols=1_c_int64_t, ld=vertices)
    call must(tsr_plan_create(product, TSR_OP_SPMV, tsr_default_semiring(TSR_FC32), a, in, out, TSR_TRANSPOSE_A + TSR_CONJUGATE_A))
    call must(tsr_execute_complex(product, tsr_complex(0, 1), a, in, tsr_complex(0, 0), out, c_null_ptr))
    call tsr_plan_destroy(product)
    call tsr_sparse_destroy(a)
    print '(a, 2f5.1)', 'y:', y(1)
    if (any(abs(y - [(1, 1), (0, 0), (0, 2)]) > 0)) error stop 'turn'
  end subroutine turn

  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status == TSR_OK) return
    print '(a)', tsr_last_error()
    error stop
  end subroutine must
end program path_of_three
