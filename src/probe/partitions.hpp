#pragma once

#include "probe/evidence.hpp"

namespace thalweg::probe {

/// A passage that would explain what crowds got.
struct Supposition {
  Passage passage;        ///< its capacity is the most that its flows got in any crowd
  std::size_t crowds = 0; ///< that filled it
};

/// Returns passages from some sites to all others whose flows got less than expected even in the
/// crowd in which they got most. The sites are single ones, or those on one side of a link that
/// would follow if latencies were those of a tree. Other links may explain the same.
/// O(sites² · flows of all crowds).
std::vector<Supposition> supposed_passages(const Evidence& evidence, const Sites& sites,
                                           const Latencies& latencies);

/// Returns one flow of each host at the end with fewer hosts, to or from hosts of all sites at the
/// other end in turn.
/// @param shift other flows for each
std::vector<Arrow> flows_through(const Passage& passage, const Sites& sites, std::size_t shift);

} // namespace thalweg::probe
