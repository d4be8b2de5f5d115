/// MagPIe's trees: the root itself serves the coordinator of each cluster, so that data crosses the
/// wide area once, and each coordinator serves its cluster along a binomial tree.
/// Source: Kielmann, Hofman, Bal, Plaat, Bhoedjang: MagPIe: MPI's Collective Communication
/// Operations for Clustered Wide Area Systems, sections 3 and 4. A cluster is a group not divided
/// by a WAN; its lowest rank is the coordinator.
#include "algorithms/trees/multilevel.hpp"

namespace thalweg::algorithms {
namespace {

using network::NetworkClass;

class Magpie final : public MultilevelAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "magpie"; }
  [[nodiscard]] std::string_view source() const override {
    return "Kielmann, Hofman, Bal, Plaat, Bhoedjang: MagPIe: MPI's Collective Communication "
           "Operations for Clustered Wide Area Systems, sections 3 and 4";
  }

protected:
  [[nodiscard]] int level(NetworkClass network_class) const override {
    return network_class >= NetworkClass::light_wan ? 1 : 0;
  }
};

} // namespace

const Algorithm& magpie() {
  static const Magpie algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
