#include "runtime/choose/chooser.hpp"

#include "runtime/choose/reproducible.hpp"
#include "runtime/execute/own_arithmetic.hpp"

#include <algorithm>
#include <stdexcept>

namespace thalweg::runtime {
namespace {

/// Most decisions that are kept; a program that uses more shapes makes them again from their rows.
constexpr std::size_t most_decisions = 256;
/// Most transfers of programs that are kept, and what takes as much memory as they do.
constexpr std::size_t most_kept = std::size_t{1} << 17;
constexpr std::size_t transfer_bytes = 200; ///< about

/// Returns the size by which a shape's row is found.
units::Size size_in_table(const Shape& shape) {
  return shape.sizes_are_known ? shape.size : planner::unknown_size;
}

std::string describe(const algorithms::Skeleton& skeleton) {
  std::string text = skeleton.algorithm;
  if (skeleton.segment_size > 0)
    text += ", segments of " + units::size_to_text(skeleton.segment_size);
  if (skeleton.window > 0) text += ", window " + std::to_string(skeleton.window);
  return text;
}

} // namespace

std::uint16_t number_of(const algorithms::Algorithm& algorithm) {
  const auto all = algorithms::all();
  return static_cast<std::uint16_t>(1 + (std::ranges::find(all, &algorithm) - all.begin()));
}

std::size_t Chooser::Hash::operator()(const Shape& shape) const {
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15U;
  };
  std::uint64_t hash =
      mix(static_cast<std::uint64_t>(shape.kind), static_cast<std::uint64_t>(shape.root));
  hash = mix(hash, static_cast<std::uint64_t>(shape.size));
  hash = mix(hash, shape.sizes_are_known ? 1 : 0);
  return hash ^ (hash >> 32);
}

Chooser::Chooser(const network::Network& network, std::string library, network::Placement placement,
                 Rank rank, std::shared_ptr<const planner::Table> table, bool reproducible)
    : _network(network), _library(std::move(library)), _placement(std::move(placement)),
      _rank(rank), _table(std::move(table)), _reproducible(reproducible) {}

Chooser::Decision Chooser::choose(const Shape& shape, const Force& force,
                                  std::uint64_t force_version) {
  if (force_version != _force_version) {
    forget();
    _force_version = force_version;
  }
  auto found = _decisions.find(shape);
  if (found != _decisions.end())
    return {found->second.prepared, found->second.reason, nullptr, found->second.prediction,
            found->second.has_second};
  if (_decisions.size() >= most_decisions) _decisions.clear();
  if (_kept > most_kept) free_memory();
  const OwnArithmetic arithmetic;
  found = _decisions.emplace(shape, decide(shape, force)).first;
  KeptDecision& made = found->second;
  made.prediction = predict(shape);
  return {made.prepared, made.reason, made.refusal.get(), made.prediction, made.has_second, true};
}

void Chooser::forget() {
  free_memory();
  _expansions.clear();
}

void Chooser::free_memory() {
  _decisions.clear();
  _times.clear();
  std::erase_if(_expansions, [](const auto& each) { return !each.second.sends_directly; });
  for (auto& [key, kept] : _expansions)
    kept.prepared.reset();
  _kept = 0;
}

std::shared_ptr<const Prepared> Chooser::second(const Shape& shape) {
  KeptDecision& decision = _decisions.at(shape);
  if (decision.second) return *decision.second;
  const OwnArithmetic arithmetic;
  try {
    const auto its_row = outline(shape);
    decision.second = expand_row(shape, its_row->min_size, Origin::second).prepared;
  } catch (const std::invalid_argument&) { // the same on all ranks
    decision.second = nullptr;
  }
  return *decision.second;
}

std::optional<planner::RowOutline> Chooser::outline(const Shape& shape) const {
  return _table->outline(shape.kind, shape.root, size_in_table(shape));
}

Chooser::KeptDecision Chooser::decide(const Shape& shape, const Force& force) {
  if (_reproducible && depends_on_order(shape.kind))
    return force_algorithm(shape, reproducible_choice(shape.kind, shape.size),
                           "THALWEG_REPRODUCIBLE");
  const Force::Directive& forced = force[shape.kind];
  if (forced.what == Force::What::algorithm) return force_algorithm(shape, forced, "THALWEG_FORCE");
  if (forced.what == Force::What::native || _table == nullptr)
    return {nullptr, Reason::plan_native};
  const std::optional<planner::RowOutline> row = outline(shape);
  if (!row) return {nullptr, Reason::plan_native};
  const bool has_second = row->has_second && shape.sizes_are_known;
  if (row->native)
    return {.prepared = nullptr, .reason = Reason::plan_native, .has_second = has_second};
  try {
    KeptDecision made = expand_row(shape, row->min_size, Origin::plan);
    made.has_second = has_second;
    return made;
  } catch (const std::invalid_argument& error) {
    // The same on all ranks: only std::bad_alloc may differ.
    const auto entry = _table->find(shape.kind, shape.root, size_in_table(shape));
    return refuse(shape, "the plan", algorithms::find(entry->skeleton.algorithm), Reason::failure,
                  error.what());
  }
}

