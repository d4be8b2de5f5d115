#include "runtime/setup/stream.hpp"

#include "runtime/setup/runtime.hpp"
#include "units/index.hpp"

namespace thalweg::runtime {
namespace {

/// Waits for the acknowledgements that are due to accounts; then their number may be free.
class Settling final : public Operation {
public:
  Settling(std::unique_ptr<Accounts> accounts, Tags::Number number)
      : _number(std::move(number)), _accounts(std::move(accounts)) {}
  Progress advance() override { return _accounts->take_all() ? Progress::done : Progress::none; }
  void abandon() override { _accounts->settle(0); }

private:
  Tags::Number _number;
  std::unique_ptr<Accounts> _accounts;
};

} // namespace

Stream::Stream(Tags::Number number, std::vector<int> ranks, const Runtime& runtime)
    : _number(std::move(number)), _first(Helper::Lane{lanes} * *_number), _ranks(std::move(ranks)),
      _runtime(runtime) {}

Stream::~Stream() {
  for (int i = 0; i < lanes; ++i)
    if (auto& accounts = _accounts[index(i)])
      _runtime.helper->add(_first + i, std::make_unique<Settling>(std::move(accounts), _number));
}

bool Stream::has_tags(int number, const Runtime& runtime) {
  return number <= (runtime.largest_tag / 2 - lanes) / lanes;
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
