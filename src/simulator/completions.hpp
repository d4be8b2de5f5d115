#pragma once

#include "simulator/workload.hpp"
#include "units/index.hpp"

#include <cstdint>
#include <vector>

namespace thalweg::simulator {

/// When flows will be complete at their present rates, earliest first; of equals, the lower
/// connection. A heap that knows where each flow is: rates change far more often than flows end,
/// mostly of many flows alike, whose order then stays the same.
class Completions {
public:
  struct Completion {
    double time; ///< seconds
    ConnectionId connection;
  };

  explicit Completions(std::size_t connections) : _place(connections, nowhere) {}
  [[nodiscard]] bool empty() const { return _heap.empty(); }
  [[nodiscard]] const Completion& first() const { return _heap.front(); }
  /// Adds a flow, or changes its time. O(log flows) at most.
  void set(ConnectionId connection, double time);
  /// Removes a flow that is there.
  void remove(ConnectionId connection);

private:
  static constexpr std::int32_t nowhere = -1;
  [[nodiscard]] static bool is_before(const Completion& one, const Completion& other) {
    return one.time < other.time || (one.time == other.time && one.connection < other.connection);
  }
  void put(std::size_t at, const Completion& completion) {
    _heap[at] = completion;
    _place[index(completion.connection)] = static_cast<std::int32_t>(at);
  }
  void settle(std::size_t at, const Completion& completion);

  std::vector<Completion> _heap;    ///< the children of i are 4 i + 1 ... 4 i + 4
  std::vector<std::int32_t> _place; ///< by connection
};

} // namespace thalweg::simulator
