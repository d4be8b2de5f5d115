#include "probe/coordinator.hpp"

#include "probe/worker.hpp"

namespace thalweg::probe {

Coordinator::Coordinator(const Channel& ranks, const Options& wishes, Report& listener,
                         std::vector<std::string> names)
    : channel(ranks), options(wishes), report(listener), offsets(names.size()),
      _names(std::move(names)), _start(now()) {}

std::vector<Words> Coordinator::run(const std::vector<Assignment>& assignments,
                                    Nanoseconds expected, const std::string& what) const {
  const Assignment* own = nullptr;
  std::string silent;
  std::vector<Words> replies(assignments.size());
  for (const auto& assignment : assignments)
    if (assignment.rank == 0)
      own = &assignment;
    else
      channel.send(assignment.rank, Tag::order, assignment.order);
  const Words own_reply = own != nullptr ? carry_out(channel, own->order) : Words{};

  // Whoever waits for a silent peer says so after its patience; the deadline catches the rest.
  const auto deadline = now() + expected + 2 * channel.patience();
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const int rank = assignments[i].rank;
    try {
      replies[i] = rank == 0 ? own_reply : channel.receive(rank, Tag::reply, deadline);
    } catch (const Silence&) {
      silent += (silent.empty() ? "" : ", ") + name(rank);
      continue;
    }
    if (const int peer = silent_peer(replies[i]); peer >= 0)
      throw Failure(name(peer) + " did not answer " + name(rank) + " within " +
                    units::to_text(options.patience) + " while " + what);
    replies[i].erase(replies[i].begin());
  }
  if (!silent.empty())
    throw Failure(
        silent + " did not answer " + name(0) + " within " +
        units::to_text(Time(static_cast<double>(expected + 2 * channel.patience()) * 1e-9)) +
        " while " + what);
  return replies;
}

void Coordinator::dismiss() const {
  for (int rank = 1; rank < channel.size(); ++rank)
    channel.send(rank, Tag::order, begin(Order::stop));
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

} // namespace thalweg::probe
