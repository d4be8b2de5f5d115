#pragma once

#include <string>
#include <vector>

/// Starts commands in hosts of the lab: the agent asks the host's first process, over a socket that
/// all hosts share through the file system, as ssh asks sshd over the network.
namespace thalweg::lab {

/// A command to run in a host.
struct SpawnRequest {
  std::string directory;                ///< where to run it; "/" if it cannot be entered
  std::vector<std::string> arguments;   ///< the program (looked up in PATH) and its arguments
  std::vector<std::string> environment; ///< all of it, as NAME=value
};

/// Sends a request with the three standard streams. The other side answers with the wait status, an
/// int, when the command ends; bytes written to it meanwhile are signal numbers for the command.
void send_request(int socket, const SpawnRequest& request, const int (&streams)[3]);

/// Returns the path of the socket where the first process of a host listens.
std::string socket_of_host(const std::string& state, const std::string& host);

/// Returns the exit status that a shell reports for a wait status.
int exit_status(int wait_status);

/// Runs a command in a host as if it ran here: passes on standard streams, signals and exit status.
/// @param socket where the host's first process listens
int run_in_host(const std::string& socket, const SpawnRequest& request);

} // namespace thalweg::lab
