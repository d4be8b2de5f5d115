#pragma once

#include "probe/statistics.hpp"

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::probe {

/// The content of orders and replies.
using Words = std::vector<std::int64_t>;

/// The result of a job.
struct Step {
  std::string what;
  Words key;
  Nanoseconds spent = 0; ///< part of the time budget spent when it ended
  std::vector<Words> replies;
  std::int64_t number = 0; ///< of the steps before it
};

std::string to_text(const Step& step); ///< a JSON object, without an end of line

/// The steps of an interrupted probe. Each job follows from the replies to earlier ones, so a probe
/// that finds its first steps here ends up where the interrupted one was.
class Journal {
public:
  Journal() = default;
  /// Reads lines of steps until the stream ends or a line isn't one, except the first line, which
  /// may say what was probed.
  explicit Journal(std::istream& lines);

  /// Returns the next step if it is this one. Otherwise returns nothing, now and ever after: from
  /// here on the probe continues differently.
  std::optional<Step> find(const std::string& what, const Words& key);
  [[nodiscard]] std::size_t size() const { return _steps.size(); }

private:
  std::deque<Step> _steps;
};

} // namespace thalweg::probe
