#pragma once

#include "runtime/execute/helper.hpp"
#include "runtime/intercept/record.hpp"
#include "runtime/intercept/transaction.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace thalweg::runtime {

/// Keeps the datatypes and the operator that a call uses.
class Held {
public:
  Held(Runtime& runtime, const Call& call, const Arguments& arguments);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();

private:
  Runtime& _runtime;
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

/// Returns the call as planned, or null if it is native for the reason that `record` then has.
/// Thrown are MpiError and std::bad_alloc.
/// @param communicator null: not used so far
/// @param take_lane takes a lane of a stream
std::shared_ptr<const PlannedCall> plan_call(Runtime& runtime, Communicator* communicator,
                                             const Call& call,
                                             std::optional<Helper::Lane> (Stream::*take_lane)(),
                                             CallRecord& record);

/// One execution of a planned call.
class Collective final : public Operation {
public:
  /// @param complete tells the program, with the code of an error if there was one
  Collective(Runtime& runtime, std::shared_ptr<const PlannedCall> planned, const CallRecord& record,
             std::function<void(int code)> complete)
      : _runtime(runtime), _planned(std::move(planned)), _record(record),
        _complete(std::move(complete)) {}
  Progress advance() override;

private:
  Progress go_on();
  void finish(int code);

  Runtime& _runtime;
  std::shared_ptr<const PlannedCall> _planned;
  CallRecord _record;
  std::optional<Transaction> _transaction; ///< once it has begun
  std::function<void(int code)> _complete;
};

/// Lets the helper execute a planned call.
void execute(Runtime& runtime, std::shared_ptr<const PlannedCall> planned, const CallRecord& record,
             std::function<void(int code)> complete);

} // namespace thalweg::runtime
