#include "runtime/adapt/adaptation.hpp"

namespace thalweg::runtime {
namespace {

/// Returns what there is to say once the ranks have agreed on a race, or not.
std::string_view said_of(bool disagree) {
  if (!disagree) return {};
  return "the ranks of a communicator disagree about a race; its calls are executed as planned";
}

} // namespace

void Adaptation::before_call(MPI_Comm comm, Chooser& chooser, Said& said) {
  const std::uint64_t epoch = _epochs.races.epochs();
  said.of_races = said_of(_epochs.before_call(comm));
  if (_replanner == nullptr) return;
  look_after(epoch);
  said.of_plans = _replanner->before_call(comm, _epochs.races, chooser, !_epochs.is_open());
}

void Adaptation::after_call(MPI_Comm comm, std::uint64_t call, Chooser& chooser, Said& said) {
  const std::uint64_t ago = _arrivals.calls_ago(call);
  const bool agrees = _epochs.is_due(ago);
  const bool replans = _replanner != nullptr && _replanner->has_begun_before(ago);
  if (agrees) {
    const std::uint64_t epoch = _epochs.races.epochs();
    said.of_races = said_of(_epochs.finish());
    look_after(epoch);
  }
  if (replans) said.of_plans = _replanner->go_on(comm, _epochs.races, chooser, !_epochs.is_open());
}

/// Lets plans follow what the ranks have agreed on, if they have since an epoch.
void Adaptation::look_after(std::uint64_t epoch) {
  if (_replanner != nullptr && _epochs.races.epochs() != epoch) _replanner->look(_epochs.races);
}

/// None is replaced where plans follow the network: the replanner knows races by their numbers.
Race* Adaptation::add_race(const Shape& shape, const Chooser::Decision& choice,
                           std::int64_t weight) {
  return _epochs.races.add(key_of(shape.kind, shape.root, shape.size), weight, candidates(choice),
                           _replanner == nullptr);
}

/// Sizes of a class may be of two rows: where native is planned in one of these only, the first one
/// that is called races.
/// @param race of the class; null: there is no room for another one
Adaptation::Turn Adaptation::turn_in(Race* race, const Shape& shape,
                                     const Chooser::Decision& choice) {
  if (race == nullptr || race->candidates().planned() != candidates(choice).planned()) return {};
  race->note_size(shape.size);
  _epochs.predictions(*race) = {.predicted_plan_ns = choice.prediction.plan_ns,
                                .predicted_native_ns = choice.prediction.native_ns};
  const bool tries = _replanner != nullptr && _replanner->tries(); // plans that aren't raced
  return {.race = race, .counts = !tries};
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
