/// The hierarchical latency-optimal tree of five network levels. Over a heavy WAN, whose links are
/// uneven, a tree by Prim's algorithm uses a link only where the direct one isn't shorter; over a
/// light WAN the tree is flat, and below that binomial.
/// Source: Park et al.: HLOT, sections 3.2 and 3.3; docs/decisions/0019-trees-of-the-papers.md says
/// how it is read. The paper leaves open what it uses below the WAN; here that is what MPICH-G2
/// does.
#include "algorithms/trees/latency_weight.hpp"
#include "algorithms/trees/multilevel.hpp"
#include "units/index.hpp"

namespace thalweg::algorithms {
namespace {

using network::NetworkClass;

class Hlot final : public MultilevelAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "hlot"; }
  [[nodiscard]] std::string_view source() const override {
    return "Park et al.: HLOT, sections 3.2 and 3.3";
  }

protected:
  [[nodiscard]] int level(NetworkClass network_class) const override {
    return static_cast<int>(network_class);
  }
  void join(const Problem& problem, NetworkClass network_class, std::span<const Rank> leaders,
            std::vector<Rank>& order, std::vector<Rank>& parents) const override {
    if (network_class != NetworkClass::heavy_wan)
      return MultilevelAlgorithm::join(problem, network_class, leaders, order, parents);
    for (const optimization::Link& link :
         optimization::spanning_tree(leaders, latency_weight(problem), optimization::Tie::upper,
                                     optimization::LinkTest::direct)) {
      order.push_back(link.lower);
      parents[index(link.lower)] = link.upper;
    }
  }
};

} // namespace

const Algorithm& hlot() {
  static const Hlot algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
