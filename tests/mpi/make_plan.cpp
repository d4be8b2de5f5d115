// Writes a plan file for ranks on hosts a, b and c in turn, far from each other, of which c is a
// site of its own: make_plan RANKS FILE [listed|wrong|fast]. With "listed", transfer by transfer;
// with "wrong", b's port is taken to be a thousand times slower than others; with "fast", all paths
// to be faster than memory, so that calls take longer than predicted, however quick the machine is.
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

/// Makes a host's port a thousand times slower, and all else fast.
void slow_down(network::Network& net, network::HostId slow) {
  const units::Rate fast(1e9), port(1e6);
  for (network::HostId a = 0; a < net.size(); ++a) {
    net.hosts[static_cast<std::size_t>(a)].egress = a == slow ? port : fast;
    net.hosts[static_cast<std::size_t>(a)].ingress = a == slow ? port : fast;
    for (network::HostId b = 0; b < net.size(); ++b) {
      if (a == b) continue;
      net.latency.set(a, b, units::Time(5e-5));
      net.bandwidth.set(a, b, a == slow || b == slow ? port : fast);
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  const bool listed = argc == 4 && std::string_view(argv[3]) == "listed";
  const bool wrong = argc == 4 && std::string_view(argv[3]) == "wrong";
  const bool fast = argc == 4 && std::string_view(argv[3]) == "fast";
  if (argc != 3 && !listed && !wrong && !fast) {
    std::fprintf(stderr, "usage: make_plan RANKS FILE [listed|wrong|fast]\n");
    return 2;
  }
  planner::PlanFile file;
  file.network = fast ? network::even_network(3, units::Time(1e-7), units::Rate(1e12))
                      : network::even_network(3, units::Time(5e-3), units::Rate(1e7));
  for (std::size_t i = 0; i < 3; ++i)
    file.network.hosts[i].name = std::string(1, "abc"[i]);
  file.network.sites = {{0, 1}, {2}};
  if (wrong) slow_down(file.network, 1);
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
