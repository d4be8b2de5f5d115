#pragma once

#include "probe/statistics.hpp"

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::probe {

/// What orders and replies are made of.
using Words = std::vector<std::int64_t>;

/// What came of a job.
struct Step {
  std::string what;
  Words key;
  Nanoseconds spent = 0; ///< of the time budget, until it was over
  std::vector<Words> replies;
};

std::string to_text(const Step& step); ///< a JSON object, without an end of line

/// The steps of an interrupted probe. A probe's jobs follow from the replies to earlier ones, so a
/// probe that finds its first steps here ends up where the interrupted one was.
class Journal {
public:
  Journal() = default;
  /// Reads lines of steps until the stream ends; a line that isn't one ends them, but for the
  /// first, which may say what was probed.
  explicit Journal(std::istream& lines);

  /// The next step if it is this one. Else none, now and ever after: from here on the probe takes
  /// another way.
  std::optional<Step> find(const std::string& what, const Words& key);
  [[nodiscard]] std::size_t size() const { return _steps.size(); }

private:
  std::deque<Step> _steps;
};

} // namespace thalweg::probe
