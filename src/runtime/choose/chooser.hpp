#pragma once

#include "planner/table.hpp"
#include "runtime/choose/force.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/observe/reason.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

namespace thalweg::runtime {

/// How a rank executes calls of a row of the table, or of a forced choice, whatever their sizes.
struct Prepared {
  std::shared_ptr<const Program> program;
  Pipeline pipeline;                 ///< of one segment
  units::Size segment_size = 0;      ///< 0: never more than one
  std::vector<std::int32_t> weights; ///< as schedule::Layout's
  std::uint16_t algorithm = 0;       ///< 1 + index in algorithms::all()
  std::string description;           ///< algorithm, segment size and window
  /// Returns the pipeline of calls of a size.
  [[nodiscard]] Pipeline pipeline_of(units::Size size) const {
    return pipeline.cut(size, segment_size);
  }
};

/// Returns the number of an algorithm in Prepared.
std::uint16_t number_of(const algorithms::Algorithm& algorithm);

/// The properties of a call on which the decision depends: the same on all ranks.
struct Shape {
  collective::Kind kind{};
  Rank root = 0;               ///< 0 where there is none
  units::Size size = 0;        ///< as Collective::size
  bool sizes_are_known = true; ///< all ranks know the sizes of all blocks
  bool operator==(const Shape&) const = default;
};

using planner::PredictedTimes;

/// A choice that can't be executed, and is native instead.
struct Refusal {
  std::string key;  ///< the algorithm and the kind of reason
  std::string text; ///< a sentence: what was asked for, of how many ranks, and why it can't be
};

/// Decides for one communicator and one of its ranks how a call is executed, only from data that
/// all ranks share. Not thread-safe, as collectives on one communicator aren't.
class Chooser {
public:
  /// `table` may be null: then only forced collectives are planned, with the message costs of
  /// `library`, a key of Network::message_costs. `network` must outlive it.
  /// @param reproducible whether reductions go by reproducible_choice()
  Chooser(const network::Network& network, std::string library, network::Placement placement,
          Rank rank, std::shared_ptr<const planner::Table> table, bool reproducible = false);

  struct Decision {
    std::shared_ptr<const Prepared> prepared = {}; ///< null: native, because of `reason`
    std::optional<Reason> reason = {};
    /// Why the forced algorithm or the plan can't be executed, if so; null if asked before.
    const Refusal* refusal = nullptr;
    PredictedTimes prediction = {};
    bool has_second = false; ///< the table has a second plan: second()
    bool is_new = false;     ///< not asked before
  };
  /// Returns the decision. O(1) if asked before. O(log rows + ranks) if the table has the same row
  /// for a shape asked before; a forced skeleton is built for each size, and expanded if it is
  /// another one. Else as building and expanding the skeleton, for all ranks if sizes aren't known.
  Decision choose(const Shape& shape, const Force& force, std::uint64_t force_version);
  /// Returns the second plan for a shape that choose() said has one; null if it can't be executed.
  /// The same on all ranks. Cost as that of choose().
  std::shared_ptr<const Prepared> second(const Shape& shape);
  /// Decides by another table from now on. All ranks must do so before the same call.
  void use(std::shared_ptr<const planner::Table> table) {
    forget();
    _table = std::move(table);
  }
  [[nodiscard]] const std::shared_ptr<const planner::Table>& table() const { return _table; }

private:
  struct Hash {
    std::size_t operator()(const Shape& shape) const;
  };
  struct KeptDecision {
    std::shared_ptr<const Prepared> prepared;
    std::optional<Reason> reason;
    std::unique_ptr<Refusal> refusal = nullptr;
    PredictedTimes prediction = {};
    bool has_second = false;
    std::optional<std::shared_ptr<const Prepared>> second = {}; ///< once it was asked for
  };
  /// What is kept of a row's plan or second plan, or of a forced choice, for all shapes.
  struct Expansion {
    std::shared_ptr<const Prepared> prepared; ///< null: not made, or forgotten
    std::optional<bool> sends_directly;       ///< once sizes weren't known
    algorithms::Skeleton forced;              ///< the choice; of no algorithm: a row's plan
  };
  enum class Origin : std::uint8_t { plan, second, forced };
  /// Whose it is: that of a row of a collective and root by its size, or a choice by its segments'
  /// size.
  using Key = std::tuple<Origin, collective::Kind, Rank, units::Size>;

  /// Forgets all that may differ from now on.
  void forget();
  /// Forgets what takes memory. What takes long to find out, since it takes all ranks' programs,
  /// is kept.
  void free_memory();
  [[nodiscard]] KeptDecision decide(const Shape& shape, const Force& force);
  /// Returns the shape's row of the table; none: there is none.
  [[nodiscard]] std::optional<planner::RowOutline> outline(const Shape& shape) const;
  [[nodiscard]] KeptDecision force_algorithm(const Shape& shape, const Force::Directive& forced,
                                             std::string_view origin);
  [[nodiscard]] PredictedTimes predict(const Shape& shape);
  /// @param origin where the choice comes from
  [[nodiscard]] KeptDecision refuse(const Shape& shape, std::string_view origin,
                                    const algorithms::Algorithm& algorithm, Reason reason,
                                    const std::string& why) const;
  /// Plans a row of the table for a shape.
  /// @param origin the plan or the second one
  [[nodiscard]] KeptDecision expand_row(const Shape& shape, units::Size row, Origin origin);
  /// Plans a forced choice for a shape.
  [[nodiscard]] KeptDecision expand_forced(const Shape& shape, algorithms::Skeleton skeleton);
  /// Returns what is decided by what is kept already, if that is enough.
  [[nodiscard]] static std::optional<KeptDecision> known(const Shape& shape, const Expansion& kept);
  [[nodiscard]] KeptDecision expand(const Shape& shape, const algorithms::Skeleton& skeleton,
                                    Expansion& kept);

  const network::Network& _network;
  std::string _library;
  network::Placement _placement;
  Rank _rank;
  std::shared_ptr<const planner::Table> _table;
  bool _reproducible;
  std::unordered_map<Shape, KeptDecision, Hash> _decisions;
  std::map<Key, Expansion> _expansions;
  std::map<Key, std::vector<PredictedTimes>> _times; ///< of the table's rows
  std::size_t _kept = 0; ///< the memory that these take, in transfers of programs
  std::uint64_t _force_version = 0;
};

} // namespace thalweg::runtime
