#include "runtime/setup/agreement.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

namespace thalweg::runtime {
namespace {

using Words = std::vector<std::uint64_t>;

/// What the rank that agrees sent last, and another one sends; empty: the same.
Words sent, others;

int iallreduce(const void* in, void* out, int count, MPI_Datatype /*type*/, MPI_Op /*op*/,
               MPI_Comm /*comm*/, MPI_Request* /*request*/) {
  const auto* const words = static_cast<const std::uint64_t*>(in);
  sent.assign(words, words + count);
  auto* const least = static_cast<std::uint64_t*>(out);
  std::ranges::copy(sent, least);
  for (std::size_t i = 0; i < std::min(sent.size(), others.size()); ++i)
    least[i] = std::min(sent[i], others[i]);
  return MPI_SUCCESS;
}

int is_done(MPI_Request* /*request*/, int* done, MPI_Status* /*status*/) {
  *done = 1;
  return MPI_SUCCESS;
}

Agreement agree_with(const AgreementRecord& mine, const Words& other) {
  native.Iallreduce = iallreduce;
  native.Test = is_done;
  others = other;
  return agree(mine, native.comm_world, 1);
}

AgreementRecord record(std::uint64_t build) {
  AgreementRecord result;
  result.values[AgreementRecord::build] = build;
  result.values[AgreementRecord::packs_exactly] = 1;
  result.largest_tag = 1000;
  result.plan = 3;
  result.is_in_place = true;
  return result;
}

} // namespace

TEST_CASE("ranks with libraries of two builds notice it, whatever the other one compares") {
  constexpr std::uint64_t own = 5;
  for (const std::uint64_t build : {own - 1, own + 1})
    for (const std::uint64_t rest : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      CAPTURE(build);
      CAPTURE(rest);
      Words other(32, rest);
      other[0] = build;
      other[16] = ~build;
      const Agreement found = agree_with(record(own), other);
      REQUIRE(sent.size() == other.size());
      CHECK(sent[0] == own);
      CHECK(sent[16] == ~own);
      CHECK(found.reason == Reason::disagreement);
      CHECK(found.difference.starts_with("the library's build"));
    }
}

TEST_CASE("ranks with equal records agree, and on the plan only if all have the same") {
  AgreementRecord second = record(5);
  second.largest_tag = 10;
  CHECK_FALSE(agree_with(second, {}).reason.has_value());
  const Words other = sent;
  const Agreement alike = agree_with(record(5), other);
  CHECK_FALSE(alike.reason.has_value());
  CHECK(alike.difference.empty());
  CHECK(alike.largest_tag == 10);
  CHECK(alike.have_plan);
  CHECK(alike.are_in_place);
  AgreementRecord third = record(5);
  third.plan = 4;
  third.is_in_place = false;
  const Agreement planless = agree_with(third, other);
  CHECK_FALSE(planless.reason.has_value());
  CHECK_FALSE(planless.have_plan);
  CHECK_FALSE(planless.are_in_place);
}

} // namespace thalweg::runtime
