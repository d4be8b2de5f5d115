#include "planner/wisdom.hpp"

#include "planner/envelope.hpp"

namespace thalweg::planner {

namespace {

constexpr Envelope envelope{"THWGWISD", 1, "wisdom file"};

} // namespace

std::vector<std::byte> to_bytes(const std::vector<Record>& wisdom) {
  Writer writer;
  writer.put_count(wisdom.size());
  for (const Record& record : wisdom) {
    writer.put(record.key);
    writer.put_count(record.value.size());
    writer.put(std::span<const std::byte>(record.value));
  }
  return wrap(envelope, writer.take());
}

std::vector<Record> wisdom_from_bytes(std::span<const std::byte> bytes) {
  Reader reader = unwrap(envelope, bytes);
  std::vector<Record> wisdom(reader.get_count(16));
  for (Record& record : wisdom) {
    record.key = reader.get_string();
    const auto value = reader.get_bytes(reader.get_count(1));
    record.value.assign(value.begin(), value.end());
  }
  if (!reader.empty()) Reader::fail();
  return wisdom;
}

} // namespace thalweg::planner