Chooser::KeptDecision Chooser::force_algorithm(const Shape& shape, const Force::Directive& forced,
                                               std::string_view origin) {
  const algorithms::Algorithm& algorithm = *forced.algorithm;
  const collective::Collective collective{.kind = shape.kind,
                                          .ranks = static_cast<Rank>(_placement.size()),
                                          .root = shape.root,
                                          .size = shape.size};
  const auto refused = [&](Reason reason, const std::string& why) {
    return refuse(shape, origin, algorithm, reason, why);
  };
  if (!algorithm.can_do(collective))
    return refused(Reason::failure, "it needs " + std::string(algorithm.needed_ranks()));
  try {
    KeptDecision made = expand_forced(
        shape, algorithms::make_skeleton(
                   algorithm, algorithms::make_problem(collective, _network, _placement, _library),
                   forced.parameters));
    if (made.reason == Reason::unknown_sizes)
      return refused(Reason::unknown_sizes,
                     "it sends blocks through ranks that don't know their sizes");
    return made;
  } catch (const std::invalid_argument& error) {
    return refused(Reason::failure, error.what());
  }
}

PredictedTimes Chooser::predict(const Shape& shape) {
  if (_table == nullptr || !shape.sizes_are_known) return {};
  const std::optional<planner::RowOutline> row = outline(shape);
  if (!row) return {shape.size};
  const auto [times, is_new] =
      _times.try_emplace({Origin::plan, shape.kind, shape.root, row->min_size});
  if (is_new) {
    times->second = _table->known_times(shape.kind, shape.root, shape.size);
    _kept += 1 + times->second.size() * sizeof(PredictedTimes) / transfer_bytes;
  }
  return planner::predict(times->second, shape.size);
}

Chooser::KeptDecision Chooser::refuse(const Shape& shape, std::string_view origin,
                                      const algorithms::Algorithm& algorithm, Reason reason,
                                      const std::string& why) const {
  const std::string name(algorithm.name());
  auto refusal = std::make_unique<Refusal>();
  refusal->key = name + " " + std::string(units::name_of(reason));
  refusal->text = std::string(origin) + ": " + std::string(to_text(shape.kind)) + "=" + name +
                  " can't be done by " + std::to_string(_placement.size()) + " ranks: " + why +
                  "; it is native there";
  return {nullptr, reason, std::move(refusal)};
}

Chooser::KeptDecision Chooser::expand_row(const Shape& shape, units::Size row, Origin origin) {
  Expansion& kept = _expansions[{origin, shape.kind, shape.root, row}];
  if (auto made = known(shape, kept)) return std::move(*made);
  const auto entry = _table->find(shape.kind, shape.root, size_in_table(shape));
  return expand(shape, origin == Origin::second ? entry->second.value() : entry->skeleton, kept);
}

Chooser::KeptDecision Chooser::expand_forced(const Shape& shape, algorithms::Skeleton skeleton) {
  Expansion& kept = _expansions[{Origin::forced, shape.kind, shape.root, skeleton.segment_size}];
  if (kept.forced != skeleton) {
    kept = {};
    kept.forced = std::move(skeleton);
    _kept += _placement.size() * (2 + kept.forced.parents.size()) * sizeof(Rank) / transfer_bytes;
  }
  if (auto made = known(shape, kept)) return std::move(*made);
  return expand(shape, kept.forced, kept);
}

std::optional<Chooser::KeptDecision> Chooser::known(const Shape& shape, const Expansion& kept) {
  if (!shape.sizes_are_known) {
    if (!kept.sends_directly) return std::nullopt;
    if (!*kept.sends_directly) return KeptDecision{nullptr, Reason::unknown_sizes};
  }
  if (kept.prepared == nullptr) return std::nullopt;
  return KeptDecision{kept.prepared, std::nullopt};
}

Chooser::KeptDecision Chooser::expand(const Shape& shape, const algorithms::Skeleton& skeleton,
                                      Expansion& kept) {
  const collective::Collective collective{
      .kind = shape.kind, .ranks = static_cast<Rank>(_placement.size()), .root = shape.root};
  if (!shape.sizes_are_known && !kept.sends_directly)
    kept.sends_directly = algorithms::sends_directly(collective, skeleton);
  if (auto made = known(shape, kept)) return std::move(*made);
  // An incomplete plan is found here, not in the middle of a call.
  const ChunkId parts =
      Layout(0, 1, skeleton.chunks, skeleton.weights, collective.blocks()).parts();
  auto program = std::make_shared<const Program>(algorithms::emit(shape.kind, skeleton, _rank),
                                                 _rank, skeleton.period, parts);
  _kept += 1 + program->transfers().size();
  kept.prepared = std::make_shared<const Prepared>(
      Prepared{.program = std::move(program),
               .pipeline = {.period = skeleton.period, .window = skeleton.window},
               .segment_size = skeleton.segment_size,
               .weights = skeleton.weights,
               .algorithm = number_of(algorithms::find(skeleton.algorithm)),
               .description = describe(skeleton)});
  return {kept.prepared, std::nullopt};
}

} // namespace thalweg::runtime
