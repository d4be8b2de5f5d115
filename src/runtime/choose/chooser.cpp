#include "runtime/choose/chooser.hpp"

#include "runtime/choose/reproducible.hpp"
#include "runtime/execute/own_arithmetic.hpp"

#include <algorithm>
#include <stdexcept>

namespace thalweg::runtime {
namespace {

/// Most prepared shapes that are kept; a program that uses more builds them again.
constexpr std::size_t most_prepared = 256;
/// Most transfers of their programs, each of which takes about 200 bytes.
constexpr std::size_t most_transfers = std::size_t{1} << 17;

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
  if (_decisions.size() >= most_prepared) _decisions.clear();
  if (_transfers > most_transfers) forget();
  const OwnArithmetic arithmetic;
  found = _decisions.emplace(shape, decide(shape, force)).first;
  KeptDecision& made = found->second;
  made.prediction = predict(shape);
  return {made.prepared, made.reason, made.refusal.get(), made.prediction, made.has_second, true};
}

void Chooser::forget() {
  _decisions.clear();
  _programs.clear();
  _transfers = 0;
}

std::shared_ptr<const Prepared> Chooser::second(const Shape& shape) {
  KeptDecision& decision = _decisions.at(shape);
  if (decision.second) return *decision.second;
  const OwnArithmetic arithmetic;
  try {
    decision.second = expand_row(shape, *row(shape), true).prepared;
  } catch (const std::invalid_argument&) { // the same on all ranks
    decision.second = nullptr;
  }
  return *decision.second;
}

std::shared_ptr<const planner::Entry> Chooser::row(const Shape& shape) const {
  return _table->find(shape.kind, shape.root,
                      shape.sizes_are_known ? shape.size : planner::unknown_size);
}

Chooser::KeptDecision Chooser::decide(const Shape& shape, const Force& force) {
  if (_reproducible && depends_on_order(shape.kind))
    return force_algorithm(shape, reproducible_choice(shape.kind, shape.size),
                           "THALWEG_REPRODUCIBLE");
  const Force::Directive& forced = force[shape.kind];
  if (forced.what == Force::What::algorithm) return force_algorithm(shape, forced, "THALWEG_FORCE");
  if (forced.what == Force::What::native || _table == nullptr)
    return {nullptr, Reason::plan_native};
  const std::shared_ptr<const planner::Entry> entry = row(shape);
  if (entry == nullptr) return {nullptr, Reason::plan_native};
  const bool has_second = entry->second && shape.sizes_are_known;
  if (entry->native)
    return {.prepared = nullptr, .reason = Reason::plan_native, .has_second = has_second};
  try {
    KeptDecision made = expand_row(shape, *entry, false);
    made.has_second = has_second;
    return made;
  } catch (const std::invalid_argument& error) {
    // The same on all ranks: only std::bad_alloc may differ.
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
    KeptDecision made =
        expand(shape,
               algorithms::make_skeleton(
                   algorithm, algorithms::make_problem(collective, _network, _placement, _library),
                   forced.parameters),
               nullptr);
    if (made.reason == Reason::unknown_sizes)
      return refused(Reason::unknown_sizes,
                     "it sends blocks through ranks that don't know their sizes");
    return made;
  } catch (const std::invalid_argument& error) {
    return refused(Reason::failure, error.what());
  }
}

PredictedTimes Chooser::predict(const Shape& shape) const {
  if (_table == nullptr || !shape.sizes_are_known) return {};
  return _table->predict(shape.kind, shape.root, shape.size);
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

Chooser::KeptDecision Chooser::expand_row(const Shape& shape, const planner::Entry& row,
                                          bool is_second) {
  const algorithms::Skeleton& skeleton = is_second ? row.second.value() : row.skeleton;
  const std::tuple key(row.kind, row.root, row.min_size, is_second);
  const auto known = _programs.find(key);
  KeptDecision made = expand(shape, skeleton, known == _programs.end() ? nullptr : known->second);
  if (made.prepared != nullptr) _programs.emplace(key, made.prepared->program);
  return made;
}

Chooser::KeptDecision Chooser::expand(const Shape& shape, const algorithms::Skeleton& skeleton,
                                      std::shared_ptr<const Program> program) {
  const algorithms::Algorithm& algorithm = algorithms::find(skeleton.algorithm);
  const Pipeline pipeline = skeleton.pipeline(shape.size);
  const auto ranks = static_cast<Rank>(_placement.size());
  const collective::Collective collective{.kind = shape.kind, .ranks = ranks, .root = shape.root};
  if (!shape.sizes_are_known && !algorithms::sends_directly(collective, skeleton))
    return {nullptr, Reason::unknown_sizes};
  if (program == nullptr) {
    // An incomplete plan is found here, not in the middle of a call.
    const ChunkId parts =
        Layout(0, 1, skeleton.chunks, skeleton.weights, collective.blocks()).parts();
    program = std::make_shared<const Program>(algorithms::emit(shape.kind, skeleton, _rank), _rank,
                                              pipeline.period, parts);
    _transfers += program->transfers().size();
  }
  return {std::make_shared<const Prepared>(Prepared{std::move(program), pipeline, skeleton.weights,
                                                    number_of(algorithm), describe(skeleton)}),
          std::nullopt};
}

} // namespace thalweg::runtime
