#include "runtime/intercept/messages.hpp"

#include "runtime/intercept/request_map.hpp"
#include "runtime/mpi/datatype.hpp"
#include "runtime/setup/runtime.hpp"

#include <exception>

namespace thalweg::runtime {
namespace {

/// A message as it is counted.
struct Sent {
  int to; ///< rank in COMM_WORLD, or its size
  std::uint64_t bytes;
};

/// Returns the messages of persistent requests.
RequestMap<Sent>& requests() {
  static auto* const requests = new RequestMap<Sent>; // never destroyed: as the runtime
  return *requests;
}

bool is_recorded(const Runtime* runtime) { return runtime != nullptr && runtime->record; }

/// Returns nothing for MPI_PROC_NULL.
std::optional<Sent> describe(const Message& message, Runtime& runtime) {
  if (message.to < 0) return std::nullopt;
  const int to = runtime.record->destinations.world_rank(message.comm, message.to);
  if (to < 0) return std::nullopt;
  return Sent{to, static_cast<std::uint64_t>(bytes_of(message.count, message.type))};
}

/// Calls `body`; without memory, messages are not counted.
template <class Body>
void try_to(const Body& body) {
  try {
    body();
  } catch (const std::exception&) {
    return;
  }
}

} // namespace

void count_message(const Message& message) {
  Runtime* const it = runtime;
  if (!is_recorded(it)) return;
  try_to([&] {
    if (const auto sent = describe(message, *it)) it->record->messages.count(sent->to, sent->bytes);
  });
}

void remember_message(const Message& message, MPI_Request request) {
  Runtime* const it = runtime;
  if (!is_recorded(it)) return;
  try_to([&] {
    if (const auto sent = describe(message, *it)) requests().add(request, *sent);
  });
}

void count_started(int requests_started, const MPI_Request* started) {
  Runtime* const it = runtime;
  if (!is_recorded(it)) return;
  for (int i = 0; i < requests_started; ++i)
    if (const auto sent = requests().find(started[i]))
      it->record->messages.count(sent->to, sent->bytes);
}

void forget_message(MPI_Request request) { requests().erase(request); }

} // namespace thalweg::runtime
