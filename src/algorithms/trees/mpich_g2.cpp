/// MPICH-G2's trees of four levels: flat over the wide area, binomial between the machines of a
/// LAN, within a machine, and where the vendor's MPI is used. Here the last three are between the
/// clusters of a site, the hosts of a cluster and the ranks of a host.
/// Source: Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan: Exploiting Hierarchy in Parallel
/// Computer Networks to Optimize Collective Operation Performance, sections 3 and 4.
#include "algorithms/trees/multilevel.hpp"

#include <algorithm>

namespace thalweg::algorithms {
namespace {

using network::NetworkClass;

class MpichG2 final : public MultilevelAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "mpich-g2"; }
  [[nodiscard]] std::string_view source() const override {
    return "Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks to Optimize "
           "Collective Operation Performance, sections 3 and 4";
  }

protected:
  [[nodiscard]] int level(NetworkClass network_class) const override {
    return static_cast<int>(std::min(network_class, NetworkClass::light_wan));
  }
};

} // namespace

const Algorithm& mpich_g2() {
  static const MpichG2 algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
