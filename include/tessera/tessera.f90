! Fortran 2003 over tessera.h.  Compile this file with your compiler, then `use tessera`.  Functions, arguments and errors are those of
! tessera.h, under the same names; indices and offsets of matrices start at 0, or at 1 where index_base is 1.  Fortran's arrays are TSR_COL_MAJOR.
! SPDX-License-Identifier: Apache-2.0
module tessera
  use, intrinsic :: iso_c_binding
  implicit none
  public

  enum, bind(c)
    enumerator :: TSR_OK = 0, TSR_INVALID_VALUE = -1, TSR_DIMENSION_MISMATCH = -2, TSR_OUT_OF_MEMORY = -3, TSR_NOT_SUPPORTED = -4, &
                  TSR_IO_ERROR = -5, TSR_INTERNAL_ERROR = -6
  end enum
  enum, bind(c)
    enumerator :: TSR_BOOL = 0, TSR_INT8, TSR_INT16, TSR_INT32, TSR_INT64, TSR_UINT8, TSR_UINT16, TSR_UINT32, TSR_UINT64, &
                  TSR_FP32, TSR_FP64
  end enum
  enum, bind(c)
    enumerator :: TSR_ADD_PLUS = 0, TSR_ADD_MIN, TSR_ADD_MAX, TSR_ADD_ANY, TSR_ADD_LOR
  end enum
  enum, bind(c)
    enumerator :: TSR_MUL_TIMES = 0, TSR_MUL_FIRST, TSR_MUL_SECOND, TSR_MUL_PAIR, TSR_MUL_PLUS, TSR_MUL_AND
  end enum
  enum, bind(c)
    enumerator :: TSR_PRECISION_EXACT = 0, TSR_PRECISION_TF32, TSR_PRECISION_BF16, TSR_PRECISION_FP16
  end enum
  enum, bind(c)
    enumerator :: TSR_OP_SPMM = 0, TSR_OP_SPMV, TSR_OP_SDDMM, TSR_OP_MASKED_DOT
  end enum
  enum, bind(c)
    enumerator :: TSR_ROW_MAJOR = 0, TSR_COL_MAJOR
  end enum
  enum, bind(c)
    enumerator :: TSR_MEMORY_HOST = 0, TSR_MEMORY_DEVICE
  end enum
  enum, bind(c)
    enumerator :: TSR_INDEX_32 = 0, TSR_INDEX_64
  end enum
  enum, bind(c) ! flags of tsr_sparse_create_csr and _csc
    enumerator :: TSR_COPY = 1, TSR_UNCHECKED = 2
  end enum
  enum, bind(c) ! types of operands only
    enumerator :: TSR_FP16 = 11, TSR_BF16
  end enum
  enum, bind(c) ! complex(c_float_complex) and complex(c_double_complex)
    enumerator :: TSR_FC32 = 13, TSR_FC64
  end enum
  enum, bind(c)
    enumerator :: TSR_ACTIVATION_NONE = 0, TSR_ACTIVATION_RELU
  end enum
  enum, bind(c) ! flag of tsr_attention_plan_create: TSR_ATTENTION_BACKWARD, which is the function's name here
    enumerator :: TSR_ATTENTION_KEEP_BACKWARD = 1
  end enum
  enum, bind(c) ! flags of tsr_plan_create
    enumerator :: TSR_TRANSPOSE_A = 1, TSR_SOFTMAX_ROWS = 2, TSR_BOUNDED_B = 4, TSR_CONJUGATE_A = 8
  end enum

  enum, bind(c) ! flags of tsr_spgemm_plan_create
    enumerator :: TSR_SPGEMM_TRANSPOSE_A = 1, TSR_SPGEMM_TRANSPOSE_B = 2, TSR_SPGEMM_BY_COLUMN = 4, TSR_SPGEMM_CONJUGATE_A = 8, &
                  TSR_SPGEMM_CONJUGATE_B = 16
  end enum

  type, bind(c) :: tsr_semiring
    integer(c_int) :: type, add, mul
  end type tsr_semiring

  type, bind(c) :: tsr_dense
    type(c_ptr) :: data = c_null_ptr
    integer(c_int) :: type = TSR_FP64, layout = TSR_COL_MAJOR
    integer(c_int64_t) :: nrows = 0, ncols = 0, ld = 0
    integer(c_int) :: memory = TSR_MEMORY_HOST
  end type tsr_dense

  type, bind(c) :: tsr_arrays
    integer(c_int) :: index_type = TSR_INDEX_32
    type(c_ptr) :: offsets = c_null_ptr, indices = c_null_ptr
    integer(c_int) :: type = TSR_FP64
    type(c_ptr) :: values = c_null_ptr
    integer(c_int) :: memory = TSR_MEMORY_HOST
    integer(c_int) :: index_base = 0
  end type tsr_arrays

  type, bind(c) :: tsr_coordinates
    integer(c_int) :: index_type = TSR_INDEX_32
    integer(c_int64_t) :: nvals = 0
    type(c_ptr) :: rows = c_null_ptr, columns = c_null_ptr
    integer(c_int) :: type = TSR_FP64
    type(c_ptr) :: values = c_null_ptr
    integer(c_int) :: memory = TSR_MEMORY_HOST
    integer(c_int) :: index_base = 0
  end type tsr_coordinates

  type, bind(c) :: tsr_blocks
    integer(c_int) :: index_type = TSR_INDEX_32
    integer(c_int64_t) :: height = 1, width = 1
    type(c_ptr) :: offsets = c_null_ptr, indices = c_null_ptr
    integer(c_int) :: type = TSR_FP64
    type(c_ptr) :: values = c_null_ptr
    integer(c_int) :: layout = TSR_COL_MAJOR
    integer(c_int) :: memory = TSR_MEMORY_HOST
    integer(c_int) :: index_base = 0
  end type tsr_blocks

  type, bind(c) :: tsr_complex
    real(c_double) :: re = 0, im = 0
  end type tsr_complex

  type, bind(c) :: tsr_epilogue
    type(c_ptr) :: bias = c_null_ptr
    integer(c_int) :: activation = TSR_ACTIVATION_NONE
  end type tsr_epilogue

  type, bind(c) :: tsr_batch
    integer(c_int64_t) :: count = 0, values_stride = 0, first_stride = 0, second_stride = 0
  end type tsr_batch

  type, bind(c) :: tsr_heads ! tessera/attention.h
    type(c_ptr) :: data = c_null_ptr
    integer(c_int) :: type = TSR_FP32
    integer(c_int64_t) :: rows = 0, heads = 1, width = 0, ld = 0, head_stride = 0
    integer(c_int) :: memory = TSR_MEMORY_HOST
  end type tsr_heads

  interface
    integer(c_int) function tsr_sparse_create_csr(a, nrows, ncols, arrays, flags) bind(c)
      import
      type(c_ptr), intent(out) :: a
      integer(c_int64_t), value :: nrows, ncols
      type(tsr_arrays), intent(in) :: arrays
      integer(c_int), value :: flags
    end function

    integer(c_int) function tsr_sparse_create_csc(a, nrows, ncols, arrays, flags) bind(c)
      import
      type(c_ptr), intent(out) :: a
      integer(c_int64_t), value :: nrows, ncols
      type(tsr_arrays), intent(in) :: arrays
      integer(c_int), value :: flags
    end function

    integer(c_int) function tsr_sparse_create_coo(a, nrows, ncols, entries) bind(c)
      import
      type(c_ptr), intent(out) :: a
      integer(c_int64_t), value :: nrows, ncols
      type(tsr_coordinates), intent(in) :: entries
    end function

    integer(c_int) function tsr_sparse_create_bsr(a, nrows, ncols, blocks) bind(c)
      import
      type(c_ptr), intent(out) :: a
      integer(c_int64_t), value :: nrows, ncols
      type(tsr_blocks), intent(in) :: blocks
    end function

    integer(c_int) function tsr_sparse_size(a, nrows, ncols, nvals) bind(c)
      import
      type(c_ptr), value :: a
      integer(c_int64_t), intent(out) :: nrows, ncols, nvals
    end function

    integer(c_int) function tsr_sparse_values_changed(a) bind(c)
      import
      type(c_ptr), value :: a
    end function

    integer(c_int) function tsr_sparse_set_values(a, values) bind(c)
      import
      type(c_ptr), value :: a, values
    end function

    integer(c_int) function tsr_sparse_hint(a, op, n, expected_calls, precision, deterministic) bind(c)
      import
      type(c_ptr), value :: a
      integer(c_int), value :: op, precision
      integer(c_int64_t), value :: n
      real(c_double), value :: expected_calls
      logical(c_bool), value :: deterministic
    end function

    subroutine tsr_sparse_destroy(a) bind(c)
      import
      type(c_ptr), value :: a
    end subroutine

    type(tsr_semiring) function tsr_default_semiring(type) bind(c)
      import
      integer(c_int), value :: type
    end function

    integer(c_int) function tsr_plan_create(plan, op, semiring, a, first, second, flags) bind(c)
      import
      type(c_ptr), intent(out) :: plan
      integer(c_int), value :: op, flags
      type(tsr_semiring), value :: semiring
      type(c_ptr), value :: a
      type(tsr_dense), intent(in) :: first, second
    end function

    logical(c_bool) function tsr_plan_is_asynchronous(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    integer(c_size_t) function tsr_plan_workspace_bytes(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    integer(c_int) function tsr_plan_set_workspace(plan, workspace, bytes) bind(c)
      import
      type(c_ptr), value :: plan, workspace
      integer(c_size_t), value :: bytes
    end function

    type(c_ptr) function tsr_plan_explain(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    subroutine tsr_plan_destroy(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine

    integer(c_int) function tsr_execute(plan, alpha, a, b, beta, c, stream) bind(c)
      import
      type(c_ptr), value :: plan, a, stream
      real(c_double), value :: alpha, beta
      type(tsr_dense), intent(in) :: b, c
    end function

    integer(c_int) function tsr_execute_complex(plan, alpha, a, b, beta, c, stream) bind(c)
      import
      type(c_ptr), value :: plan, a, stream
      type(tsr_complex), value :: alpha, beta
      type(tsr_dense), intent(in) :: b, c
    end function

    integer(c_int) function tsr_execute_fused(plan, alpha, a, b, beta, c, epilogue, stream) bind(c)
      import
      type(c_ptr), value :: plan, a, stream
      real(c_double), value :: alpha, beta
      type(tsr_dense), intent(in) :: b, c
      type(tsr_epilogue), intent(in) :: epilogue
    end function

    integer(c_int) function tsr_execute_batch(plan, alpha, a, b, beta, c, batch, stream) bind(c)
      import
      type(c_ptr), value :: plan, a, stream
      real(c_double), value :: alpha, beta
      type(tsr_dense), intent(in) :: b, c
      type(tsr_batch), intent(in) :: batch
    end function

    integer(c_int) function tsr_execute_sddmm_batch(plan, alpha, x, y, beta, s, values, batch, stream) bind(c)
      import
      type(c_ptr), value :: plan, s, values, stream
      real(c_double), value :: alpha, beta
      type(tsr_dense), intent(in) :: x, y
      type(tsr_batch), intent(in) :: batch
    end function

    integer(c_int) function tsr_plan_save_c(plan, path) bind(c, name='tsr_plan_save')
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function tsr_plan_load_c(plan, a, path) bind(c, name='tsr_plan_load')
      import
      type(c_ptr), intent(out) :: plan
      type(c_ptr), value :: a
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function tsr_execute_sddmm(plan, alpha, x, y, beta, s, values, stream) bind(c)
      import
      type(c_ptr), value :: plan, s, values, stream
      real(c_double), value :: alpha, beta
      type(tsr_dense), intent(in) :: x, y
    end function

    integer(c_int) function tsr_spgemm_plan_create(plan, semiring, a, b, flags) bind(c)
      import
      type(c_ptr), intent(out) :: plan
      type(tsr_semiring), value :: semiring
      type(c_ptr), value :: a, b
      integer(c_int), value :: flags
    end function

    integer(c_int) function tsr_spgemm_plan_size(plan, nrows, ncols, nvals) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(out) :: nrows, ncols, nvals
    end function

    real(c_double) function tsr_spgemm_plan_work(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    type(c_ptr) function tsr_spgemm_plan_explain(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    ! Offsets and indices of C count from 0.
    integer(c_int) function tsr_spgemm_execute(plan, index_type, offsets, indices, values) bind(c)
      import
      type(c_ptr), value :: plan, offsets, indices, values
      integer(c_int), value :: index_type
    end function

    integer(c_int) function tsr_spgemm_execute_values(plan, values) bind(c)
      import
      type(c_ptr), value :: plan, values
    end function

    integer(c_int) function tsr_spgemm_execute_device(plan, index_type, offsets, indices, values, stream) bind(c)
      import
      type(c_ptr), value :: plan, offsets, indices, values, stream
      integer(c_int), value :: index_type
    end function

    integer(c_int) function tsr_spgemm_plan_pattern(plan, index_type, offsets, indices) bind(c)
      import
      type(c_ptr), value :: plan, offsets, indices
      integer(c_int), value :: index_type
    end function

    integer(c_int) function tsr_spgemm_execute_new(plan, c) bind(c)
      import
      type(c_ptr), value :: plan
      type(c_ptr), intent(out) :: c
    end function

    subroutine tsr_spgemm_plan_destroy(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine

    integer(c_int) function tsr_sparse_row_order(a, order) bind(c)
      import
      type(c_ptr), value :: a, order
    end function

    integer(c_int) function tsr_sparse_cut_rows(a, order, parts, begins) bind(c)
      import
      type(c_ptr), value :: a, order, begins
      integer(c_int64_t), value :: parts
    end function

    integer(c_size_t) function tsr_plan_bytes(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    real(c_double) function tsr_plan_predicted_ms(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    ! log: c_funloc of a bind(c) subroutine (context, message), both type(c_ptr), value; c_null_funptr: stderr again.
    subroutine tsr_set_log(log, context) bind(c)
      import
      type(c_funptr), value :: log
      type(c_ptr), value :: context
    end subroutine

    logical(c_bool) function tsr_attention_plan_is_asynchronous(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    integer(c_int) function tsr_attention_plan_create(plan, s, q, k, v, o, flags) bind(c)
      import
      type(c_ptr), intent(out) :: plan
      type(c_ptr), value :: s
      type(tsr_heads), intent(in) :: q, k, v, o
      integer(c_int), value :: flags
    end function

    type(c_ptr) function tsr_attention_plan_explain(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function

    subroutine tsr_attention_plan_destroy(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine

    integer(c_int) function tsr_attention_execute(plan, scale, q, k, v, o, lse, stream) bind(c)
      import
      type(c_ptr), value :: plan, lse, stream
      real(c_double), value :: scale
      type(tsr_heads), intent(in) :: q, k, v, o
    end function

    ! grad_q, grad_k, grad_v: c_loc of a tsr_heads, or c_null_ptr.
    integer(c_int) function tsr_attention_backward(plan, scale, q, k, v, o, lse, grad_o, grad_q, grad_k, grad_v, &
                                                   stream) bind(c)
      import
      type(c_ptr), value :: plan, lse, grad_q, grad_k, grad_v, stream
      real(c_double), value :: scale
      type(tsr_heads), intent(in) :: q, k, v, o, grad_o
    end function

    integer(c_int) function tsr_set_threads(threads) bind(c)
      import
      integer(c_int), value :: threads
    end function

    integer(c_int) function tsr_set_option_c(name, value) bind(c, name='tsr_set_option')
      import
      character(kind=c_char), intent(in) :: name(*), value(*)
    end function

    type(c_ptr) function tsr_last_error_c() bind(c, name='tsr_last_error')
      import
    end function

    type(c_ptr) function tsr_version_c() bind(c, name='tsr_version')
      import
    end function

    integer(c_size_t) function tsr_length_c(text) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! A text of the library as a Fortran string.
  function tsr_text(text) result(string)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: k
    call c_f_pointer(text, letters, [tsr_length_c(text)])
    allocate (character(size(letters)) :: string)
    do k = 1, size(letters)
      string(k:k) = letters(k)
    end do
  end function tsr_text

  function tsr_last_error() result(string)
    character(:), allocatable :: string
    string = tsr_text(tsr_last_error_c())
  end function tsr_last_error

  function tsr_version() result(string)
    character(:), allocatable :: string
    string = tsr_text(tsr_version_c())
  end function tsr_version

  integer(c_int) function tsr_set_option(name, value)
    character(*), intent(in) :: name, value
    tsr_set_option = tsr_set_option_c(name // c_null_char, value // c_null_char)
  end function tsr_set_option

  integer(c_int) function tsr_plan_save(plan, path)
    type(c_ptr), intent(in) :: plan
    character(*), intent(in) :: path
    tsr_plan_save = tsr_plan_save_c(plan, path // c_null_char)
  end function tsr_plan_save

  integer(c_int) function tsr_plan_load(plan, a, path)
    type(c_ptr), intent(out) :: plan
    type(c_ptr), intent(in) :: a
    character(*), intent(in) :: path
    tsr_plan_load = tsr_plan_load_c(plan, a, path // c_null_char)
  end function tsr_plan_load

end module tessera
