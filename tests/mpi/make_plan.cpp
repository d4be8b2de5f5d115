// Writes a plan file for ranks on hosts a, b and c in turn, far from each other, of which c is a
// site of its own: make_plan RANKS FILE [listed]. With "listed", transfer by transfer.
#include "algorithms/listed.hpp"
#include "planner/table.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace thalweg;

/// The same schedules, as if made elsewhere.
void list_transfers(planner::Table& table) {
  for (planner::Entry& entry : table.entries) {
    if (entry.native) continue;
    const collective::Collective asked{.kind = entry.kind,
                                       .ranks = entry.skeleton.ranks,
                                       .root = entry.root,
                                       .size = entry.min_size};
    entry.skeleton =
        algorithms::list(asked, algorithms::expand(entry.kind, entry.skeleton, entry.min_size));
  }
}

} // namespace

int main(int argc, char** argv) {
  const bool listed = argc == 4 && std::string_view(argv[3]) == "listed";
  if (argc != 3 && !listed) {
    std::fprintf(stderr, "usage: make_plan RANKS FILE [listed]\n");
    return 2;
  }
  planner::PlanFile file;
  file.network = network::even_network(3, units::Time(5e-3), units::Rate(1e7));
  for (std::size_t i = 0; i < 3; ++i)
    file.network.hosts[i].name = std::string(1, "abc"[i]);
  file.network.sites = {{0, 1}, {2}};
  network::Placement placement;
  for (int rank = 0; rank < std::atoi(argv[1]); ++rank)
    placement.push_back(rank % 3);
  planner::PlanOptions options;
  options.disabled = {"native"}; // What is tested is that plans are executed, whatever they gain.
  file.tables.push_back(
      planner::make_table(file.network, placement, collective::kinds, options, 1 << 20));
  if (listed) list_transfers(file.tables.front());
  const std::vector<std::byte> bytes = planner::to_bytes(file);
  std::FILE* const out = std::fopen(argv[2], "wb");
  if (out == nullptr) return 1;
  const bool good = std::fwrite(bytes.data(), bytes.size(), 1, out) == 1;
  return std::fclose(out) == 0 && good ? 0 : 1;
}
