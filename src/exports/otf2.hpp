#pragma once

#include <cstdint>
#include <optional>
#include <span>

/// The events of a run in the traces of other programs.
namespace thalweg::exports {

/// Functions of OTF2 that write an event; each returns 0 if it could. They are found in a library
/// that the caller has loaded, so that nothing here is linked with it.
struct Otf2Functions {
  using Time = std::uint64_t;
  int (*enter)(void* writer, void* attributes, Time, std::uint32_t region) = nullptr;
  int (*collective_begin)(void* writer, void* attributes, Time) = nullptr;
  int (*collective_end)(void* writer, void* attributes, Time, std::uint8_t operation,
                        std::uint32_t communicator, std::uint32_t root, std::uint64_t sent,
                        std::uint64_t received) = nullptr;
  int (*leave)(void* writer, void* attributes, Time, std::uint32_t region) = nullptr;
  int (*send)(void* writer, void* attributes, Time, std::uint32_t receiver,
              std::uint32_t communicator, std::uint32_t tag, std::uint64_t size) = nullptr;
  int (*receive)(void* writer, void* attributes, Time, std::uint32_t sender,
                 std::uint32_t communicator, std::uint32_t tag, std::uint64_t size) = nullptr;
};

/// What a location does: it enters a collective call, sends, receives, or leaves the call.
enum class Otf2Event : std::uint8_t { enter, send, receive, leave };

/// Events of a location in the order of time, as columns of the same length. References are those
/// of the trace's definitions.
struct Otf2Events {
  std::span<const std::uint8_t> event; ///< Otf2Event
  std::span<const std::uint64_t> time;
  std::span<const std::uint32_t> communicator;
  std::span<const std::uint32_t> peer; ///< the other end's number there; of a call, its root's
  std::span<const std::uint64_t> size;
  std::span<const std::uint32_t> region;   ///< of calls
  std::span<const std::uint8_t> operation; ///< of calls: OTF2_CollectiveOp
};

/// Writes the events of a location. Returns how many there are for OTF2, which counts entering and
/// leaving twice: the region, and the collective; nothing if one couldn't be written.
std::optional<std::uint64_t> write(const Otf2Functions& otf2, void* writer,
                                   const Otf2Events& events);

} // namespace thalweg::exports
