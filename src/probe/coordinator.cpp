#include "probe/coordinator.hpp"

#include "probe/outline.hpp"
#include "probe/worker.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::probe {
namespace {

/// After the first accusation, the time in which other ranks can still report.
constexpr Nanoseconds last_replies = 1'000'000'000;

} // namespace

Coordinator::Coordinator(const Channel& ranks, const ProbeOptions& wishes, Report& listener,
                         std::vector<std::string> names, Journal journal)
    : channel(ranks), options(wishes), report(listener), offsets(names.size()),
      _names(std::move(names)), _journal(std::move(journal)), _start(now()) {}

std::vector<Words> Coordinator::run(const Job& job) {
  if (auto known = _journal.find(job.what, job.key)) {
    _clock = _start + known->spent;
    _saved = std::max(_saved, _clock - now());
    _resumes = true;
    ++_steps;
    return std::move(known->replies);
  }
  if (_resumes && before_live) std::exchange(before_live, nullptr)();
  auto replies = run_live(job);
  _clock = now() + _saved;
  report.step({job.what, job.key, clock() - _start, replies, _steps++});
  return replies;
}

std::vector<Assignment> Coordinator::orders(const Job& job) const {
  auto result = job.assignments;
  if (!job.lead) return result;
  const auto start = now() + *job.lead;
  for (auto& [rank, order] : result)
    order.insert(order.begin() + 1, start + offsets[static_cast<std::size_t>(rank)]);
  return result;
}

std::vector<Words> Coordinator::run_live(const Job& job) const {
  const Assignment* own = nullptr;
  const auto assignments = orders(job);
  for (const auto& assignment : assignments)
    if (assignment.rank == 0)
      own = &assignment;
    else
      send_order(assignment, job);
  const Words own_reply = own != nullptr ? carry_out(channel, own->order) : Words{};

  // A rank that waits for a silent peer reports it after its patience; the deadline catches the
  // rest.
  auto deadline = now() + job.expected + 2 * channel.patience();
  std::vector<Words> replies(job.assignments.size());
  std::vector<int> silent;
  std::vector<Accusation> accusations;
  for (std::size_t i = 0; i < job.assignments.size(); ++i) {
    const int rank = job.assignments[i].rank;
    try {
      replies[i] = rank == 0 ? own_reply : channel.receive(rank, Tag::reply, deadline);
    } catch (const Silence&) {
      silent.push_back(rank);
      continue;
    }
    if (const int peer = silent_peer(replies[i]); peer >= 0) {
      accusations.push_back({peer, rank});
      deadline = std::min(deadline, now() + last_replies);
    }
    replies[i].erase(replies[i].begin());
  }
  accuse(job, silent, accusations);
  return replies;
}

void Coordinator::send_order(const Assignment& assignment, const Job& job) const {
  try {
    channel.send(assignment.rank, Tag::order, assignment.order);
  } catch (const Silence& silence) {
    throw Failure(name(silence.rank) + " took no order within " + units::to_text(options.patience) +
                  " while " + job.what);
  }
}

void Coordinator::accuse(const Job& job, std::span<const int> silent,
                         std::span<const Accusation> accusations) const {
  if (silent.empty() && accusations.empty()) return;
  // A rank that waits for a dead one keeps others waiting, but it can report.
  for (const auto& [accused, by] : accusations)
    if (silent.empty() || std::ranges::find(silent, accused) != silent.end())
      throw Failure(name(accused) + " did not answer " + name(by) + " within " +
                    units::to_text(options.patience) + " while " + job.what);
  std::string names;
  for (const int rank : silent)
    names += (names.empty() ? "" : ", ") + name(rank);
  const auto waited = static_cast<double>(job.expected + 2 * channel.patience()) * 1e-9;
  throw Failure(names + " did not answer " + name(0) + " within " + units::to_text(Time(waited)) +
                " while " + job.what);
}

void Coordinator::dismiss() const {
  for (int rank = 1; rank < channel.size(); ++rank)
    channel.send(rank, Tag::order, begin(Command::stop));
}

Nanoseconds Coordinator::dilated(Time time) const {
  return static_cast<Nanoseconds>(time.value() * options.dilation * 1e9);
}

Time Coordinator::undilated(double nanoseconds) const {
  return Time(nanoseconds * 1e-9 / options.dilation);
}

Nanoseconds Coordinator::deadline(double share) const {
  return _start + dilated(options.budget * share);
}

Nanoseconds Coordinator::native_deadline() const {
  if (options.budget_is_set) return deadline(1);
  return std::max(_start + dilated(usual_time(hosts())), clock() + dilated(least_native_time));
}

} // namespace thalweg::probe
