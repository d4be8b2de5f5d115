#include "planner/envelope.hpp"

namespace thalweg::planner {

std::vector<std::byte> wrap(const Envelope& envelope, const std::vector<std::byte>& content) {
  Writer writer;
  for (const char c : envelope.magic)
    writer.put(static_cast<std::uint8_t>(c));
  writer.put(envelope.version);
  writer.put(std::uint32_t{0});
  writer.put(static_cast<std::uint64_t>(content.size()));
  writer.put(checksum(content));
  auto bytes = writer.take();
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

Reader unwrap(const Envelope& envelope, std::span<const std::byte> bytes) {
  const std::string what(envelope.what);
  Reader reader(bytes);
  for (const char c : envelope.magic)
    if (bytes.size() < envelope.magic.size() ||
        reader.get<std::uint8_t>() != static_cast<std::uint8_t>(c))
      throw std::invalid_argument("this isn't a " + what + ": make one with thalweg plan");
  const auto found = reader.get<std::uint32_t>();
  if (found != envelope.version)
    throw std::invalid_argument("the " + what + " is of version " + std::to_string(found) +
                                ", this Thalweg reads version " + std::to_string(envelope.version) +
                                ": make it anew with thalweg plan");
  if (reader.get<std::uint32_t>() != 0) Reader::fail();
  const auto size = reader.get<std::uint64_t>();
  const auto sum = reader.get<std::uint64_t>();
  const auto content = reader.rest();
  if (content.size() != size || checksum(content) != sum) Reader::fail();
  return Reader(content);
}

} // namespace thalweg::planner
