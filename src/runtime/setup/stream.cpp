#include "runtime/setup/stream.hpp"

#include "runtime/setup/runtime.hpp"
#include "units/index.hpp"

namespace thalweg::runtime {
namespace {

/// Waits for the acknowledgements that are due to accounts.
class Settling final : public Operation {
public:
  explicit Settling(std::unique_ptr<Accounts> accounts) : _accounts(std::move(accounts)) {}
  Progress advance() override { return _accounts->take_all() ? Progress::done : Progress::none; }
  void abandon() override { _accounts->settle(0); }

private:
  std::unique_ptr<Accounts> _accounts;
};

} // namespace

Stream::Stream(int tag, std::vector<int> ranks, const Runtime& runtime)
    : _first(Helper::Lane{lanes} * tag), _ranks(std::move(ranks)), _runtime(runtime) {}

Stream::~Stream() {
  for (int i = 0; i < lanes; ++i)
    if (auto& accounts = _accounts[index(i)])
      _runtime.helper->add(_first + i, std::make_unique<Settling>(std::move(accounts)));
}

bool Stream::has_tags(int tag, const Runtime& runtime) {
  return tag <= (runtime.largest_tag / 2 - lanes) / lanes;
}

Accounts& Stream::accounts(Helper::Lane lane) {
  auto& accounts = _accounts[index(lane - _first)];
  if (accounts == nullptr)
    accounts = std::make_unique<Accounts>(_runtime.helper_shadow,
                                          acknowledgement_tag(static_cast<int>(lane)),
                                          Communicators::limits(_runtime));
  return *accounts;
}

} // namespace thalweg::runtime
