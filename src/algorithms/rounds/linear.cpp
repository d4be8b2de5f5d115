/// Every rank sends to every other at once, beginning with the next one in the order.
/// Source: Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section
/// "Alltoall" (linear); SimGrid's SMPI calls the allgather "spreading simple".
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

class Linear final : public ShiftAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "linear"; }
  [[nodiscard]] std::string_view source() const override {
    return "Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, section "
           "Alltoall (linear)";
  }
};

} // namespace

const Algorithm& linear() {
  static const Linear algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
