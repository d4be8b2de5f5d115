#pragma once

#include "../temporary_folder.hpp"
#include "runtime/observe/record_file.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace thalweg::testing {

/// A rank's record as it is in its file.
struct Record {
  explicit Record(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
    REQUIRE(content.size() >= sizeof header);
    std::memcpy(&header, content.data(), sizeof header);
  }

  template <class Entry>
  [[nodiscard]] std::vector<Entry> entries(runtime::observe::EntryKind kind) const {
    std::vector<Entry> result;
    runtime::observe::EntryHead head;
    for (std::size_t at = sizeof header; at < header.size; at += head.size) {
      std::memcpy(&head, content.data() + at, sizeof head);
      REQUIRE(head.size >= sizeof head);
      REQUIRE(at + head.size <= content.size());
      if (head.kind != kind) continue;
      REQUIRE(head.size == sizeof(Entry));
      std::memcpy(static_cast<void*>(&result.emplace_back()), content.data() + at, sizeof(Entry));
    }
    return result;
  }

  runtime::observe::RecordHeader header;
  std::string content;
};

} // namespace thalweg::testing
