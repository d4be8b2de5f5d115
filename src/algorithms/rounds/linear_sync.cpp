/// Every rank sends to every other, with at most `degree` messages in flight.
/// Source: Open MPI, coll_base_alltoall.c (linear with sync); MPICH, alltoall_intra_scattered.c.
#include "algorithms/rounds/rounds.hpp"

namespace thalweg::algorithms {
namespace {

class LinearSync final : public ShiftAlgorithm {
public:
  [[nodiscard]] std::string_view name() const override { return "linear-sync"; }
  [[nodiscard]] std::string_view source() const override {
    return "Open MPI, coll_base_alltoall.c (linear with sync); MPICH, alltoall_intra_scattered.c";
  }
  [[nodiscard]] bool supports(collective::Kind kind) const override {
    return kind == collective::Kind::alltoall;
  }
  [[nodiscard]] std::vector<Parameters> candidates(const Problem& /*problem*/) const override {
    return {{.degree = 4}};
  }

protected:
  [[nodiscard]] std::int32_t window(const Parameters& parameters) const override {
    return parameters.degree;
  }
};

} // namespace

const Algorithm& linear_sync() {
  static const LinearSync algorithm;
  return algorithm;
}

} // namespace thalweg::algorithms
