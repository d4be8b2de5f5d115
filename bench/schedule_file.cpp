#include "schedule_file.hpp"

#include "network/parse.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::bench {
namespace {

using nlohmann::json;
using namespace schedule;

Collective to_collective(const json& from) {
  return {.kind = collective::parse_kind(from.at("kind").get<std::string>()),
          .ranks = from.at("ranks"),
          .root = from.value("root", Rank{0}),
          .size = from.value("size", Size{0}),
          .in_place = from.value("in_place", false),
          .block_sizes = from.value("block_sizes", std::vector<Size>())};
}

How to_how(const std::string& name) {
  if (name == "copy") return How::copy;
  if (name == "combine_left") return How::combine_left;
  if (name == "combine_right") return How::combine_right;
  throw std::invalid_argument("\"" + name + "\" is not what becomes of data");
}

void add_transfer(const json& from, Sink& sink) {
  std::vector<Range> what;
  for (const json& range : from.at("what"))
    what.push_back({range.at(0), range.size() > 1 ? range.at(1).get<ChunkId>() : 1,
                    range.size() > 2 ? range.at(2).get<ChunkId>() : 1});
  sink.add(from.at("from"), from.at("to"), from.at("step"),
           to_how(from.value("how", std::string("copy"))), what, from.value("src", Reg{0}),
           from.value("dst", Reg{0}));
}

} // namespace

ScheduleFile read_schedule(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": can't be read");
  const json document = network::parse_json(file);
  if (document.at("schema") != 1)
    throw std::runtime_error(path.string() + ": its schema is unknown");
  Sink sink;
  for (const json& transfer : document.at("transfers"))
    add_transfer(transfer, sink);
  const Pipeline pipeline{document.value("segments", std::int32_t{1}),
                          document.value("period", Step{1}),
                          document.value("window", std::int32_t{0})};
  return {to_collective(document.at("collective")),
          Schedule(document.at("chunks"), pipeline, std::move(sink),
                   document.value("weights", std::vector<std::int32_t>()))};
}

} // namespace thalweg::bench
