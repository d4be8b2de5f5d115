#pragma once

#include "algorithms/algorithm.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// The messages of a schedule for a given size: what they carry, in what order the ranks go through
/// them, and which wait for which.
namespace thalweg::simulator {

using collective::Collective;
using collective::Rank;
using schedule::Step;
using units::Size;

/// segment * transfers + index of the transfer.
using MessageId = std::int32_t;
using ConnectionId = std::int32_t;
inline constexpr ConnectionId no_connection = -1;
inline constexpr MessageId no_message = -1;

/// A transfer as all segments have it.
struct Template {
  Rank from, to;
  Step step;
  bool combine;
  ConnectionId connection; ///< that of its ordered pair of ranks
  std::int32_t reads,
      writes; ///< earlier transfers whose ends must be complete before it reads, and writes
};

/// That one end of a transfer must be complete before another one of the same segment reads or
/// writes.
struct Dependent {
  std::int32_t transfer;
  bool reads; ///< else it writes
  bool sent;  ///< it waits for the sender to have read, else for the receiver to have written
};

/// One rank's part in a message.
struct Operation {
  MessageId message;
  bool send; ///< true also for a local move
};

/// Rows of different lengths in one array.
template <class T>
class Rows {
public:
  explicit Rows(std::size_t rows = 0) : _begin(rows + 1, 0) {}
  /// First all count(), then all add(), of the same rows.
  void count(std::size_t row) { ++_begin[row + 1]; }
  void allocate() {
    for (std::size_t row = 1; row < _begin.size(); ++row)
      _begin[row] += _begin[row - 1];
    _data.resize(_begin.back());
    _next.assign(_begin.begin(), _begin.end() - 1);
  }
  void add(std::size_t row, T value) { _data[_next[row]++] = value; }
  [[nodiscard]] std::span<const T> operator[](std::size_t row) const {
    return {_data.data() + _begin[row], _begin[row + 1] - _begin[row]};
  }

private:
  std::vector<std::size_t> _begin, _next;
  std::vector<T> _data;
};

struct Workload {
  Workload(const Collective& collective, const schedule::Schedule& schedule);

  [[nodiscard]] std::size_t transfers() const { return templates.size(); }
  [[nodiscard]] const Template& of(MessageId message) const {
    return templates[static_cast<std::size_t>(message) % templates.size()];
  }
  [[nodiscard]] std::int32_t segment(MessageId message) const {
    return message / static_cast<MessageId>(templates.size());
  }
  /// Whether the message is left out, since it carries nothing.
  [[nodiscard]] bool left_out(MessageId message) const {
    return sizes[static_cast<std::size_t>(message)] == 0 && skip_empty;
  }

  Rank ranks;
  schedule::Pipeline pipeline;
  bool skip_empty;
  std::vector<Template> templates;
  Rows<Dependent> dependents;   ///< by transfer
  std::vector<Size> sizes;      ///< by message
  std::vector<MessageId> order; ///< the global order, without those left out
  Rows<Operation> operations;   ///< by rank, in the global order
  std::vector<std::pair<Rank, Rank>> connections;
  Rows<MessageId> traffic; ///< by connection, in the global order

private:
  void find_connections();
  void find_dependencies(const schedule::Schedule& schedule);
  void measure(const schedule::Schedule& schedule, const schedule::Layout& layout);
  void put_in_order();
};

} // namespace thalweg::simulator
