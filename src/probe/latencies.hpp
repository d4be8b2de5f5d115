#pragma once

#include "network/matrix.hpp"
#include "probe/flows.hpp"

namespace thalweg::probe {

/// Latencies in nanoseconds on the wall clock, including the library's time to send and to receive.
struct Latencies {
  Matrix<Estimate> one_way; ///< half of the round trip unless all ranks share a clock; 0 and an
                            ///< infinite error: not measured
  Matrix<double> library;   ///< the part of it in which the library sends and receives a ping
  bool shared_clock = false;
  std::size_t repeated = 0; ///< pairs measured again, alone
  double disturbance = 0;   ///< median relative difference of their round trips
  [[nodiscard]] Nanoseconds round_trip(HostId a, HostId b) const {
    return static_cast<Nanoseconds>(one_way(a, b).value + one_way(b, a).value);
  }
};

} // namespace thalweg::probe
