/// Scan by recursive doubling: in each round ranks exchange the total of all ranks they have met
/// with the one at twice the distance; totals of lower ranks belong to the result. The fewest
/// rounds possible. Register 0 holds the result, 1 the total, 2 arriving data that belongs to both.
/// Source: Hillis, Steele: Data Parallel Algorithms; MPICH, scan_intra_recursive_doubling.c.
/// Segments are ours.
#include "algorithms/rounds/rounds.hpp"
#include "algorithms/scan/scan.hpp"
#include "units/index.hpp"

namespace thalweg::algorithms {
namespace {

using collective::Kind;
using collective::no_rank;
using schedule::How;
using schedule::Range;

/// Which rank needs which totals in which round.
class Needs {
public:
  explicit Needs(Rank ranks)
      : _ranks(ranks), _total(index(rounds()) + 1, std::vector<bool>(index(ranks))) {
    for (Step round = rounds(); round-- > 0;)
      for (Rank rank = 0; rank < ranks; ++rank) {
        const Rank other = partner(rank, round);
        _total[index(round)][index(rank)] =
            total(rank, round + 1) ||
            (other != no_rank && (other > rank || total(other, round + 1)));
      }
  }
  [[nodiscard]] Step rounds() const { return doublings(_ranks); }
  [[nodiscard]] Rank partner(Rank rank, Step round) const {
    const Rank other = rank ^ (Rank{1} << round);
    return other < _ranks ? other : no_rank;
  }
  /// Whether the rank's total is used from that round on.
  [[nodiscard]] bool total(Rank rank, Step round) const {
    return _total[index(round)][index(rank)];
  }

private:
  Rank _ranks;
  std::vector<std::vector<bool>> _total; ///< by round and rank
};

class RecursiveDoublingScan final : public ScanAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "recursive-doubling-scan"; }
  [[nodiscard]] std::string_view source() const override {
    return "Hillis, Steele: Data Parallel Algorithms; MPICH, scan_intra_recursive_doubling.c";
  }

  void emit(Kind kind, const Skeleton& skeleton, Rank rank, Sink& sink) const override {
    const Needs needs(skeleton.ranks);
    for (Rank receiver = 0; receiver < skeleton.ranks; ++receiver) {
      if ((rank == no_rank || rank == receiver) && needs.total(receiver, 0))
        sink.add(receiver, receiver, 0, How::copy, all, 0, 1);
      for (Step round = 0; round < needs.rounds(); ++round)
        if (const Rank other = needs.partner(receiver, round);
            other != no_rank && (rank == no_rank || rank == receiver || rank == other))
          add_receive(kind, needs, receiver, round, rank, sink);
    }
    sink.sort();
  }

protected:
  [[nodiscard]] Step period(Kind /*kind*/) const override {
    return 2; // a segment's round, and the next segment's round before
  }

private:
  static constexpr Range all{0, 1, 1};

  /// @param rank whose transfers are wanted, or no_rank
  static void add_receive(Kind kind, const Needs& needs, Rank receiver, Step round, Rank rank,
                          Sink& sink) {
    const Rank sender = needs.partner(receiver, round);
    const bool for_result = sender < receiver, for_total = needs.total(receiver, round + 1);
    const How total = for_result ? How::combine_left : How::combine_right;
    // An exscan's first total of lower ranks replaces the rank's own contribution.
    const bool first = (receiver & ((Rank{1} << round) - 1)) == 0;
    const How result = kind == Kind::exscan && first ? How::copy : How::combine_left;
    const Step step = 2 * round + 1;
    if (for_result && for_total) {
      sink.add(sender, receiver, step, How::copy, all, 1, 2);
      if (rank != no_rank && rank != receiver) return;
      sink.add(receiver, receiver, step + 1, result, all, 2, 0);
      sink.add(receiver, receiver, step + 1, total, all, 2, 1);
    } else if (for_result) {
      sink.add(sender, receiver, step, result, all, 1, 0);
    } else if (for_total) {
      sink.add(sender, receiver, step, total, all, 1, 1);
    }
  }
};

} // namespace

const Algorithm& recursive_doubling_scan() {
  static const RecursiveDoublingScan algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
