#include "runtime/intercept/collectives.hpp"
#include "runtime/intercept/guard.hpp"
#include "runtime/intercept/messages.hpp"
#include "runtime/intercept/neighborhood.hpp"
#include "runtime/intercept/nonblocking.hpp"
#include "runtime/intercept/one_sided.hpp"
#include "runtime/intercept/persistent.hpp"
#include "runtime/setup/runtime.hpp"

#include <algorithm>
#include <iterator>

/// The MPI functions that the program, or a tool above, reaches instead of the library's own. MPI_X
/// forwards to the next MPI_X and PMPI_X to the next PMPI_X, so that tools below see forwarded
/// calls once. The lists of prototypes are in prototypes.def.
namespace thalweg::runtime {
namespace {

#if !defined(THALWEG_SIMULATED)
/// Stands for a function that the MPI library lacks. A program that refers to it weakly (mpi4py)
/// takes ours for the library's, and can deal with an error.
template <class Function>
struct Lacking;
template <class... Arguments>
struct Lacking<int (*)(Arguments...)> {
  static int call(Arguments... /*arguments*/) {
    if (native.Comm_call_errhandler == nullptr) other_library();
    native.Comm_call_errhandler(native.comm_world, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
  }
};

/// Returns the next definition of `symbol`, or else of `other`, its name in other releases.
template <class Function>
Function find_next(const char* symbol, const char* other) {
  void* next = next_symbol(symbol);
  if (next == nullptr) next = next_symbol(other);
  return next != nullptr ? reinterpret_cast<Function>(next) : &Lacking<Function>::call;
}
#endif

} // namespace
} // namespace thalweg::runtime

using namespace thalweg::runtime; // the names below are MPI's
using thalweg::collective::Kind;
using thalweg::collective::Neighborhood;

#if defined(THALWEG_SIMULATED)
// Linked into the program, this library has MPI_X, and PMPI_X is SMPI's.
#define THALWEG_NEXT(symbol, other) (&P##symbol)
#define THALWEG_BOTH(define, name, ...) define(MPI_##name, MPI_##name, __VA_ARGS__)
#else
#define THALWEG_NEXT(symbol, other) find_next<decltype(&(symbol))>(#symbol, #other)
/// Makes definitions of MPI_<name> and PMPI_<name>.
#define THALWEG_BOTH(define, name, ...)                                                            \
  define(MPI_##name, MPI_##name, __VA_ARGS__) define(PMPI_##name, PMPI_##name, __VA_ARGS__)
#endif
/// Defines an MPI function; `body` handles a call from outside, with `forward()` calling the next
/// definition.
#define THALWEG_DEFINE(name, ...) THALWEG_BOTH(THALWEG_DEFINE_SYMBOL, name, __VA_ARGS__)
/// @param other the function's name in releases that don't have `symbol`
#define THALWEG_DEFINE_SYMBOL(symbol, other, parameters, arguments, body)                          \
  THALWEG_FUNCTION(symbol, other, parameters, arguments, if (!guard.outermost()) return forward(); \
                   , body)
/// Defines a function whose `body` handles all calls, those inside others included: the program may
/// also free in callbacks of attributes what is known by its handle, which is used again, and start
/// there what only `body` can.
#define THALWEG_DEFINE_ALWAYS(name, parameters, arguments, body)                                   \
  THALWEG_BOTH(THALWEG_DEFINE_ALWAYS_SYMBOL, name, parameters, arguments, body)
#define THALWEG_DEFINE_ALWAYS_SYMBOL(symbol, other, parameters, arguments, body)                   \
  THALWEG_FUNCTION(symbol, other, parameters, arguments, , body)
#define THALWEG_FUNCTION(symbol, other, parameters, arguments, before, body)                       \
  extern "C" __attribute__((visibility("default"))) int symbol parameters {                        \
    static const auto next = THALWEG_NEXT(symbol, other);                                          \
    const auto forward = [&] { return next arguments; };                                           \
    Guard guard;                                                                                   \
    before const int code = [&] { return body; }();                                                \
    guard.leave();                                                                                 \
    return code;                                                                                   \
  }

namespace {

#define THALWEG_COLLECTIVE(name, its_kind, ...) Kind::its_kind,
constexpr Kind intercepted[] = {
    Kind::barrier,
#include "runtime/intercept/collectives.def"
};
#undef THALWEG_COLLECTIVE
static_assert(std::ranges::all_of(thalweg::collective::kinds,
                                  [](Kind kind) {
                                    return std::ranges::find(intercepted, kind) !=
                                           std::ranges::end(intercepted);
                                  }),
              "each kind of collective needs its MPI function in collectives.def");
#define THALWEG_NEIGHBORHOOD(name, which, ...) Neighborhood::which,
constexpr Neighborhood intercepted_neighborhoods[] = {
#include "runtime/intercept/neighborhoods.def"
};
#undef THALWEG_NEIGHBORHOOD
static_assert(
    [] {
      for (std::size_t i = 0; i < thalweg::collective::neighborhood_count; ++i)
        if (std::ranges::find(intercepted_neighborhoods, static_cast<Neighborhood>(i)) ==
            std::ranges::end(intercepted_neighborhoods))
          return false;
      return true;
    }(),
    "each collective of neighbourhoods needs its MPI function in neighborhoods.def");

} // namespace

/// Defines a collective; the arguments are followed by the members of its Call. They are captured
/// by value: references would keep them in memory.
#define THALWEG_COLLECTIVE(name, ...) THALWEG_COLLECTIVE_EXPANDED(name, __VA_ARGS__)
#define THALWEG_COLLECTIVE_EXPANDED(name, ...)                                                     \
  THALWEG_BOTH(THALWEG_COLLECTIVE_SYMBOL, name, __VA_ARGS__)
#define THALWEG_COLLECTIVE_SYMBOL(symbol, other, its_kind, parameters, arguments, ...)             \
  extern "C" __attribute__((visibility("default"))) int symbol parameters {                        \
    static const auto next = THALWEG_NEXT(symbol, other);                                          \
    Guard guard;                                                                                   \
    if (!guard.outermost()) return next arguments;                                                 \
    const int code = pass_or_execute(                                                              \
        comm, [=] { return Call{.kind = Kind::its_kind, __VA_ARGS__}; },                           \
        [=] { return next arguments; });                                                           \
    guard.leave();                                                                                 \
    return code;                                                                                   \
  }
/// Defines a neighbourhood's collective; the arguments are followed by the sides of its call.
#define THALWEG_NEIGHBORHOOD(name, which, parameters, arguments, ...)                              \
  THALWEG_DEFINE(                                                                                  \
      name, parameters, arguments,                                                                 \
      execute(NeighborhoodCall{Neighborhood::which, comm, __VA_ARGS__}, NativeCall(forward)))
/// Defines calls inside which the MPI library may use its own collectives.
#define THALWEG_GUARDS(name, parameters, arguments)                                                \
  THALWEG_DEFINE(name, parameters, arguments, forward())

namespace {

template <class Forward>
int initialise(const Forward& forward) {
  const int code = forward();
  if (code == MPI_SUCCESS) start(forget_persistent);
  return code;
}

template <class Forward>
int free_communicator(const Forward& forward, const MPI_Comm* comm) {
  if (comm != nullptr) leave(*comm);
  return forward();
}

/// In MPI_Finalize MPICH takes no locks any more. So the helper must not call it while the
/// program's callbacks do: what they start is done when its start returns.
template <class Forward>
int finalise(const Forward& forward) {
  if constexpr (is_simulated) end();
  if (const Runtime* const it = runtime; it != nullptr && it->helper != nullptr)
    it->helper->hold_up_callers(longest_settling_ns);
  return forward();
}

template <class Forward>
int free_request(const Forward& forward, const MPI_Request* request) {
  if (request != nullptr) {
    forget_persistent(*request);
    forget_message(*request);
  }
  return forward();
}

template <class Forward>
int counted(const Forward& forward, int to, MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  const int code = forward();
  if (code == MPI_SUCCESS) count_message({to, count, type, comm});
  return code;
}

template <class Forward>
int remembered(const Forward& forward, int to, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
               const MPI_Request* request) {
  const int code = forward();
  if (code == MPI_SUCCESS) remember_message({to, count, type, comm}, *request);
  return code;
}

template <class Forward>
int accessed(const Forward& forward, const Access& access) {
  const int code = forward();
  if (code == MPI_SUCCESS) count_access(access);
  return code;
}

template <class Forward>
int free_window(const Forward& forward, const MPI_Win* window) {
  if (window != nullptr) forget_window(*window);
  return forward();
}

/// @param outermost whether the program made the call, whose messages then count
int start_requests(int count, const MPI_Request* requests, NativeCall start_natively,
                   bool outermost) {
  const int code = start_persistent(count, requests, start_natively);
  if (code == MPI_SUCCESS && outermost) count_started(count, requests);
  return code;
}

/// Frees a datatype or an operation, unless `defer` says that it must wait.
/// @param null the handle of none
template <class Forward, class Handle>
int free_object(const Forward& forward, Handle* handle, Handle null, bool (*defer)(Handle)) {
  if (handle == nullptr || !defer(*handle)) return forward();
  *handle = null;
  return MPI_SUCCESS;
}

} // namespace

#include "runtime/intercept/messages.def"
#include "runtime/intercept/one_sided.def"
#include "runtime/intercept/prototypes.def"

// The nonblocking forms, whose arguments end with a request.
#undef THALWEG_COLLECTIVE
#undef THALWEG_NEIGHBORHOOD
#define THALWEG_UNPACKED(...) __VA_ARGS__ // without parentheses
#define THALWEG_COLLECTIVE(name, its_kind, parameters, arguments, ...)                             \
  THALWEG_DEFINE(name, (THALWEG_UNPACKED parameters, MPI_Request * request),                       \
                 (THALWEG_UNPACKED arguments, request),                                            \
                 start(Call{.kind = Kind::its_kind, __VA_ARGS__}, request, NativeCall(forward)))
#define THALWEG_NEIGHBORHOOD(name, which, parameters, arguments, ...)                              \
  THALWEG_DEFINE(                                                                                  \
      name, (THALWEG_UNPACKED parameters, MPI_Request * request),                                  \
      (THALWEG_UNPACKED arguments, request),                                                       \
      start(NeighborhoodCall{Neighborhood::which, comm, __VA_ARGS__}, NativeCall(forward)))
#define THALWEG_BASE(name, lower) I##lower
THALWEG_COLLECTIVE(Ibarrier, barrier, (MPI_Comm comm), (comm), .comm = comm)
#include "runtime/intercept/forms.def"

// The persistent forms. Open MPI 4.1 has them as MPIX_ functions of an extension, and 5.0, whose
// programs load the same library of ours, as MPI_ functions.
#if defined(OPEN_MPI)
#define THALWEG_DEFINE_PERSISTENT(name, parameters, arguments, body)                               \
  THALWEG_DEFINE_SYMBOL(MPI_##name, MPIX_##name, parameters, arguments, body)                      \
  THALWEG_DEFINE_SYMBOL(PMPI_##name, PMPIX_##name, parameters, arguments, body)                    \
  THALWEG_DEFINE_SYMBOL(MPIX_##name, MPI_##name, parameters, arguments, body)                      \
  THALWEG_DEFINE_SYMBOL(PMPIX_##name, PMPI_##name, parameters, arguments, body)
#elif MPI_VERSION >= 4
#define THALWEG_DEFINE_PERSISTENT THALWEG_DEFINE
#endif
#if defined(THALWEG_DEFINE_PERSISTENT)
#undef THALWEG_COLLECTIVE
#undef THALWEG_NEIGHBORHOOD
#undef THALWEG_BASE
#define THALWEG_COLLECTIVE(name, its_kind, parameters, arguments, ...)                             \
  THALWEG_DEFINE_PERSISTENT(                                                                       \
      name, (THALWEG_UNPACKED parameters, MPI_Info info, MPI_Request * request),                   \
      (THALWEG_UNPACKED arguments, info, request),                                                 \
      make_persistent(Call{.kind = Kind::its_kind, __VA_ARGS__}, request, NativeCall(forward)))
#define THALWEG_NEIGHBORHOOD(name, which, parameters, arguments, ...)                              \
  THALWEG_DEFINE_PERSISTENT(                                                                       \
      name, (THALWEG_UNPACKED parameters, MPI_Info info, MPI_Request * request),                   \
      (THALWEG_UNPACKED arguments, info, request),                                                 \
      make_persistent(NeighborhoodCall{Neighborhood::which, comm, __VA_ARGS__},                    \
                      NativeCall(forward)))
#define THALWEG_BASE(name, lower) name##_init
THALWEG_COLLECTIVE(Barrier_init, barrier, (MPI_Comm comm), (comm), .comm = comm)
#include "runtime/intercept/forms.def"
#endif

THALWEG_DEFINE_ALWAYS(Start, (MPI_Request * request), (request),
                      start_requests(request != nullptr ? 1 : 0, request, NativeCall(forward),
                                     guard.outermost()))
THALWEG_DEFINE_ALWAYS(Startall, (int count, MPI_Request requests[]), (count, requests),
                      start_requests(count, requests, NativeCall(forward), guard.outermost()))
THALWEG_DEFINE_ALWAYS(Request_free, (MPI_Request * request), (request),
                      free_request(forward, request))
