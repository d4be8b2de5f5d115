#pragma once

#include "runtime/execute/accounts.hpp"
#include "runtime/execute/helper.hpp"
#include "runtime/setup/tags.hpp"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace thalweg::runtime {

struct Runtime;

/// How the nonblocking operations of a communicator, which the helper carries out, travel apart
/// from its blocking calls: each on one of 8 lanes in turn, persistent ones on lanes of their own.
/// A lane has tags and accounts of its own, on a communicator that only the helper uses. So up to 8
/// operations go on at once besides persistent ones, and those of one lane follow each other in the
/// same order on all ranks.
class Stream {
public:
  static constexpr int shared_lanes = 8;
  static constexpr int lanes = 64; ///< all of them

  /// @param number of the communicator, for tags; @param ranks its ranks' numbers in COMM_WORLD
  Stream(Tags::Number number, std::vector<int> ranks, const Runtime& runtime);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Leaves the acknowledgements that are due to the helper.
  ~Stream();

  /// Whether all its messages' tags are in range.
  static bool has_tags(int number, const Runtime& runtime);
  /// Returns the lane of the next operation; called in the order of the operations.
  std::optional<Helper::Lane> next_lane() { return _first + _operations++ % shared_lanes; }
  /// Returns the lane of a new persistent operation; called in the order in which they are made.
  /// None if there are too many, also of those that were freed: ranks free them in any order.
  std::optional<Helper::Lane> persistent_lane() {
    if (_persistent == lanes) return std::nullopt;
    return _first + _persistent++;
  }
  [[nodiscard]] const std::vector<int>& ranks() const { return _ranks; }
  /// Returns the accounts of a lane. Only the helper's thread may call this.
  Accounts& accounts(Helper::Lane lane);

private:
  Tags::Number _number;
  Helper::Lane _first;
  std::int64_t _operations = 0;
  int _persistent = shared_lanes; ///< the next one's lane
  std::vector<int> _ranks;
  const Runtime& _runtime;
  std::array<std::unique_ptr<Accounts>, lanes> _accounts; ///< null: no messages so far
};

} // namespace thalweg::runtime
