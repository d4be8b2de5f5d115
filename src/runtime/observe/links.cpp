#include "runtime/observe/links.hpp"

#include "runtime/observe/tally.hpp"
#include "units/index.hpp"

#include <algorithm>

namespace thalweg::runtime::observe {

Links::Links(RecordFile& file, std::vector<std::int32_t> hosts, Expect expect)
    : _file(file), _hosts(std::move(hosts)), _expect(std::move(expect)),
      _links(_hosts.empty() ? 0 : index(*std::ranges::max_element(_hosts)) + 1) {}

Links::Link& Links::find(int world_rank) {
  const std::int32_t host = _hosts[index(world_rank)];
  Link& link = _links[index(host)];
  if (link.entry != nullptr) return link;
  link.entry = _file.add<LinkEntry>();
  if (link.entry == nullptr) link.entry = &_lost;
  link.entry->host = host;
  return link;
}

void Links::sent(int world_rank, std::int64_t bytes, Ticks posted) {
  std::unique_lock lock(_mutex, std::defer_lock);
  if (concurrent) lock.lock();
  LinkEntry& entry = *find(world_rank).entry;
  ++entry.sends;
  entry.sent_bytes += static_cast<std::uint64_t>(bytes);
  entry.posted.add(posted);
}

void Links::received(int world_rank, std::int64_t bytes, Ticks posted, Ticks done) {
  std::unique_lock lock(_mutex, std::defer_lock);
  if (concurrent) lock.lock();
  Link& link = find(world_rank);
  LinkEntry& entry = *link.entry;
  if (!link.expected) link.expected = _expect ? _expect(_hosts[index(world_rank)]) : MessageTime{};
  ++entry.receives;
  entry.received_bytes += static_cast<std::uint64_t>(bytes);
  entry.done.add(done);
  entry.observed += done - posted;
  const double predicted_ns = link.expected->of(bytes);
  if (predicted_ns <= 0) return;
  entry.predicted_ns += predicted_ns;
  const double observed_ns = static_cast<double>(std::max<Ticks>(done - posted, 0)) * _ns_per_tick;
  ++entry.ratios[ratio_class(observed_ns / predicted_ns)];
}

} // namespace thalweg::runtime::observe
