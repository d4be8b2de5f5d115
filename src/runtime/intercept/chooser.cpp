#include "runtime/intercept/chooser.hpp"

#include <algorithm>
#include <stdexcept>

namespace thalweg::runtime {
namespace {

/// Shapes kept prepared; a program that uses more pays for building them again.
constexpr std::size_t most_prepared = 256;

std::uint16_t index_of(const algorithms::Algorithm& algorithm) {
  const auto all = algorithms::all();
  return static_cast<std::uint16_t>(1 + (std::ranges::find(all, &algorithm) - all.begin()));
}

std::unique_ptr<Prepared> expand(const collective::Collective& collective, Rank rank,
                                 const algorithms::Skeleton& skeleton, std::int64_t units) {
  const algorithms::Algorithm& algorithm = algorithms::find(skeleton.algorithm);
  schedule::Sink sink;
  algorithm.emit(collective.kind, skeleton, rank, sink);
  const Pipeline pipeline = skeleton.pipeline(collective.size);
  return std::make_unique<Prepared>(
      Prepared{Program(std::move(sink), rank, pipeline.period),
               Layout(units, pipeline.segments, skeleton.chunks, skeleton.weights), pipeline,
               index_of(algorithm)});
}

} // namespace

bool Chooser::Key::operator==(const Key& other) const {
  return collective.kind == other.collective.kind && collective.root == other.collective.root &&
         collective.size == other.collective.size && units == other.units;
}

std::size_t Chooser::Hash::operator()(const Key& key) const {
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15U;
  };
  std::uint64_t hash = mix(static_cast<std::uint64_t>(key.collective.kind),
                           static_cast<std::uint64_t>(key.collective.root));
  hash = mix(hash, static_cast<std::uint64_t>(key.collective.size));
  hash = mix(hash, static_cast<std::uint64_t>(key.units));
  return hash ^ (hash >> 32);
}

Chooser::Chooser(const network::Network& network, network::Placement placement, Rank rank,
                 std::shared_ptr<const planner::Table> table)
    : _network(network), _placement(std::move(placement)), _rank(rank), _table(std::move(table)) {}

Chooser::Choice Chooser::choose(const collective::Collective& collective, std::int64_t units,
                                const Force& force, std::uint64_t force_version) {
  if (force_version != _force_version) {
    _prepared.clear();
    _force_version = force_version;
  }
  const Key key{collective, units};
  if (const auto found = _prepared.find(key); found != _prepared.end())
    return {found->second.get(), found->second ? Reason::planned : Reason::plan_native};
  if (_prepared.size() >= most_prepared) _prepared.clear();
  return prepare(key, force);
}

Chooser::Choice Chooser::prepare(const Key& key, const Force& force) {
  const collective::Collective& collective = key.collective;
  const Force::Choice& forced = force[collective.kind];
  std::unique_ptr<Prepared> prepared;
  try {
    if (forced.what == Force::What::algorithm && forced.algorithm->can_do(collective)) {
      const auto skeleton =
          forced.algorithm->build({collective, _network, _placement}, forced.parameters);
      prepared = expand(collective, _rank, skeleton, key.units);
    } else if (forced.what == Force::What::nothing && _table != nullptr) {
      const auto* entry = _table->find(collective.kind, collective.root, collective.size);
      if (entry != nullptr && !entry->native)
        prepared = expand(collective, _rank, entry->skeleton, key.units);
    }
  } catch (const std::invalid_argument&) {
    // The same on all ranks: what isn't shared throws std::bad_alloc.
    return {nullptr, Reason::failure};
  }
  const Prepared* result = _prepared.emplace(key, std::move(prepared)).first->second.get();
  return {result, result != nullptr ? Reason::planned : Reason::plan_native};
}

} // namespace thalweg::runtime
