#include "runtime/adapt/adaptation.hpp"

namespace thalweg::runtime {
namespace {

/// Returns what there is to say once the ranks have agreed on a race, or not.
std::string_view said_of(bool disagree) {
  if (!disagree) return {};
  return "the ranks of a communicator disagree about a race; its calls are executed as planned";
}

} // namespace

Adaptation::Said Adaptation::before_call(MPI_Comm comm, Chooser& chooser) {
  const std::uint64_t epoch = _epochs.races.epochs();
  Said said{.of_races = said_of(_epochs.before_call(comm))};
  if (_replanner == nullptr) return said;
  look_after(epoch);
  said.of_plans = _replanner->before_call(comm, _epochs.races, chooser, !_epochs.is_open());
  return said;
}

Adaptation::Said Adaptation::after_call(MPI_Comm comm, std::uint64_t call, Chooser& chooser) {
  const std::uint64_t ago = _arrivals.calls_ago(call);
  const bool agrees = _epochs.is_due(ago);
  const bool replans = _replanner != nullptr && _replanner->has_begun_before(ago);
  Said said;
  if (agrees) {
    const std::uint64_t epoch = _epochs.races.epochs();
    said.of_races = said_of(_epochs.finish());
    look_after(epoch);
  }
  if (replans) said.of_plans = _replanner->go_on(comm, _epochs.races, chooser, !_epochs.is_open());
  return said;
}

/// Lets plans follow what the ranks have agreed on, if they have since an epoch.
void Adaptation::look_after(std::uint64_t epoch) {
  if (_replanner != nullptr && _epochs.races.epochs() != epoch) _replanner->look(_epochs.races);
}

Adaptation::Turn Adaptation::turn_of(const Shape& shape, std::int64_t weight,
                                     const Chooser::Decision& choice) {
  Race* const race = race_of(shape, weight, choice);
  const bool tries = _replanner != nullptr && _replanner->tries(); // plans that aren't raced
  return {.race = race, .counts = race != nullptr && !tries};
}

/// Returns null if the call isn't raced. Sizes of a class may be of two rows: where native is
/// planned in one of these only, the first one that is called races.
Race* Adaptation::race_of(const Shape& shape, std::int64_t weight,
                          const Chooser::Decision& choice) {
  const Candidates candidates(choice.prepared != nullptr, has_second(choice));
  const RaceKey key = key_of(shape.kind, shape.root, shape.size);
  Race* race = _epochs.races.find(key);
  // None is replaced where plans follow the network: the replanner knows races by their numbers.
  if (race == nullptr) race = _epochs.races.add(key, weight, candidates, _replanner == nullptr);
  if (race == nullptr || race->candidates().planned() != candidates.planned()) return nullptr;
  race->note_size(shape.size);
  _epochs.predictions(*race) = {.predicted_plan_ns = choice.prediction.plan_ns,
                                .predicted_native_ns = choice.prediction.native_ns};
  return race;
}

void Adaptation::Turn::take(const Shape& shape, Chooser& chooser, Chooser::Decision& choice) const {
  const Candidate next = race->next();
  if (next == Candidate::native && choice.prepared != nullptr) {
    choice.prepared = nullptr;
    choice.reason = Reason::race;
    choice.prediction = {};
  }
  if (next != Candidate::second || !choice.has_second) return;
  if (auto second = chooser.second(shape)) {
    choice.prepared = std::move(second);
    choice.reason.reset();
    choice.prediction.plan_ns = 0; // which is that of the first
  }
}

} // namespace thalweg::runtime
