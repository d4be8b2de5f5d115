#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thalweg::runtime {

/// How a call is executed: as planned, by the MPI library's own collective, or as the second plan
/// of the table's row says.
enum class Candidate : std::uint8_t { plan, native, second };
inline constexpr std::array all_candidates = {Candidate::plan, Candidate::native,
                                              Candidate::second};
constexpr auto names_of(Candidate /*candidate*/) {
  return std::to_array<std::string_view>({"plan", "native", "second"});
}

/// The candidates for a shape of call: native and at least one of the other two. The same on all
/// ranks.
class Candidates {
public:
  constexpr Candidates(bool has_plan, bool has_second) : _is_in{has_plan, true, has_second} {}
  [[nodiscard]] constexpr bool contains(Candidate candidate) const {
    return _is_in[static_cast<std::size_t>(candidate)];
  }
  /// Returns the candidate that the table chooses.
  [[nodiscard]] constexpr Candidate planned() const {
    return contains(Candidate::plan) ? Candidate::plan : Candidate::native;
  }
  /// Returns the one after another, and after the last one the first.
  [[nodiscard]] constexpr Candidate after(Candidate candidate) const {
    do
      candidate = all_candidates[(static_cast<std::size_t>(candidate) + 1) % all_candidates.size()];
    while (!contains(candidate));
    return candidate;
  }

private:
  std::array<bool, all_candidates.size()> _is_in;
};

/// A value for each candidate.
template <class T>
struct ByCandidate {
  std::array<T, all_candidates.size()> values{};
  constexpr T& operator[](Candidate candidate) {
    return values[static_cast<std::size_t>(candidate)];
  }
  constexpr const T& operator[](Candidate candidate) const {
    return values[static_cast<std::size_t>(candidate)];
  }
};

} // namespace thalweg::runtime
