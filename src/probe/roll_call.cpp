#include "probe/roll_call.hpp"

#include "probe/coordinator.hpp"

namespace thalweg::probe {

void announce(const Channel& channel, const Identity& self) {
  const auto text = to_text(self);
  channel.send(0, Tag::announce, Words(text.begin(), text.end()));
}

std::vector<Identity> roll_call(const Channel& channel, const Identity& self,
                                const ProbeOptions& options) {
  std::vector<Identity> identities{self};
  std::string missing;
  const auto deadline = now() + 2 * channel.patience();
  for (int rank = 1; rank < channel.size(); ++rank) {
    try {
      std::string text;
      for (auto letter : channel.receive(rank, Tag::announce, deadline))
        text.push_back(static_cast<char>(letter));
      identities.push_back(identity_from_text(text));
    } catch (const Silence&) {
      const auto r = static_cast<std::size_t>(rank);
      missing += (missing.empty() ? "" : ", ") +
                 (r < options.hosts.size() ? options.hosts[r] : "rank " + std::to_string(rank));
    }
  }
  if (!missing.empty())
    throw Failure(missing + " did not report to " + self.name + " within " +
                  units::to_text(2 * options.patience) +
                  "; check that the hosts can reach each other over the network that MPI uses");
  return identities;
}

} // namespace thalweg::probe
