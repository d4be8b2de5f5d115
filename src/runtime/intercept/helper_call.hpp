#pragma once

#include "runtime/execute/helper.hpp"
#include "runtime/execute/own_arithmetic.hpp"
#include "runtime/intercept/record.hpp"
#include "runtime/intercept/transaction.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace thalweg::runtime {

/// Keeps the datatypes and the operator that a call uses, and copies of its arrays: programs give
/// them back too early now and then (mpi4py), which MPI libraries that read them at once forgive.
class Held {
public:
  /// Lets the arguments refer to the copies.
  Held(Runtime& runtime, const Call& call, Arguments& arguments);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();
  /// Whether it keeps an operator: the call combines data.
  [[nodiscard]] bool has_op() const { return _has_op; }

private:
  /// Copies of one side's arrays.
  struct Arrays {
    std::vector<std::int64_t> counts, displacements;
    std::vector<MPI_Datatype> types;
    void copy(Blocks& blocks);
  };

  Runtime& _runtime;
  Arrays _send, _receive;
  std::vector<MPI_Datatype> _types;
  MPI_Op _op{};
  bool _has_op = false;
};

/// A call that the helper is to carry out, once or several times. It refers neither to the
/// program's communicator nor to its state here, since the program may free the communicator
/// before.
struct PlannedCall {
  Call call;
  Arguments arguments;
  std::shared_ptr<const Prepared> prepared;
  std::shared_ptr<Stream> stream;
  Helper::Lane lane = 0;
  std::optional<Held> held;
};

/// Takes a lane of a stream.
using TakeLane = std::optional<Helper::Lane> (Stream::*)();
/// Makes the request of a planned call. May throw MpiError and std::bad_alloc.
using MakeRequest =
    std::function<void(Runtime&, std::shared_ptr<const PlannedCall>, const CallRecord&)>;

/// Plans a call for the helper, or executes it natively. Returns the MPI function's result.
/// @param request the program's; null is an error, which the MPI library reports
int plan_or_execute(const Call& call, const MPI_Request* request, TakeLane take_lane,
                    NativeCall execute_natively, const MakeRequest& make_request);

/// One execution of a planned call by the helper. It combines data in the floating-point
/// environment of the thread that made it, the program's.
class HelperCall final : public Operation {
public:
  /// @param complete tells the program, with the code of an error if there was one
  HelperCall(Runtime& runtime, std::shared_ptr<const PlannedCall> planned, const CallRecord& record,
             std::function<void(int code)> complete)
      : _runtime(runtime), _planned(std::move(planned)), _record(record),
        _complete(std::move(complete)) {
    if (_planned->held->has_op()) _arithmetic.emplace();
  }
  Progress advance() override;

private:
  Progress go_on();
  void finish(int code);

  Runtime& _runtime;
  std::shared_ptr<const PlannedCall> _planned;
  CallRecord _record;
  std::optional<Transaction> _transaction;      ///< once it has begun
  std::optional<ProgramArithmetic> _arithmetic; ///< if it combines data
  std::function<void(int code)> _complete;
};

/// Lets the helper execute a planned call.
void execute(Runtime& runtime, std::shared_ptr<const PlannedCall> planned, const CallRecord& record,
             std::function<void(int code)> complete);

} // namespace thalweg::runtime
