#pragma once

#include "algorithms/algorithm.hpp"
#include "execution/executor.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

/// The messages of a schedule for a given size: their data, and what their two ends wait for.
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
/// The most messages of a schedule: the state of more would take gigabytes.
inline constexpr std::int64_t most_messages = std::int64_t{1} << 25;

/// A transfer, the same in all segments.
struct Template {
  Rank from, to;
  Step step;
  bool combine;
  ConnectionId connection; ///< of its ordered pair of ranks
  /// Whether its messages flow only after a handshake: all of them if any is above the eager limit.
  /// Their sizes may differ by a byte, and they must not overtake each other.
  bool handshake = false;
  execution::OperationId sending = 0, receiving = 0; ///< its two ends; equal for a local transfer
};

/// The bytes of a transfer's messages.
enum class Sizes : std::uint8_t {
  exact, ///< as Layout cuts them: whole numbers, which differ by one between segments
  mean,  ///< the same in all segments, as a pipeline in a steady state has them
};

struct Workload {
  /// @param eager_limit MessageCost::eager_limit
  /// @throws std::invalid_argument if the schedule has more than `most_messages`
  Workload(const Collective& collective, const schedule::Schedule& schedule,
           Sizes sizes = Sizes::exact, Size eager_limit = network::no_cost.eager_limit);

  [[nodiscard]] std::size_t transfers() const { return templates.size(); }
  [[nodiscard]] MessageId message(execution::Item end) const {
    return end.segment * static_cast<MessageId>(templates.size()) +
           operations[end.operation].transfer;
  }
  /// Returns the ends of a message.
  [[nodiscard]] execution::Item sending(MessageId message) const {
    return {of(message).sending, segment(message)};
  }
  [[nodiscard]] execution::Item receiving(MessageId message) const {
    return {of(message).receiving, segment(message)};
  }
  [[nodiscard]] const Template& of(MessageId message) const { return templates[transfer(message)]; }
  // Divisions are slow, and messages of the first segment need none.
  [[nodiscard]] std::size_t transfer(MessageId message) const {
    const auto at = static_cast<std::size_t>(message);
    return at < templates.size() ? at : at % templates.size();
  }
  [[nodiscard]] std::int32_t segment(MessageId message) const {
    const auto count = static_cast<MessageId>(templates.size());
    return message < count ? 0 : message / count;
  }
  /// Returns bytes.
  [[nodiscard]] double size(MessageId message) const {
    const auto at = static_cast<std::size_t>(message);
    return sizes[at < sizes.size() ? at : at % sizes.size()];
  }
  /// Whether the message is left out, since it has no data.
  [[nodiscard]] bool left_out(MessageId message) const { return size(message) == 0 && skip_empty; }
  /// Whether all segments have the same messages: none is empty in some of them only.
  [[nodiscard]] bool is_uniform() const {
    return std::ranges::none_of(sizes, [](double size) { return size > 0 && size < 1; });
  }

  /// Returns the executor's test for operations to leave out.
  [[nodiscard]] execution::Executor::IsEmpty is_empty() const;
  /// Returns the messages in the global order, without those left out.
  [[nodiscard]] std::vector<MessageId> in_order() const;

  Rank ranks;
  schedule::Pipeline pipeline;
  bool skip_empty;
  std::vector<Template> templates;
  execution::Operations operations;               ///< of all ranks
  std::vector<double> sizes;                      ///< bytes by message, or mean ones by transfer
  std::int64_t messages = 0;                      ///< without those left out
  std::vector<std::pair<Rank, Rank>> connections; ///< ascending

private:
  void find_connections();
  void find_ends();
  void measure(const Collective& collective, const schedule::Schedule& schedule, Sizes wanted);
  void find_handshakes(Size eager_limit);
};

} // namespace thalweg::simulator
