#pragma once

#include "runtime/execute/places.hpp"
#include "runtime/intercept/arguments.hpp"
#include "runtime/intercept/engine.hpp"
#include "runtime/intercept/record.hpp"

#include <optional>
#include <vector>

namespace thalweg::runtime {

/// Carries out one planned call: finds a place for each block that the rank handles, runs the
/// program and makes sure that the results are where MPI expects them.
///
/// Results are in the receive buffer from the beginning; data that is only sent stays in the send
/// buffer, unless the program writes there; everything else is in the engine's memory. Data that is
/// moved (not combined) and isn't contiguous is packed there, too. So beyond the program's buffers
/// a rank needs memory for data that it passes on for others, and for data that it must pack.
class Transaction {
public:
  /// @param setup, task the same for all collectives. All arguments must outlive the transaction.
  Transaction(const Call& call, const Arguments& arguments, const Prepared& prepared,
              const MpiTransport::Setup& setup);
  /// Runs the call. Throws MpiError and std::bad_alloc.
  void run(Task task);
  /// Begins what run() does. Throws the same.
  void start(Task task);
  /// Goes on with what start() began, without waiting. Throws the same.
  Progress advance();

private:
  void prepare(Task& task);
  void save_inputs();
  void place_results();
  void place_blocks();
  [[nodiscard]] Layout layout() const;
  void unpack_results();
  void bring(Rank input, std::byte* to);
  /// Whether the program can use a block where it lies in the buffer.
  [[nodiscard]] bool is_direct(const Blocks& blocks, Rank i) const {
    return _arguments.combines || blocks.info_of(i).contiguous;
  }
  [[nodiscard]] std::int64_t units(ChunkId block) const;
  [[nodiscard]] std::optional<std::byte*> readable(Rank input, bool written) const;

  const Call& _call;
  const Arguments& _arguments;
  const Prepared& _prepared;
  MpiTransport::Setup _setup;
  Engine _engine;
  Places _places;
  std::optional<Layout> _layout;    ///< of what start() began
  std::vector<std::byte*> _saved;   ///< inputs that were copied first, by index
  std::vector<std::byte*> _results; ///< by index
};

/// Carries out a planned call of the thread that called. Throws MpiError and std::bad_alloc.
/// @param record of the call, with its plan
/// @param pairs counts its messages; null: nothing does
void carry_out(Runtime& runtime, const Communicator& communicator, const Call& call,
               const Arguments& arguments, const Prepared& prepared, const CallRecord& record,
               observe::PairTimesLog* pairs = nullptr);

} // namespace thalweg::runtime
