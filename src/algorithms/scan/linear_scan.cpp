/// Scan along a chain of the ranks: each combines what its predecessor sends with its own and
/// passes it on. For long data, in segments.
/// Source: Open MPI, coll_base_scan.c and coll_base_exscan.c (linear). Segments are ours.
#include "algorithms/scan/scan.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Range;
using schedule::Reg;
using schedule::Step;

class LinearScan final : public ScanAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "linear-scan"; }
  [[nodiscard]] std::string_view source() const override {
    return "Open MPI, coll_base_scan.c and coll_base_exscan.c (linear)";
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    const Rank first = rank == no_rank ? 0 : std::max(0, rank - 1);
    const Rank last = rank == no_rank ? skeleton.ranks - 1 : rank;
    for (Rank from = first; from <= last && from + 1 < skeleton.ranks; ++from) {
      if (kind == Kind::scan) {
        sink.add(from, from + 1, from, How::combine_left, all);
        continue;
      }
      // The total to pass on is combined in register 1, which holds a copy of the rank's own
      // contribution.
      const Rank to = from + 1;
      const auto inclusive = static_cast<Reg>(from == 0 ? 0 : 1);
      sink.add(from, to, 2 * from + 1, How::copy, all, inclusive, 0);
      if (to + 1 < skeleton.ranks && (rank == no_rank || rank == to)) {
        sink.add(to, to, 0, How::copy, all, 0, 1);
        sink.add(to, to, 2 * from + 2, How::combine_left, all, 0, 1);
      }
    }
    sink.sort();
  }

protected:
  [[nodiscard]] Step period(Kind kind) const override { return kind == Kind::scan ? 1 : 2; }

private:
  static constexpr Range all{0, 1, 1};
};

} // namespace

const Algorithm& linear_scan() {
  static const LinearScan algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
