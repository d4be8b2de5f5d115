#include "runtime/choose/reproducible.hpp"

#include <doctest/doctest.h>
#include <random>

namespace thalweg::runtime {
namespace {

using collective::Kind;
using collective::Rank;

TEST_CASE("the order of combination depends on neither network, placement nor library") {
  std::mt19937 random(1);
  for (const Kind kind : collective::kinds) {
    if (!depends_on_order(kind)) continue;
    for (Rank ranks = 2; ranks <= 19; ++ranks)
      for (const units::Size size : {units::Size{8}, units::Size{1} << 20}) {
        const Rank root = collective::is_rooted(kind) ? static_cast<Rank>(random()) % ranks : 0;
        const collective::Collective asked{
            .kind = kind, .ranks = ranks, .root = std::abs(root), .size = size};
        const Force::Directive choice = reproducible_choice(kind, size);
        REQUIRE(choice.algorithm->can_do(asked));
        std::optional<algorithms::Skeleton> first;
        for (int variant = 0; variant < 4; ++variant) {
          // One host, hosts all alike, and hosts at random.
          const auto hosts = variant == 0 ? 1 : static_cast<network::HostId>(2 + random() % 9);
          network::Network network =
              network::even_network(hosts, units::Time(1e-5), units::Rate(1e9));
          network::Placement placement;
          for (Rank rank = 0; rank < ranks; ++rank)
            placement.push_back(static_cast<network::HostId>(random()) % hosts);
          for (network::HostId& host : placement)
            host = std::abs(host);
          for (network::HostId a = 0; variant > 1 && a < hosts; ++a)
            for (network::HostId b = 0; b < hosts; ++b) {
              network.latency.set(a, b,
                                  units::Time(1e-6 * static_cast<double>(1 + random() % 9999)));
              network.bandwidth.set(a, b,
                                    units::Rate(1e6 * static_cast<double>(1 + random() % 999)));
            }
          algorithms::Skeleton made =
              algorithms::make_skeleton(*choice.algorithm,
                                        algorithms::make_problem(asked, network, placement,
                                                                 variant % 2 == 0 ? "" : "openmpi"),
                                        choice.parameters);
          made.window = 0; // how many messages are in flight changes no order
          if (!first) first = made;
          CAPTURE(choice.algorithm->name());
          CAPTURE(ranks);
          CHECK(made == *first);
        }
      }
  }
}

} // namespace
} // namespace thalweg::runtime
