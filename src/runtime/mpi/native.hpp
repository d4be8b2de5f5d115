#pragma once

#include <mpi.h>

/// The MPI library as resolved at run time. This library neither links MPI nor refers to its data,
/// so that it is harmless in processes without MPI. Only SMPI is linked, since it is a part of the
/// program, as is this library then (docs/decisions/0100-linked-into-simulated-programs.md).
namespace thalweg::runtime {

/// Whether ranks are simulated: they share one thread, and time passes only while one waits in the
/// MPI library.
#if defined(THALWEG_SIMULATED)
inline constexpr bool is_simulated = true;
inline constexpr const char* flavour = "smpi";
#else
inline constexpr bool is_simulated = false;
#if defined(OPEN_MPI)
inline constexpr const char* flavour = "openmpi";
#else
inline constexpr const char* flavour = "mpich";
#endif
#endif

// clang-format off
/// The functions that the runtime calls, always in their PMPI_ form, since the calls aren't the
/// program's.
#define THALWEG_NATIVE_FUNCTIONS(X)                                                                \
  X(Allgather) X(Allreduce) X(Bcast) X(Cancel) X(Cart_shift) X(Cartdim_get) X(Comm_call_errhandler) \
  X(Comm_compare) X(Comm_create) X(Comm_create_keyval) X(Comm_free) X(Comm_free_keyval)            \
  X(Comm_get_attr) X(Comm_get_parent) X(Comm_group) X(Comm_rank) X(Comm_remote_group)              \
  X(Comm_remote_size) X(Comm_set_attr)                                                             \
  X(Comm_set_errhandler) X(Comm_set_name) X(Comm_size) X(Comm_test_inter)                          \
  X(Dist_graph_neighbors) X(Dist_graph_neighbors_count) X(Get_library_version) X(Graph_neighbors)  \
  X(Graph_neighbors_count) X(Grequest_complete) X(Grequest_start)                                  \
  X(Group_free) X(Group_size) X(Group_translate_ranks) X(Iallgather) X(Iallgatherv) X(Iallreduce) X(Ibarrier) X(Ibcast) \
  X(Irecv) X(Ireduce) X(Isend) X(Op_commutative) X(Op_free) X(Pack) X(Query_thread) X(Recv_init)              \
  X(Reduce_local) X(Send) X(Sendrecv) X(Status_set_cancelled) X(Status_set_elements) X(Test)       \
  X(Testsome) X(Topo_test) X(Type_commit) X(Type_contiguous) X(Type_create_struct) X(Type_free)    \
  X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent)             \
  X(Type_size_x) X(Type_vector) X(Unpack) X(Wait) X(Waitany) X(Win_get_group)
// clang-format on

/// Handles that are addresses of data in Open MPI: X(member, type, Open MPI's symbol, MPI's name).
#define THALWEG_NATIVE_HANDLES(X)                                                                  \
  X(comm_world, MPI_Comm, ompi_mpi_comm_world, MPI_COMM_WORLD)                                     \
  X(comm_self, MPI_Comm, ompi_mpi_comm_self, MPI_COMM_SELF)                                        \
  X(comm_null, MPI_Comm, ompi_mpi_comm_null, MPI_COMM_NULL)                                        \
  X(byte, MPI_Datatype, ompi_mpi_byte, MPI_BYTE)                                                   \
  X(packed, MPI_Datatype, ompi_mpi_packed, MPI_PACKED)                                             \
  X(integer, MPI_Datatype, ompi_mpi_int, MPI_INT)                                                  \
  X(int64, MPI_Datatype, ompi_mpi_int64_t, MPI_INT64_T)                                            \
  X(uint64, MPI_Datatype, ompi_mpi_uint64_t, MPI_UINT64_T)                                         \
  X(datatype_null, MPI_Datatype, ompi_mpi_datatype_null, MPI_DATATYPE_NULL)                        \
  X(op_null, MPI_Op, ompi_mpi_op_null, MPI_OP_NULL)                                                \
  X(max, MPI_Op, ompi_mpi_op_max, MPI_MAX)                                                         \
  X(min, MPI_Op, ompi_mpi_op_min, MPI_MIN)                                                         \
  X(sum, MPI_Op, ompi_mpi_op_sum, MPI_SUM)                                                         \
  X(prod, MPI_Op, ompi_mpi_op_prod, MPI_PROD)                                                      \
  X(land, MPI_Op, ompi_mpi_op_land, MPI_LAND)                                                      \
  X(band, MPI_Op, ompi_mpi_op_band, MPI_BAND)                                                      \
  X(lor, MPI_Op, ompi_mpi_op_lor, MPI_LOR)                                                         \
  X(bor, MPI_Op, ompi_mpi_op_bor, MPI_BOR)                                                         \
  X(lxor, MPI_Op, ompi_mpi_op_lxor, MPI_LXOR)                                                      \
  X(bxor, MPI_Op, ompi_mpi_op_bxor, MPI_BXOR)                                                      \
  X(maxloc, MPI_Op, ompi_mpi_op_maxloc, MPI_MAXLOC)                                                \
  X(minloc, MPI_Op, ompi_mpi_op_minloc, MPI_MINLOC)                                                \
  X(replace, MPI_Op, ompi_mpi_op_replace, MPI_REPLACE)                                             \
  X(no_op, MPI_Op, ompi_mpi_op_no_op, MPI_NO_OP)                                                   \
  X(errors_return, MPI_Errhandler, ompi_mpi_errors_return, MPI_ERRORS_RETURN)                      \
  X(request_null, MPI_Request, ompi_request_null, MPI_REQUEST_NULL)

// NOLINTBEGIN(bugprone-macro-parentheses): neither a type nor a member's name can stand in any
struct Native {
#define THALWEG_MEMBER(name) decltype(&::MPI_##name) name = nullptr;
  THALWEG_NATIVE_FUNCTIONS(THALWEG_MEMBER)
#undef THALWEG_MEMBER
#define THALWEG_MEMBER(member, type, symbol, name) type member = {};
  THALWEG_NATIVE_HANDLES(THALWEG_MEMBER)
#undef THALWEG_MEMBER
  /// PMPI_Type_get_envelope_c: numbers of integers, addresses, large counts and datatypes, and the
  /// combiner. Null where the library has none.
  int (*type_get_envelope_c)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*,
                             int*) = nullptr;
  /// PMPIX_Comm_test_threadcomm. Null where the library has none.
  int (*comm_test_threadcomm)(MPI_Comm, int*) = nullptr;
};
// NOLINTEND(bugprone-macro-parentheses)

extern Native native;

/// Whether a communicator's ranks are threads (MPICH's MPIX_Threadcomm_init). Threads of a process
/// share its handle, but each is a rank of its own, and attributes that one sets are deleted when
/// that one leaves the communicator.
inline bool has_thread_ranks(MPI_Comm comm) {
  int found = 0;
  if (native.comm_test_threadcomm != nullptr) native.comm_test_threadcomm(comm, &found);
  return found != 0;
}

/// Fills `native`. Returns whether the process uses an MPI library of this flavour. Call it once,
/// in MPI_Init.
bool resolve_native();

/// Ends the process, which uses an MPI library with other handles than this library was made for.
[[noreturn]] void other_library();

/// Returns the next definition of `symbol` after this library's own, also in an MPI library that
/// was loaded outside the global scope (as a Python extension module does); nullptr if there is
/// none.
void* next_symbol(const char* symbol);

} // namespace thalweg::runtime
